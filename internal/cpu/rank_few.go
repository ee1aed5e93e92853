package cpu

import "unsafe"

// SubtractProduct subtracts k outer products from a matrix, one after the other:
//
//	for p := range k { a[i*pitch+j] -= l[i*lpitch+p*lstep] * x[p*xpitch+j]  for 0 <= i < rows, 0 <= j < cols }
//
// With down, p runs from k-1 to 0. Each product is rounded before it is subtracted, so the bits are those of k calls of
// SubtractOuter. a, l and x may be parts of one matrix. l and x must not contain elements of a.
func SubtractProduct[T float32 | float64 | complex64 | complex128](a []T, pitch, rows, cols int, l []T, lpitch, lstep int, x []T, xpitch, k int, down bool) {
	if rows == 0 || cols == 0 || k == 0 {
		return
	}
	_, _, _ = a[(rows-1)*pitch+cols-1], l[(rows-1)*lpitch+(k-1)*lstep], x[(k-1)*xpitch+cols-1]
	p, step := 0, 1
	if down {
		p, step = k-1, -1
	}
	size := int(unsafe.Sizeof(a[0]))
	wholeRows, wholeCols := 0, 0
	if f := subtractFour[T](); f != nil {
		wholeRows, wholeCols = rows&^3, cols&^(64/size-1)
		for i := 0; i < wholeRows && wholeCols > 0; i += 4 {
			f(at0(a[i*pitch:]), size*pitch, wholeCols, at0(l[i*lpitch+p*lstep:]), size*lpitch, size*step*lstep, at0(x[p*xpitch:]), size*xpitch*step, k)
		}
	}
	for range k {
		if wholeCols < cols {
			SubtractOuter(a[wholeCols:], pitch, wholeRows, l[p*lstep:], lpitch, x[p*xpitch+wholeCols:][:cols-wholeCols])
		}
		if wholeRows < rows {
			SubtractOuter(a[wholeRows*pitch:], pitch, rows-wholeRows, l[wholeRows*lpitch+p*lstep:], lpitch, x[p*xpitch:][:cols])
		}
		p += step
	}
}

// fourRows is the type of the functions that subtract k outer products from four rows. cols is a multiple of the number of
// elements in 64 bytes. The pitches and lstep, the distance of the factors l, are in bytes.
type fourRows = func(a unsafe.Pointer, pitch, cols int, l unsafe.Pointer, lpitch, lstep int, x unsafe.Pointer, xpitch, k int)

// subtractFour returns the function for T of this processor, or nil.
func subtractFour[T float32 | float64 | complex64 | complex128]() fourRows {
	switch any(T(0)).(type) {
	case float32:
		if vectorAVX512 {
			return subtractFour32AVX512
		}
		if vectorAVX {
			return subtractFour32AVX2
		}
	case float64:
		if vectorAVX512 {
			return subtractFour64AVX512
		}
		if vectorAVX {
			return subtractFour64AVX2
		}
	}
	return nil
}
