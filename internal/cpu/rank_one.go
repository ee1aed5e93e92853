package cpu

// SubtractOuter subtracts the outer product of l and x from a matrix:
//
//	a[i*pitch+j] -= l[i*step] * x[j]  for 0 <= i < rows, 0 <= j < len(x)
//
// Each product is rounded before it is subtracted. l may be a column of the matrix that a is a part of, but no element
// of a, and x may be another row of that matrix.
func SubtractOuter[T float32 | float64 | complex64 | complex128](a []T, pitch, rows int, l []T, step int, x []T) {
	cols := len(x)
	if rows == 0 || cols == 0 {
		return
	}
	_, _ = a[(rows-1)*pitch+cols-1], l[(rows-1)*step]
	if vectorAVX && cols >= 4 { // the loop is as fast on fewer
		switch any(a).(type) {
		case []float32:
			subtractOuter32(at0(a), 4*pitch, rows, cols, at0(l), 4*step, at0(x))
			return
		case []float64:
			subtractOuter64(at0(a), 8*pitch, rows, cols, at0(l), 8*step, at0(x))
			return
		}
	}
	for i := range rows {
		v, row := l[i*step], a[i*pitch:][:cols]
		for j, w := range x {
			row[j] -= T(v * w)
		}
	}
}
