package cpu

import "unsafe"

// Var is computed in float64 and rounded once, from two folds: the mean m, and the sums of the
// deviations d = x - m and of their squares. The sum of d would be 0 if m were not rounded, and
//
//	sum (x - mean)^2 = sum d^2 - (sum d)^2 / n
//
// (Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983). Element k of a
// fold belongs to lane k%lanes. Blocks are merged in a tree, and so are the lanes at the end, so
// that no lane adds more than varianceBlock/lanes terms sequentially.
const (
	lanes         = 4
	varianceBlock = 64
)

// deviations are the sums in the lanes of a fold of real numbers.
type deviations struct {
	mean          float64
	rest, squares [lanes]float64
}

// complexDeviations is deviations for complex numbers, with the squares of their moduli.
type complexDeviations struct {
	mean    complex128
	rest    [lanes]complex128
	squares [lanes]float64
}

// sumLanes returns the sum of the lanes.
func sumLanes[A float64 | complex128](v [lanes]A) A { return (v[0] + v[1]) + (v[2] + v[3]) }

// addLanes adds the lanes of two blocks.
func addLanes[A float64 | complex128](a, b [lanes]A) [lanes]A {
	return [lanes]A{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}
}

// mergeInTree makes a fold merge its blocks in a tree.
func mergeInTree[T, A any](f *folding[T, A]) *folding[T, A] {
	f.block, f.tree = varianceBlock, true
	return f
}

// addWhole adds to sums all elements of x but the last ones that do not fill the lanes, which it returns.
func addWhole[T float32 | float64](sums *[lanes]float64, x []T) (rest []T) {
	whole := len(x) &^ (lanes - 1)
	switch {
	case !vectorAVX:
		a := *sums
		for ; len(x) >= lanes; x = x[lanes:] {
			a[0], a[1], a[2], a[3] = a[0]+float64(x[0]), a[1]+float64(x[1]), a[2]+float64(x[2]), a[3]+float64(x[3])
		}
		*sums = a
		return x
	case unsafe.Sizeof(T(0)) == 4:
		addLanes32(sums, at0(x), whole)
	default:
		addLanes64(sums, at0(x), whole)
	}
	return x[whole:]
}

// addWholeDeviations is addWhole for deviations.
func addWholeDeviations[T float32 | float64](a *deviations, x []T) (rest []T) {
	whole := len(x) &^ (lanes - 1)
	switch {
	case !vectorAVX:
		r, s := a.rest, a.squares
		for ; len(x) >= lanes; x = x[lanes:] {
			for i, v := range x[:lanes] {
				d := float64(v) - a.mean
				r[i] += d
				s[i] += float64(d * d)
			}
		}
		a.rest, a.squares = r, s
		return x
	case unsafe.Sizeof(T(0)) == 4:
		addDeviations32(&a.rest, &a.squares, at0(x), whole, a.mean)
	default:
		addDeviations64(&a.rest, &a.squares, at0(x), whole, a.mean)
	}
	return x[whole:]
}

const _ = uint(8*varianceBlock-foldBlock) + uint(foldBlock-8*varianceBlock) // the assembly adds eight blocks

// sumBlocks returns the sums in the lanes of foldBlock elements, block by block in a tree.
func sumBlocks[T float32 | float64](x []T) (sums [lanes]float64) {
	if unsafe.Sizeof(T(0)) == 4 {
		addLanesOf8Blocks32(&sums, at0(x))
	} else {
		addLanesOf8Blocks64(&sums, at0(x))
	}
	return sums
}

// sumDeviationsOfBlocks is sumBlocks for deviations.
func sumDeviationsOfBlocks[T float32 | float64](a deviations, x []T) deviations {
	if unsafe.Sizeof(T(0)) == 4 {
		addDeviationsOf8Blocks32(&a.rest, &a.squares, at0(x), a.mean)
	} else {
		addDeviationsOf8Blocks64(&a.rest, &a.squares, at0(x), a.mean)
	}
	return a
}

// floatMeans returns the mean of each fold and the number of its elements.
func floatMeans[T float32 | float64](c reduceArgs) ([]float64, float64) {
	f := mergeInTree(newFold[T, [lanes]float64](c))
	n := float64(f.folded.n)
	means := make([]float64, f.kept.n)
	f.store = func(i int, a [lanes]float64) { means[i] = sumLanes(a) / n }
	f.merge = addLanes[float64]
	f.row = func(a [lanes]float64, x []T, _ int) [lanes]float64 {
		x = addWhole(&a, x)
		for k, v := range x {
			a[k%lanes] += float64(v)
		}
		return a
	}
	if vectorAVX {
		f.whole = func(_ [lanes]float64, x []T) [lanes]float64 { return sumBlocks(x) }
	}
	if !f.inColumns() {
		f.run()
		return means, n
	}
	f.laneColumns(1, func(sums []float64, pitch int, x []T, _, lane int) {
		addToColumns(sums[lane*pitch:], x)
	}, func(first, width int, sums []float64, pitch int) {
		for j := range width {
			means[first+j] = sumLanes(lanesAt(sums, pitch, j)) / n
		}
	})
	return means, n
}

