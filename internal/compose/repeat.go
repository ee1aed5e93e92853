package compose

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// RepeatEach returns every element of a along an axis as often as counts says, one after the other, as NumPy's repeat
// with an array of counts. counts has an integer type and one axis. It has a number for each element of the axis, or one
// for all. Negative counts are ErrShape. The length of the result is their sum. RepeatEach waits for it, as Nonzero does.
//
//gpk:row To other places | the same | all | every element along an axis as often as its count says; waits for the sum of the counts
func RepeatEach[A Operand](o Operation[A], a, counts A, axis int) A {
	d, n, err := along(o, a, axis)
	if err == nil {
		err = countsFor(counts, axis, n)
	}
	if err != nil {
		return o.Failed(err)
	}
	shape := a.Shape()
	empty := n == 0
	if empty && counts.Size() == 0 {
		return o.Cast(a, a.DType())
	}
	n = max(n, 1) // along an empty axis the one count for all is checked
	counts = narrow(o, counts, dtype.Int64)
	counts = o.View(counts, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo([]int{n}) })
	ends := cumulated(o, counts)
	most := math.MaxInt / n // with smaller counts the sum does not wrap
	// One number to wait for: the sum, -1 for a negative count, or -2 for one above most.
	total := o.Elementwise(expr.Where, o.Elementwise(expr.Gt, o.Reduce(expr.Max, counts, nil), most), -2, reshape(o, slice(o, ends, 0, n-1, n)))
	total = o.Elementwise(expr.Where, o.Elementwise(expr.Lt, o.Reduce(expr.Min, counts, nil), 0), -1, total)
	sum, err := o.Wait(total)
	switch {
	case err != nil:
	case sum[0] == -1:
		err = layout.Errorf("a count is negative")
	case sum[0] == -2:
		err = layout.Errorf("a count is above %d", most)
	case !empty:
		shape[d] = int(sum[0])
		_, err = layout.Size(shape)
	}
	if err != nil {
		return o.Failed(err)
	}
	if shape[d] == 0 || a.Size() == 0 {
		return filled(o, a.DType(), 0, shape)
	}
	return take(o, a, repeats(o, counts, ends, shape[d]), d, nil)
}

// countsFor checks the counts of RepeatEach for an axis of length n.
func countsFor[A Operand](counts A, axis, n int) error {
	switch {
	case !counts.DType().IsInteger():
		return fmt.Errorf("%w: counts of %v; Cast(gpk.Int64) them", dtype.ErrDType, counts.DType())
	case counts.NDim() > 1 || counts.Size() != n && counts.Size() != 1:
		return layout.Errorf("counts of shape %v for axis %d, which has length %d; want [%[3]d], or [1] for one count for all", counts.Shape(), axis, n)
	}
	return nil
}

// repeats returns a list in which each index stands as often as its count says. ends are the cumulative sums of counts.
// total is the last of them, and the length of the list.
func repeats[A Operand](o Operation[A], counts, ends A, total int) A {
	if !hasKernels(counts) {
		return searched(o, ends, counted(o, total), true)
	}
	return o.Result(dtype.Int64, []int{total}, "one pass over the counts", []A{dense(o, counts)}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error { return ops.Repeats(s, dst, reads[0]) })
	})
}
