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

// poolOf returns the pool of buffers for n numbers, and the power of two that they have room for.
func poolOf[T floating](n int) (pool *sync.Pool, room int) {
	log := bits.Len(uint(max(n, 1) - 1))
	if unsafe.Sizeof(*new(T)) == 4 {
		return &buffers32[log], 1 << log
	}
	return &buffers64[log], 1 << log
}

func getBuffer[T floating](n int) *buffer[T] {
	const line = 64
	size := int(unsafe.Sizeof(*new(T)))
	pool, room := poolOf[T](n)
	b, _ := pool.Get().(*buffer[T])
	if b == nil {
		b = &buffer[T]{all: make([]T, room+line/size)}
	}
	skip := 0
	if r := int(uintptr(ptr(&b.all[0])) % line); r > 0 {
		skip = (line - r) / size
	}
	b.data = b.all[skip : skip+n]
	return b
}

func (b *buffer[T]) put() {
	pool, _ := poolOf[T](len(b.data))
	pool.Put(b)
}
