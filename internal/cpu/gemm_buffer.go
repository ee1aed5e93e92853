package cpu

import (
	"math/bits"
	"sync"
	"unsafe"
)

// A buffer is pooled memory aligned to a cache line. Its contents are undefined.
type buffer[T floating] struct{ data, all []T }

// pools has one pool for each power of two.
type pools [64]sync.Pool

var buffers32, buffers64 pools

func poolOf[T floating](n int) *sync.Pool {
	if unsafe.Sizeof(*new(T)) == 4 {
		return &buffers32[bits.Len(uint(n))]
	}
	return &buffers64[bits.Len(uint(n))]
}

func getBuffer[T floating](n int) *buffer[T] {
	const line = 64
	size := int(unsafe.Sizeof(*new(T)))
	b, _ := poolOf[T](n).Get().(*buffer[T])
	if b == nil {
		b = &buffer[T]{all: make([]T, 1<<bits.Len(uint(n))+line/size)}
	}
	skip := 0
	if r := int(uintptr(ptr(&b.all[0])) % line); r > 0 {
		skip = (line - r) / size
	}
	b.data = b.all[skip : skip+n]
	return b
}

func (b *buffer[T]) put() { poolOf[T](len(b.data)).Put(b) }
