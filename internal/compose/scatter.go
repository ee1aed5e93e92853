package compose

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ScatterAdd returns a copy of a to whose parts at indices along an axis values are added: the
// transpose of Take, and NumPy's add.at. Indices are Int32 or Int64, of any shape; negative
// ones count from the end, and equal ones add. values, of a's type, is broadcast to the shape
// that Take(a, indices, axis) has. The order in which the values of one index are added depends
// on the indices alone, so that the bits are the same whenever the program runs on a device;
// halves are computed in Float32 and rounded once, integers wrap. An index outside the axis is
// ErrShape, found as that of Take. Bool is ErrDType.
//
// On the CPU the values are added one after the other, those of Float32 in Float64. On a GPU
// they are sorted by index, and a scan of log2 of their number passes adds those of equal
// indices (Hillis and Steele, Communications of the ACM 29 (1986) 1170).
//
//gpk:row To other places | the same | all but bool | a copy with values added at indices along an axis; equal indices add, in an order of the indices alone
func ScatterAdd[A Operand](o Operation[A], a, indices, values A, axis int) A {
	d, n, err := along(o, a, axis)
	var shape []int
	if err == nil {
		shape, err = scatterShape(a, indices, values, d)
	}
	if err == nil && n == 0 && indices.Size() > 0 {
		err = outsideOf(axis, n)
	}
	if err != nil {
		return o.Failed(err)
	}
	span := indices.NDim()
	values = o.View(values, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	count := indices.Size()
	if count == 0 || a.Size() == 0 {
		return o.Elementwise(expr.Where, filled(o, dtype.Bool, true, nil), o.Cast(a, a.DType()), a)
	}
	// The axes of the indices, as one, and the axis of a come first.
	var front, order []int
	for i := range shape {
		if i < d || i >= d+span {
			order = append(order, i)
		} else {
			front = append(front, i)
		}
	}
	rest := a.Size() / n
	v := reshape(o, permute(o, values, append(front, order...)), count, rest)
	x := o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(first(d, a.NDim())) })
	across := x.Shape()
	rows := func(out A) A { // to the axes of a
		out = reshape(o, out, across...)
		return o.Cast(o.View(out, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(back(d, a.NDim())) }), a.DType())
	}

	if hasKernels(a) {
		reads := []A{dense(o, indices), dense(o, wide(o, v)), dense(o, reshape(o, wide(o, x), n, rest))}
		out := o.Result(reads[2].DType(), []int{n, rest}, "sums in the order of the values", reads, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error {
				return ops.ScatterAdd(s, dst, reads[0], reads[1], reads[2], outsideOf(axis, n))
			})
		})
		return rows(narrow(o, out, a.DType()))
	}
	at, bad := normal(o, indices, n)
	at = o.Elementwise(expr.Where, bad, n, at)
	w := writersOf(o, reshape(o, at, count), n)
	v = wide(o, w.take(o, v, outsideOf(axis, n)))
	if err := v.Err(); err != nil {
		return o.Failed(err)
	}
	sums := segmentSums(o, w.places, v)
	sum := reshape(o, o.Take(sums, w.last, 0, nil), across...)
	hit := o.View(reshape(o, w.hit, first1(n, len(across))...), func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(across) })
	total := narrow(o, o.Elementwise(expr.Add, wide(o, x), sum), a.DType())
	return rows(o.Elementwise(expr.Where, hit, total, x))
}

// scatterShape checks the types of ScatterAdd's operands, and returns the shape to which the
// values are broadcast.
func scatterShape[A Operand](a, indices, values A, d int) ([]int, error) {
	if err := supports(expr.Add, a.DType()); err != nil {
		return nil, err
	}
	if err := indexType(indices); err != nil {
		return nil, err
	}
	if values.DType() != a.DType() {
		return nil, fmt.Errorf("%w: values of %v in an array of %v; Cast one", dtype.ErrDType, values.DType(), a.DType())
	}
	shape, _, err := layout.Take(a.Shape(), indices.Shape(), d)
	if err == nil {
		_, err = layoutOf(values).BroadcastTo(shape)
	}
	return shape, err
}

// first returns the order of n axes in which axis d comes first.
func first(d, n int) []int {
	order := []int{d}
	for i := range n {
		if i != d {
			order = append(order, i)
		}
	}
	return order
}

// back returns the inverse of first.
func back(d, n int) []int {
	order := make([]int, n)
	for to, from := range first(d, n) {
		order[from] = to
	}
	return order
}

// first1 returns a shape of rank axes, all of length 1 but the first.
func first1(n, rank int) []int {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = n
	return shape
}

// segmentSums returns, for each row of x, the sum of the rows up to it that have its place.
// places, in ascending order, has one element for each row.
func segmentSums[A Operand](o Operation[A], places, x A) A {
	n := places.Size()
	if n < 2 {
		return x
	}
	steps := 0
	for 1<<steps < n {
		steps++
	}
	return o.Result(x.DType(), x.Shape(), "a scan of sums of equal places", []A{x, places}, func(s *device.Stream, dst device.View, reads []device.View) error {
		var spare [2]device.View
		for i, dt := range [...]dtype.DType{dst.DType, dtype.Bool} {
			shape := dst.Layout.Shape
			if dt == dtype.Bool {
				shape = []int{n, 1}
			}
			l := layout.Dense(shape)
			buf, err := s.Device().Alloc(int64(l.Size())*int64(dt.Size()), s)
			if err != nil {
				return err
			}
			defer buf.Free()
			spare[i] = device.View{Buffer: buf, DType: dt, Layout: l}
		}
		place := reads[1]
		var err error
		if place.Layout, err = place.Layout.Unsqueeze(1); err != nil {
			return err
		}
		from := reads[0]
		for k := range steps { // the last one writes dst
			to := dst
			if (steps-k)%2 == 0 {
				to = spare[0]
			}
			if err := segmentStep(s, to, from, place, spare[1], 1<<k); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
}

// segmentStep writes the rows of x to dst, each plus the one by rows before it where both have
// the same place. same is scratch.
func segmentStep(s *device.Stream, dst, x, place, same device.View, by int) error {
	n := x.Layout.Shape[0]
	part := func(v device.View, start, stop int) device.View {
		v.Layout, _ = v.Layout.Slice(0, start, stop, 1) // 0 <= start <= stop <= n
		return v
	}
	if err := ops.Cast(s, part(dst, 0, by), part(x, 0, by)); err != nil {
		return err
	}
	to, later := part(dst, by, n), part(x, by, n)
	same = part(same, by, n)
	if err := ops.Apply2(s, expr.Eq, same, part(place, by, n), part(place, 0, n-by)); err != nil {
		return err
	}
	if err := ops.Apply2(s, expr.Add, to, later, part(x, 0, n-by)); err != nil {
		return err
	}
	return ops.Apply3(s, expr.Where, to, same, ops.Operand{View: to}, ops.Operand{View: later})
}