// variances computes Var for real numbers.
func (floatFolds[T]) variances(c reduceArgs) {
	means, n := floatMeans[T](c)
	f := mergeInTree(newFold[T, deviations](c))
	f.begin = func(i int) deviations { return deviations{mean: means[i]} }
	store := storeRounded(c.xt, c.dst)
	f.store = func(i int, a deviations) {
		rest := sumLanes(a.rest)
		store(i, (sumLanes(a.squares)-float64(rest*rest)/n)/n)
	}
	f.merge = func(a, b deviations) deviations {
		return deviations{a.mean, addLanes(a.rest, b.rest), addLanes(a.squares, b.squares)}
	}
	f.row = func(a deviations, x []T, _ int) deviations {
		x = addWholeDeviations(&a, x)
		for k, v := range x {
			d := float64(v) - a.mean
			a.rest[k%lanes] += d
			a.squares[k%lanes] += float64(d * d)
		}
		return a
	}
	if vectorAVX {
		f.whole = sumDeviationsOfBlocks[T]
	}
	if !f.inColumns() {
		f.run()
		return
	}
	f.laneColumns(2, func(sums []float64, pitch int, x []T, first, lane int) {
		addDeviationsToColumns(sums[lane*pitch:], sums[(lanes+lane)*pitch:], x, means[first:])
	}, func(first, width int, sums []float64, pitch int) {
		squares := sums[lanes*pitch:]
		for j := range width {
			f.store(first+j, deviations{rest: lanesAt(sums, pitch, j), squares: lanesAt(squares, pitch, j)})
		}
	})
}

// complexMeans is floatMeans for complex numbers.
func complexMeans[T complex64 | complex128](c reduceArgs) ([]complex128, float64) {
	f := mergeInTree(newFold[T, [lanes]complex128](c))
	n := float64(f.folded.n)
	means := make([]complex128, f.kept.n)
	f.store = func(i int, a [lanes]complex128) {
		sum := sumLanes(a)
		means[i] = complex(real(sum)/n, imag(sum)/n)
	}
	f.merge = addLanes[complex128]
	f.row = func(a [lanes]complex128, x []T, _ int) [lanes]complex128 {
		for ; len(x) >= lanes; x = x[lanes:] {
			a[0], a[1], a[2], a[3] = a[0]+complex128(x[0]), a[1]+complex128(x[1]), a[2]+complex128(x[2]), a[3]+complex128(x[3])
		}
		for k, v := range x {
			a[k%lanes] += complex128(v)
		}
		return a
	}
	f.column = func(a [][lanes]complex128, x []T, k int) {
		for i, v := range x {
			a[i][k%lanes] += complex128(v)
		}
	}
	f.run()
	return means, n
}

// variances computes Var of complex numbers, the mean of |x - mean|^2.
func (complexFolds[T]) variances(c reduceArgs) {
	square := func(v complex128) float64 { return float64(real(v)*real(v)) + float64(imag(v)*imag(v)) }
	means, n := complexMeans[T](c)
	f := mergeInTree(newFold[T, complexDeviations](c))
	f.begin = func(i int) complexDeviations { return complexDeviations{mean: means[i]} }
	store := storeRounded(c.xt.Real(), c.dst)
	f.store = func(i int, a complexDeviations) { store(i, (sumLanes(a.squares)-square(sumLanes(a.rest))/n)/n) }
	f.merge = func(a, b complexDeviations) complexDeviations {
		return complexDeviations{a.mean, addLanes(a.rest, b.rest), addLanes(a.squares, b.squares)}
	}
	f.row = func(a complexDeviations, x []T, _ int) complexDeviations {
		for k, v := range x {
			d := complex128(v) - a.mean
			a.rest[k%lanes] += d
			a.squares[k%lanes] += square(d)
		}
		return a
	}
	f.column = func(a []complexDeviations, x []T, k int) {
		for i, v := range x {
			d := complex128(v) - a[i].mean
			a[i].rest[k%lanes] += d
			a[i].squares[k%lanes] += square(d)
		}
	}
	f.run()
}
