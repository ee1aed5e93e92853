package linalg

import "github.com/gpk-go/gpk/internal/cpu"

// luLoops is lu by blocks of a few columns. It subtracts the products of a block from the columns after it. a has at least as
// many rows as columns.
func luLoops[T number](a matrix[T], pivots []int) (zero int) {
	zero = -1
	for first := 0; first < a.cols; first += loopColumns {
		last := min(first+loopColumns, a.cols)
		z := luColumns(a, first, last, pivots)
		if zero < 0 {
			zero = z
		}
		if last == a.cols {
			break
		}
		rest := a.part(0, a.rows, last, a.cols)
		for k := first; k < last; k++ {
			to := last
			if z >= 0 {
				to = a.rows // columns with a zero pivot subtract nothing, so the products are subtracted one by one
			}
			if k+1 < to && a.at(k, k) != 0 {
				cpu.SubtractOuter(rest.data[(k+1)*a.stride:], a.stride, to-k-1, a.data[(k+1)*a.stride+k:], a.stride, rest.row(k))
			}
		}
		if z < 0 && last < a.rows {
			cpu.SubtractProduct(rest.data[last*a.stride:], a.stride, a.rows-last, rest.cols, a.data[last*a.stride+first:], a.stride, 1, rest.data[first*a.stride:], a.stride, last-first, false)
		}
	}
	return zero
}

// luColumns factors the columns first to last, from which the products of earlier columns are already subtracted. It exchanges
// whole rows, and returns the index of the first pivot that is zero, or -1.
func luColumns[T number](a matrix[T], first, last int, pivots []int) (zero int) {
	zero = -1
	for k := first; k < last; k++ {
		best, largest := pivotOf(a, k)
		pivots[k] = best
		if largest == 0 {
			if zero < 0 {
				zero = k
			}
			continue
		}
		a.swap(k, best)
		top := a.row(k)[k:last]
		p := top[0]
		if k+1 == a.rows {
			continue
		}
		for i := k + 1; i < a.rows; i++ {
			a.data[i*a.stride+k] /= p
		}
		if below := a.data[(k+1)*a.stride+k:]; len(top) > 1 {
			cpu.SubtractOuter(below[1:], a.stride, a.rows-k-1, below, a.stride, top[1:])
		}
	}
	return zero
}
