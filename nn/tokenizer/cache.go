package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	maxCached  = 64      // bytes of a word that is kept
	cacheSlots = 1 << 15 // with words and ids up to 12 MB, if all of them are long
)

// wordCache keeps the ids of words. A word has one place, and the last word
// that came there twice in a row has it: to keep a word takes longer than to make its ids, and
// most rare words never come again. Places are read and written as a whole, so that
// goroutines need not wait for each other.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
	last  []atomic.Uint32 // half the hash of the last word that was not found in a place
}

// cachedWord is never written after it was put.
type cachedWord struct {
	word string
	ids  []int32
}

func newWordCache() *wordCache {
	return &wordCache{
		seed:  maphash.MakeSeed(),
		slots: make([]atomic.Pointer[cachedWord], cacheSlots),
		last:  make([]atomic.Uint32, cacheSlots),
	}
}

func (c *wordCache) hash(word string) uint64 { return maphash.String(c.seed, word) }

func (c *wordCache) get(hash uint64, word string) ([]int32, bool) {
	if k := c.slots[hash%cacheSlots].Load(); k != nil && k.word == word {
		return k.ids, true
	}
	return nil, false
}

// put keeps a word that get has not found, if it was the last one not found in its place.
func (c *wordCache) put(hash uint64, word string, ids []int32) {
	if last := &c.last[hash%cacheSlots]; last.Load() != uint32(hash>>32) {
		last.Store(uint32(hash >> 32))
		return
	}
	c.slots[hash%cacheSlots].Store(&cachedWord{strings.Clone(word), slices.Clone(ids)})
}
