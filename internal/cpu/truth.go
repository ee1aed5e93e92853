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

// words returns the bytes as words, and those left over.
func words(x []uint8) (w []uint64, rest []uint8) {
	if len(x) < 8 {
		return nil, x
	}
	return unsafe.Slice((*uint64)(at0(x)), len(x)/8), x[len(x)&^7:]
}

// anyTrue reports whether a byte is true.
func anyTrue(x []uint8) bool {
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

// trueBytes returns the number of true bytes.
func trueBytes(x []uint8) (n int64) {
	w, rest := words(x)
	for _, v := range w {
		n += int64(bits.OnesCount64(truths8(v)))
	}
	for _, v := range rest {
		n += int64(bit(v != 0))
	}
	return n
}

// byteTruths is truthFold for bytes.
func byteTruths(c reduceArgs) {
	f := newFold[uint8, bool](c)
	f.store = storeTo[bool](dtype.Bool, c.dst)
	both := func(a, t uint64) uint64 { return a | t }
	if c.op == expr.All {
		f.start = true
		f.merge = func(a, b bool) bool { return a && b }
		f.row = func(a bool, x []uint8, _ int) bool { return a && allTrue(x) }
		both = func(a, t uint64) uint64 { return a & t }
	} else {
		f.merge = func(a, b bool) bool { return a || b }
		f.row = func(a bool, x []uint8, _ int) bool { return a || anyTrue(x) }
	}
	f.column = func(a []bool, x []uint8, _ int) {
		w, rest := words(x)
		for i, v := range w {
			p := (*uint64)(unsafe.Pointer(&a[8*i])) // of bools, bytes of 0 or 1
			*p = both(*p, truths8(v))
		}
		for i, v := range rest {
			a := &a[8*len(w)+i]
			*a = both(uint64(bit(*a)), uint64(bit(v != 0))) != 0
		}
	}
	f.run()
}

// truthCounts is Sum of Bool.
func truthCounts(c reduceArgs) {
	f := newFold[uint8, int64](c)
	f.store = storeTo[int64](dtype.Int64, c.dst)
	f.merge = func(a, b int64) int64 { return a + b }
	f.row = func(a int64, x []uint8, _ int) int64 { return a + trueBytes(x) }
	f.column = func(a []int64, x []uint8, _ int) {
		for i, v := range x {
			a[i] += int64(bit(v != 0))
		}
	}
	f.run()
}
