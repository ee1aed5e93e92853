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
// that came there has it. Places are read and written as a whole, so that
// goroutines need not wait for each other.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
}

// cachedWord is never written after it was put.
type cachedWord struct {
	word string
	ids  []int32
}

func newWordCache() *wordCache {
	return &wordCache{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[cachedWord], cacheSlots)}
}

func (c *wordCache) hash(word string) uint64 { return maphash.String(c.seed, word) }

func (c *wordCache) get(hash uint64, word string) ([]int32, bool) {
	if k := c.slots[hash%cacheSlots].Load(); k != nil && k.word == word {
		return k.ids, true
	}
	return nil, false
}

func (c *wordCache) put(hash uint64, word string, ids []int32) {
	c.slots[hash%cacheSlots].Store(&cachedWord{strings.Clone(word), slices.Clone(ids)})
}
