package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// NormResidual computes sum = x + residual, rounded to the type xt, and normed = RMSNorm of
// sum along the last axis. It works line by line, so that each sum is still in the cache
// when it is normalized. Both results have the bits of the single operations. gamma is as
// for Norm. All shapes are equal; sum and normed are dense and must not overlap anything.
func NormResidual(xt dtype.DType, shape []int, x unsafe.Pointer, xs []int, residual unsafe.Pointer, rs []int, gamma unsafe.Pointer, eps float64, sum, normed unsafe.Pointer) error {
	if !xt.IsFloat() || len(shape) == 0 {
		return unsupported(expr.RMSNorm, xt)
	}
	last := len(shape) - 1
	n, size := shape[last], xt.Size()
	if n == 0 {
		return nil
	}
	dense := make([]int, last)
	for d, step := last-1, n; d >= 0; d-- {
		dense[d], step = step, step*shape[d]
	}
	outer := newNest(shape[:last], operand{sum, dense, size}, operand{normed, dense, size}, operand{x, xs[:last], size}, operand{residual, rs[:last], size})
	steps := [2]int{xs[last] * size, rs[last] * size}
	if xt == dtype.Float64 {
		normSums(xt, outer, n, steps, normOf[float64](expr.RMSNorm, xt, n, gamma, nil, eps))
	} else {
		normSums(xt, outer, n, steps, normOf[float32](expr.RMSNorm, xt, n, gamma, nil, eps))
	}
	return nil
}

// normSums computes the lines of NormResidual. Dense lines of float32 and float64 are read
// and written in place.
func normSums[T floating](xt dtype.DType, outer nest, n int, steps [2]int, norm func(in, out []T)) {
	if outer.n == 0 {
		return
	}
	computed := dtype.Float32
	if xt == dtype.Float64 {
		computed = xt
	}
	size, add := xt.Size(), kernels.binary(expr.Add, computed)
	load, store := lineLoader(xt), lineStorer(xt)
	sameType := computed == xt && steps == [2]int{size, size}
	Parallel(outer.n, max(minPart/n, 1), func(lo, hi int) {
		room := make([]T, 3*n)
		a, b, out := room[:n], room[n:2*n], room[2*n:]
		for i := lo; i < hi; i++ {
			p := outer.at(i)
			if sameType {
				add.vv(p[0], p[2], p[3], n)
				norm(unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n))
				continue
			}
			load(at0(a), p[2], steps[0], n)
			load(at0(b), p[3], steps[1], n)
			add.vv(at0(a), at0(a), at0(b), n)
			store(p[0], size, at0(a), n)
			load(at0(a), p[0], size, n)
			norm(a, out)
			store(p[1], size, at0(out), n)
		}
	})
}
