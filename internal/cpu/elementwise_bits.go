package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Bitwise operations take elements of any width as lines of four words. The elements after the last whole line are computed one by
// one.

type line [4]uint64

// splitLines returns the elements of a destination and of an operand as lines, and the remaining elements.
func splitLines[T integer](dst, x unsafe.Pointer, n int) (dl, xl []line, d, a []T) {
	d, a = pair[T, T](dst, x, n)
	per := int(unsafe.Sizeof(line{}) / unsafe.Sizeof(T(0)))
	if n < per {
		return nil, nil, d, a // a pointer to a line must not reach beyond the operand
	}
	dl, xl = pair[line, line](dst, x, n/per)
	return dl, xl, d[n/per*per:], a[n/per*per:]
}

// bitwise returns the kernels of And, Or or Xor.
func (ints[T]) bitwise(op expr.Op) binary {
	vs := func(dst, x, y unsafe.Pointer, n int) { bitsOfNumber(op, dst, x, *(*T)(y), n) }
	return binary{
		vv: func(dst, x, y unsafe.Pointer, n int) { bitsOfVectors[T](op, dst, x, y, n) },
		vs: vs,
		sv: swapped(vs),
	}
}

func bitsOfVectors[T integer](op expr.Op, dst, x, y unsafe.Pointer, n int) {
	dl, xl, d, a := splitLines[T](dst, x, n)
	_, yl, _, b := splitLines[T](dst, y, n)
	yl, b = yl[:len(dl)], b[:len(d)]
	if vectorBits(op, at0(dl), at0(xl), at0(yl), 4*len(dl)) {
		dl = nil
	}
	switch op {
	case expr.And:
		for i := range dl {
			d, a, b := &dl[i], &xl[i], &yl[i]
			d[0], d[1], d[2], d[3] = a[0]&b[0], a[1]&b[1], a[2]&b[2], a[3]&b[3]
		}
		for i := range d {
			d[i] = a[i] & b[i]
		}
	case expr.Or:
		for i := range dl {
			d, a, b := &dl[i], &xl[i], &yl[i]
			d[0], d[1], d[2], d[3] = a[0]|b[0], a[1]|b[1], a[2]|b[2], a[3]|b[3]
		}
		for i := range d {
			d[i] = a[i] | b[i]
		}
	case expr.Xor:
		for i := range dl {
			d, a, b := &dl[i], &xl[i], &yl[i]
			d[0], d[1], d[2], d[3] = a[0]^b[0], a[1]^b[1], a[2]^b[2], a[3]^b[3]
		}
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
	}
}

func bitsOfNumber[T integer](op expr.Op, dst, x unsafe.Pointer, y T, n int) {
	dl, xl, d, a := splitLines[T](dst, x, n)
	w := repeatedBits(y)
	if vectorBitsOfNumber(op, at0(dl), at0(xl), w, 4*len(dl)) {
		dl = nil
	}
	switch op {
	case expr.And:
		for i := range dl {
			d, a := &dl[i], &xl[i]
			d[0], d[1], d[2], d[3] = a[0]&w, a[1]&w, a[2]&w, a[3]&w
		}
		for i := range d {
			d[i] = a[i] & y
		}
	case expr.Or:
		for i := range dl {
			d, a := &dl[i], &xl[i]
			d[0], d[1], d[2], d[3] = a[0]|w, a[1]|w, a[2]|w, a[3]|w
		}
		for i := range d {
			d[i] = a[i] | y
		}
	case expr.Xor:
		for i := range dl {
			d, a := &dl[i], &xl[i]
			d[0], d[1], d[2], d[3] = a[0]^w, a[1]^w, a[2]^w, a[3]^w
		}
		for i := range d {
			d[i] = a[i] ^ y
		}
	}
}

// repeatedBits returns a word of copies of the bits of v.
func repeatedBits[T integer](v T) uint64 {
	width := 8 * int(unsafe.Sizeof(v))
	w := uint64(v) & (1<<width - 1)
	for ; width < 64; width *= 2 {
		w |= w << width
	}
	return w
}

// complements computes Not of integers.
func complements[T integer](dst, x unsafe.Pointer, n int) {
	bitsOfNumber(expr.Xor, dst, x, ^T(0), n)
}

// notOfBools returns the kernel of Not of Bools: by vectors it is the comparison with 0.
func notOfBools() func(dst, x unsafe.Pointer, n int) {
	k, zero := vectorIntegers(expr.Eq, dtype.Bool), new(bool)
	if k.vs == nil {
		return nots
	}
	return func(dst, x unsafe.Pointer, n int) { k.vs(dst, x, unsafe.Pointer(zero), n) }
}

// nots computes Not of Bools without vectors.
func nots(dst, x unsafe.Pointer, n int) {
	dl, xl, d, a := splitLines[uint8](dst, x, n)
	for i := range dl {
		d, a := &dl[i], &xl[i]
		d[0], d[1], d[2], d[3] = truths8(a[0])^lowBits, truths8(a[1])^lowBits, truths8(a[2])^lowBits, truths8(a[3])^lowBits
	}
	for i, v := range a {
		d[i] = bit(v == 0)
	}
}
