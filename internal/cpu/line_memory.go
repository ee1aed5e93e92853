package cpu

import (
	"sync"
	"unsafe"
)

// lineMemory is the scratch memory of groups: lines of the source and of the destination. It is pooled, because making
// it takes longer than the work on a line of 1,000 elements.
type lineMemory struct{ in, out []uint64 }

var lineMemories = sync.Pool{New: func() any { return new(lineMemory) }}

func newLineMemory() *lineMemory { return lineMemories.Get().(*lineMemory) }

// maxKept is the largest number of words that a lineMemory keeps from one use to the next: 256 KB.
const maxKept = 1 << 15

// release returns the memory to the pool, unless it is large.
func (m *lineMemory) release() {
	if len(m.in) <= maxKept && len(m.out) <= maxKept {
		lineMemories.Put(m)
	}
}

// roomFor returns n elements of memory, which it makes larger if need be. The elements are undefined. T has no pointers, and
// at most the alignment of a word.
func roomFor[T any](memory *[]uint64, n int) []T {
	var zero T
	if words := (n*int(unsafe.Sizeof(zero)) + 7) / 8; len(*memory) < words {
		*memory = make([]uint64, words)
	}
	return unsafe.Slice((*T)(at0(*memory)), n)
}
