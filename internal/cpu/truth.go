package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Reductions of truth values read bytes eight at a time: a byte is true if it is not 0.

const (
	lowBits  = 0x0101010101010101
	restBits = 0x7f7f7f7f7f7f7f7f
)

// truths8 returns 1 in each byte of v that is not 0.
func truths8(v uint64) uint64 { return ((v&restBits + restBits) | v) >> 7 & lowBits }

// words returns the bytes as 64-bit words, and the remaining bytes.
func words(x []uint8) (w []uint64, rest []uint8) {
	if len(x) < 8 {
		return nil, x
	}
	return unsafe.Slice((*uint64)(at0(x)), len(x)/8), x[len(x)&^7:]
}

// anyTrue reports whether a byte is true.
func anyTrue(x []uint8) bool {
	for vectorAVX && len(x) >= truthVector {
		n := min(len(x)&^(truthVector-1), truthSearch)
		if countFalse(at0(x), n) != n {
			return true
		}
		x = x[n:]
	}
	w, rest := words(x)
	for _, v := range w {
		if v != 0 {
			return true
		}
	}
	for _, v := range rest {
		if v != 0 {
			return true
		}
	}
	return false
}

// allTrue reports whether all bytes are true.
func allTrue(x []uint8) bool {
	for vectorAVX && len(x) >= truthVector {
		n := min(len(x)&^(truthVector-1), truthSearch)
		if countFalse(at0(x), n) != 0 {
			return false
		}
		x = x[n:]
	}
	w, rest := words(x)
	for _, v := range w {
		if truths8(v) != lowBits {
			return false
		}
	}
	for _, v := range rest {
		if v == 0 {
			return false
		}
	}
	return true
}

const (
	truthVector = 32   // bytes of a vector of the assembly
	truthSearch = 1024 // bytes that a search counts before it looks whether it has ended
)

// trueBytes returns the number of true bytes.
func trueBytes(x []uint8) (n int64) {
	if vectorAVX {
		whole := len(x) &^ (truthVector - 1)
		n, x = int64(whole-countFalse(at0(x), whole)), x[whole:]
	}
	w, rest := words(x)
	for _, v := range w {
		n += int64(bits.OnesCount64(truths8(v)))
	}
	for _, v := range rest {
		n += int64(bit(v != 0))
	}
	return n
}

// clearFalse sets the elements of a to 0 at which x is 0.
func clearFalse(a, x []uint8) {
	a = a[:len(x)]
	if vectorAVX {
		whole := len(x) &^ (truthVector - 1)
		andTruths(at0(a), at0(x), whole)
		a, x = a[whole:], x[whole:]
	}
	for i, v := range x {
		a[i] &= -bit(v != 0)
	}
}

// truthFold computes Any or All. An element of type T is true if it is not 0; it becomes a byte of 1. An intermediate value of Any is
// the bitwise or of bytes, and one of All is 1 or 0.
func truthFold[T number | complex64 | complex128](c reduceArgs) {
	f := newFold[T, uint8](c)
	f.running = true
	f.store = func(i int, a uint8) { *(*bool)(unsafe.Add(c.dst, i)) = a != 0 }
	fold, column := foldAny, setTrue
	f.done = func(a uint8) bool { return a != 0 }
	f.merge = func(a, b uint8) uint8 { return a | b }
	if c.op == expr.All {
		fold, column = foldAll, clearFalse
		f.start = 1
		f.done = func(a uint8) bool { return a == 0 }
		f.merge = func(a, b uint8) uint8 { return a & b }
	}
	if c.xt.Size() == 1 {
		f.row = func(a uint8, x []T, _ int) uint8 { return fold(a, unsafe.Slice((*uint8)(at0(x)), len(x))) }
		f.column = func(a []uint8, x []T, _ int) { column(a, unsafe.Slice((*uint8)(at0(x)), len(x))) }
		f.run()
		return
	}
	unequal, zero := comparison(expr.Ne, dtype.Of[T]()).vs, new(T)
	// truths writes whether elements are true to a block.
	truths := func(w *work, x []T) []uint8 {
		unequal(unsafe.Pointer(&w.block[0]), at0(x), unsafe.Pointer(zero), len(x))
		return unsafe.Slice((*uint8)(unsafe.Pointer(&w.block[0])), len(x))
	}
	f.row = func(a uint8, x []T, _ int) uint8 {
		w := works.Get().(*work)
		defer works.Put(w)
		for at := 0; at < len(x) && !f.done(a); at += blockLen {
			a = fold(a, truths(w, x[at:min(at+blockLen, len(x))]))
		}
		return a
	}
	f.column = func(a []uint8, x []T, _ int) {
		w := works.Get().(*work)
		defer works.Put(w)
		for at := 0; at < len(x); at += blockLen {
			column(a[at:], truths(w, x[at:min(at+blockLen, len(x))]))
		}
	}
	f.run()
}

func foldAll(a uint8, x []uint8) uint8 { return a & bit(allTrue(x)) }

func foldAny(a uint8, x []uint8) uint8 { return a | bit(anyTrue(x)) }

// setTrue makes a true where x is.
func setTrue(a, x []uint8) {
	w, rest := words(x)
	to, last := words(a[:len(x)])
	for i, v := range w {
		to[i] |= v
	}
	for i, v := range rest {
		last[i] |= v
	}
}

// truthCounts computes Sum of Bool.
func truthCounts(c reduceArgs) {
	f := newFold[uint8, int64](c)
	f.store, f.running = storeTo[int64](dtype.Int64, c.dst), true
	f.merge = func(a, b int64) int64 { return a + b }
	f.row = func(a int64, x []uint8, _ int) int64 { return a + trueBytes(x) }
	add := columnOf[uint8, int64](expr.Add)
	f.column = func(a []int64, x []uint8, k int) {
		w := works.Get().(*work)
		defer works.Put(w)
		b := unsafe.Slice((*uint8)(unsafe.Pointer(&w.block[0])), blockLen)
		for at := 0; at < len(x); at += blockLen {
			m := min(blockLen, len(x)-at)
			loadBool(at0(b), at0(x[at:]), 1, m)
			add(a[at:], b[:m], k)
		}
	}
	f.run()
}
