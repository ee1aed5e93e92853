package compose

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Tile returns a repeated n[d] times along each axis d. If n and the axes of a differ in
// number, ones are added on the left. A negative number is ErrShape.
//
//gpk:row To other places | the same | all | copies of the array one behind the other along each axis
func Tile[A Operand](o Operation[A], a A, n ...int) A {
	if err := o.Check(); err != nil {
		return o.Failed(err)
	}
	shape := a.Shape()
	rank := max(len(shape), len(n))
	shape = slices.Concat(slices.Repeat([]int{1}, rank-len(shape)), shape)
	n = slices.Concat(slices.Repeat([]int{1}, rank-len(n)), n)
	from, to, out := make([]int, 0, 2*rank), make([]int, 0, 2*rank), make([]int, rank)
	for d, m := range shape {
		from, to = append(from, 1, m), append(to, n[d], m)
	}
	if _, err := layout.Size(to); err != nil {
		return o.Failed(err)
	}
	for d, m := range shape {
		out[d] = n[d] * m
	}
	spread := o.View(reshape(o, a, from...), func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(to) })
	return reshape(o, spread, out...)
}

// Roll returns a with its elements shifted by `shift` along each of the axes. Elements beyond the end re-enter at the
// beginning. No axes rolls the elements in row-major order. An axis may occur twice. A negative shift rolls backwards.
//
//gpk:row To other places | the same | all | the elements shifted along axes, from the end to the beginning
func Roll[A Operand](o Operation[A], a A, shift int, axes ...int) A {
	if err := o.Check(); err != nil {
		return o.Failed(err)
	}
	if len(axes) == 0 {
		return reshape(o, roll(o, reshape(o, a, a.Size()), shift, 0), a.Shape()...)
	}
	for _, axis := range axes {
		d, err := layout.Axis(axis, a.NDim())
		if err != nil {
			return o.Failed(err)
		}
		a = roll(o, a, shift, d)
	}
	return a
}

// RollAxes returns a with its elements shifted by shifts[i] along axes[i], as Roll, and as NumPy's roll with two tuples. An
// axis may occur twice. Lists of different lengths are ErrShape.
//
//gpk:row To other places | the same | all | the elements shifted along each of several axes by its own number
func RollAxes[A Operand](o Operation[A], a A, shifts, axes []int) A {
	err := o.Check()
	if err == nil && len(shifts) != len(axes) {
		err = layout.Errorf("%d shifts for %d axes", len(shifts), len(axes))
	}
	if err != nil {
		return o.Failed(err)
	}
	if len(axes) == 0 {
		return o.Cast(a, a.DType()) // not a itself: the result is a copy with any axes
	}
	for i, axis := range axes {
		d, err := layout.Axis(axis, a.NDim())
		if err != nil {
			return o.Failed(err)
		}
		a = roll(o, a, shifts[i], d)
	}
	return a
}

func roll[A Operand](o Operation[A], a A, shift, axis int) A {
	shape := a.Shape()
	if a.Size() == 0 {
		return o.Cast(a, a.DType())
	}
	n := shape[axis]
	shift = ((shift % n) + n) % n
	return o.Result(a.DType(), shape, "two strided copies", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		for _, p := range [...]struct{ from, to, length int }{{0, shift, n - shift}, {n - shift, 0, shift}} {
			if p.length == 0 {
				continue
			}
			source, target := reads[0], dst
			var err error
			if source.Layout, err = source.Layout.Slice(axis, p.from, p.from+p.length, 1); err != nil {
				return err
			}
			if target.Layout, err = target.Layout.Slice(axis, p.to, p.to+p.length, 1); err != nil {
				return err
			}
			if err := ops.Cast(s, target, source); err != nil {
				return err
			}
		}
		return nil
	})
}
