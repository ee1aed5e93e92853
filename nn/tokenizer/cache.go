package tokenizer

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	maxCached  = 64      // maximum length of a kept word in bytes
	cacheSlots = 1 << 15 // at most 12 MB of words and ids
)

// wordCache keeps the ids of words. A word has one slot. A word enters the slot if it misses
// there twice in a row: storing a word takes longer than computing its ids, and most rare
// words do not occur again. Slots are read and written atomically, so goroutines do not wait
// for each other.
type wordCache struct {
	seed  maphash.Seed
	slots []atomic.Pointer[cachedWord]
	last  []atomic.Uint32 // for each slot, half the hash of the last word that was not found there
}

// cachedWord is not modified after put.
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

// put stores a word that get did not find, if it was also the previous word that was not
// found in its slot.
func (c *wordCache) put(hash uint64, word string, ids []int32) {
	if last := &c.last[hash%cacheSlots]; last.Load() != uint32(hash>>32) {
		last.Store(uint32(hash >> 32))
		return
	}
	c.slots[hash%cacheSlots].Store(&cachedWord{strings.Clone(word), slices.Clone(ids)})
}
