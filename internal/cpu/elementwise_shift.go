package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// shifts returns the kernels of Shl or Shr. A count of at least the width, or a negative one, gives 0, or the sign for Shr of a
// signed number.
func (ints[T]) shifts(op expr.Op) binary {
	vector := vectorShift(op, dtype.Of[T]())
	k := spread[T, T](func(dst, x, y unsafe.Pointer, n int) {
		d, a, b := vectors[T](dst, x, y, n)
		if whole := n &^ 15; vector != nil && whole > 0 {
			vector(dst, x, y, whole)
			d, a, b = d[whole:], a[whole:], b[whole:]
		}
		if op == expr.Shl {
			for i := range d {
				d[i] = a[i] << uint64(b[i])
			}
			return
		}
		for i := range d {
			d[i] = a[i] >> uint64(b[i])
		}
	})
	k.vs = func(dst, x, y unsafe.Pointer, n int) { shiftByNumber[T](op, dst, x, uint64(*(*T)(y)), n) }
	return k
}

// shiftByNumber shifts elements by one count: it shifts words, and replaces the bits that came from another element.
func shiftByNumber[T integer](op expr.Op, dst, x unsafe.Pointer, count uint64, n int) {
	dl, xl, d, a := splitLines[T](dst, x, n)
	ones := ^T(0)
	if op == expr.Shl {
		keep, by := repeatedBits(ones<<count), count&63
		if vectorAVX {
			shiftLeftWords(at0(dl), at0(xl), by, keep, 4*len(dl))
			dl = nil
		}
		for i := range dl {
			d, a := &dl[i], &xl[i]
			d[0], d[1], d[2], d[3] = a[0]<<by&keep, a[1]<<by&keep, a[2]<<by&keep, a[3]<<by&keep
		}
		for i := range d {
			d[i] = a[i] << count
		}
		return
	}
	if ones > 0 { // unsigned
		keep, by := repeatedBits(ones>>count), count&63
		if vectorAVX {
			shiftRightWords(at0(dl), at0(xl), by, keep, 4*len(dl))
			dl = nil
		}
		for i := range dl {
			d, a := &dl[i], &xl[i]
			d[0], d[1], d[2], d[3] = a[0]>>by&keep, a[1]>>by&keep, a[2]>>by&keep, a[3]>>by&keep
		}
	} else {
		shiftSigned(dl, xl, 8*uint64(unsafe.Sizeof(ones)), count)
	}
	for i := range d {
		d[i] = a[i] >> count
	}
}

// shiftSigned shifts the signed elements of x to the right. Elements have width bits. It shifts them as unsigned integers, and
// multiplies each sign, 0 or 1, by the bits that are filled with it. No product reaches the next element.
func shiftSigned(dst, x []line, width, count uint64) {
	dst = dst[:len(x)]
	count = min(count, width-1)
	element := ^uint64(0) >> (64 - width)
	var lowest uint64 // the lowest bit of each element
	for at := uint64(0); at < 64; at += width {
		lowest |= 1 << at
	}
	keep := element >> count * lowest
	if vectorAVX {
		sign := (element ^ element>>1) >> count * lowest // the bits to which the signs move
		vectorShiftSigned(width, at0(dst), at0(x), count, keep, sign, 4*len(dst))
		return
	}
	fill := element &^ (element >> count)
	by, sign := count&63, (width-1)&63
	for i := range dst {
		d, a := &dst[i], &x[i]
		for j, v := range a {
			d[j] = v>>by&keep | (v>>sign&lowest)*fill
		}
	}
}
