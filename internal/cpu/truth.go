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

// byteTruths is truthFold for bytes. An intermediate value of Any is the bitwise or of bytes, and one
// of All is 0 or 1.
func byteTruths(c reduceArgs) {
	f := newFold[uint8, uint8](c)
	f.running = true
	f.store = func(i int, a uint8) { *(*bool)(unsafe.Add(c.dst, i)) = a != 0 }
	if c.op == expr.All {
		f.start = 1
		f.done = func(a uint8) bool { return a == 0 }
		f.merge = func(a, b uint8) uint8 { return a & b }
		f.row = func(a uint8, x []uint8, _ int) uint8 { return a & bit(allTrue(x)) }
		f.column = func(a, x []uint8, _ int) { clearFalse(a, x) }
	} else {
		f.done = func(a uint8) bool { return a != 0 }
		f.merge = func(a, b uint8) uint8 { return a | b }
		f.row = func(a uint8, x []uint8, _ int) uint8 { return a | bit(anyTrue(x)) }
		f.column = func(a, x []uint8, _ int) {
			w, rest := words(x)
			to, last := words(a[:len(x)])
			for i, v := range w {
				to[i] |= v
			}
			for i, v := range rest {
				last[i] |= v
			}
		}
	}
	f.run()
}

// truthCounts computes Sum of Bool.
func truthCounts(c reduceArgs) {
	f := newFold[uint8, int64](c)
	f.store, f.running = storeTo[int64](dtype.Int64, c.dst), true
	f.merge = func(a, b int64) int64 { return a + b }
	f.row = func(a int64, x []uint8, _ int) int64 { return a + trueBytes(x) }
	f.column = func(a []int64, x []uint8, _ int) {
		for i, v := range x {
			a[i] += int64(bit(v != 0))
		}
	}
	f.run()
}
