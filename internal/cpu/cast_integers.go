package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// intToInt saturates at the type's bounds.
func intToInt[D, S integer]() func(dst, src unsafe.Pointer, n int) {
	plain := plainIntToInt[D, S]()
	if !vectorAVX {
		return plain
	}
	to, from := unsafe.Sizeof(D(0)), unsafe.Sizeof(S(0))
	lo, hi := bounds[D]()
	low, _ := bounds[S]()
	i, j := bits.TrailingZeros(uint(from)), bits.TrailingZeros(uint(to))
	unsigned := 0
	if low == 0 {
		unsigned = 1
	}
	switch {
	case from > to:
		least, most := S(lo), S(hi)
		narrow := narrowings[unsigned][i][j]
		return inMultiples(castVector, to, from, func(dst, src unsafe.Pointer, n int) {
			narrow(dst, src, unsafe.Pointer(&least), unsafe.Pointer(&most), n)
		}, plain)
	case D(low) == lo && from == to:
		return plain // one type
	case from == to && low == 0: // to signed integers
		most := S(hi)
		minimum := vectorIntegers(expr.Minimum, dtype.Of[S]()).vs
		return func(dst, src unsafe.Pointer, n int) { minimum(dst, src, unsafe.Pointer(&most), n) }
	case from == to:
		return func(dst, src unsafe.Pointer, n int) { maximumOfZero[S](dst, src, n) }
	case low < 0 && lo == 0:
		widen := widenings[unsigned][i][j]
		return inMultiples(castVector, to, from, func(dst, src unsafe.Pointer, n int) {
			for at := 0; at < n; at += blockLen {
				d, m := elementAt[D](dst, at), min(blockLen, n-at)
				widen(d, elementAt[S](src, at), m)
				maximumOfZero[D](d, d, m)
			}
		}, plain)
	}
	return inMultiples(castVector, to, from, widenings[unsigned][i][j], plain)
}

// castVector divides the number of elements of every call of a widening or a narrowing.
const castVector = 32

// maximumOfZero writes max(x[i], 0) of signed integers that have as many bytes as T. It needs AVX2.
func maximumOfZero[T integer](dst, x unsafe.Pointer, n int) {
	var zero int64
	switch unsafe.Sizeof(T(0)) {
	case 1:
		maximumVSInt8(dst, x, unsafe.Pointer(&zero), n)
	case 2:
		maximumVSInt16(dst, x, unsafe.Pointer(&zero), n)
	case 4:
		maximumVSInt32(dst, x, unsafe.Pointer(&zero), n)
	default:
		maximumVSInt64(dst, x, unsafe.Pointer(&zero), n)
	}
}

// plainIntToInt is intToInt without vector code.
func plainIntToInt[D, S integer]() func(dst, src unsafe.Pointer, n int) {
	lo, hi := bounds[D]()
	low, high := bounds[S]()
	switch {
	case int64(lo) <= int64(low) && uint64(high) <= uint64(hi): // D holds all of S
		return convert[D, S]
	case uint64(high) > math.MaxInt64: // S is uint64
		return func(dst, src unsafe.Pointer, n int) {
			d, s := pair[D, S](dst, src, n)
			for i, v := range s {
				d[i] = D(min(uint64(v), uint64(hi)))
			}
		}
	case uint64(hi) > math.MaxInt64: // D is uint64
		return func(dst, src unsafe.Pointer, n int) {
			d, s := pair[D, S](dst, src, n)
			for i, v := range s {
				d[i] = D(max(v, 0))
			}
		}
	}
	return func(dst, src unsafe.Pointer, n int) {
		d, s := pair[D, S](dst, src, n)
		for i, v := range s {
			d[i] = D(min(max(int64(v), int64(lo)), int64(hi)))
		}
	}
}

// truthOf returns the conversion x != 0 to Bool; NaN is true.
func truthOf[S number]() func(dst, src unsafe.Pointer, n int) {
	unequal, zero := comparison(expr.Ne, dtype.Of[S]()).vs, new(S)
	return func(dst, src unsafe.Pointer, n int) { unequal(dst, src, unsafe.Pointer(zero), n) }
}

// through returns a conversion in two steps, from elements of from bytes to elements of to bytes.
func through(to, from uintptr, first, second func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	return func(dst, src unsafe.Pointer, n int) {
		w := works.Get().(*work)
		defer works.Put(w)
		between := unsafe.Pointer(&w.block[0])
		for at := 0; at < n; at += blockLen {
			m := min(blockLen, n-at)
			first(between, unsafe.Add(src, at*int(from)), m)
			second(unsafe.Add(dst, at*int(to)), between, m)
		}
	}
}

// intermediate returns the type through which floating-point numbers are converted to T by vector code: one that holds all of T. It
// returns nil if the conversion has one step. Saturating twice is saturating once.
func intermediate[T integer]() integerType {
	_, hi := bounds[T]()
	switch {
	case !vectorAVX || uint64(hi) > math.MaxUint32 || uint64(hi) == math.MaxInt32:
		return nil
	case uint64(hi) == math.MaxUint32:
		return integerOf(dtype.Int64)
	}
	return integerOf(dtype.Int32)
}

// whileExact returns a conversion of floating-point numbers of from bytes to an integer type of 8 bytes. It is made from vector, a
// conversion to int64 that stops before large numbers, and plain, which converts these and the numbers near them.
func whileExact[T integer](from int, vector func(dst, src unsafe.Pointer, n int) int, plain func(dst, src unsafe.Pointer, n int)) func(dst, src unsafe.Pointer, n int) {
	lo, _ := bounds[T]()
	return func(dst, src unsafe.Pointer, n int) {
		for at := 0; at < n; {
			d, s, m := elementAt[T](dst, at), unsafe.Add(src, at*from), min(blockLen, n-at)
			done := vector(d, s, m)
			if lo == 0 {
				maximumOfZero[T](d, d, done)
			}
			if done < m {
				some := min(64, m-done)
				plain(elementAt[T](d, done), unsafe.Add(s, done*from), some)
				done += some
			}
			at += done
		}
	}
}
