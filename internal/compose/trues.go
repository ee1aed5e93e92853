package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

const onePass = "one pass over a mask"

// trues is a Bool array with one axis, or a dense one, whose true elements have been counted.
type trues[A Operand] struct {
	reads []A // the array, and on a GPU the offsets of its tiles
	count int
	lead  bool // as in ops.Mask
}

// truesOf counts the true elements of a Bool array, and waits for their number.
func truesOf[A Operand](o Operation[A], mask A, lead bool) (t trues[A], err error) {
	if !onGPU(mask) {
		count, err := o.Wait(o.Reduce(expr.Sum, mask, nil))
		if err != nil {
			return t, err
		}
		return trues[A]{reads: []A{mask}, count: int(count[0])}, nil
	}
	mask = dense(o, mask)
	parts := []Part{{dtype.Int64, []int{ops.MaskTiles(mask.Size())}}, {dtype.Int64, []int{1}}}
	out, err := o.Several(parts, "a count of true elements", []A{mask}, func(s *device.Stream, dst, reads []device.View) error {
		return ops.CountTrues(s, dst[0], dst[1], reads[0], lead)
	})
	if err != nil {
		return t, err
	}
	count, err := o.Wait(out[1])
	if err != nil {
		return t, err
	}
	return trues[A]{reads: []A{mask, out[0]}, count: int(count[0]), lead: lead}, nil
}

// mask returns the views of t.reads for package ops.
func (t *trues[A]) mask(views []device.View) ops.Mask {
	m := ops.Mask{View: views[0], Lead: t.lead}
	if len(t.reads) > 1 {
		m.Offsets = views[1]
	}
	return m
}

// write returns an array with one element for each true element. run writes it. reads are the views of more.
func (t *trues[A]) write(o Operation[A], dt dtype.DType, more []A, run func(s *device.Stream, dst device.View, m ops.Mask, reads []device.View) error) A {
	if t.count == 0 {
		return filled(o, dt, 0, []int{0})
	}
	n := len(t.reads)
	return o.Result(dt, []int{t.count}, onePass, append(t.reads[:n:n], more...), func(s *device.Stream, dst device.View, reads []device.View) error {
		if s.Device().Kind() == device.CPU {
			return run(s, dst, t.mask(reads), reads[n:])
		}
		return written(s, dst, func(dst device.View) error { return run(s, dst, t.mask(reads), reads[n:]) })
	})
}

// places returns the indices of the true elements, Int64.
func (t *trues[A]) places(o Operation[A]) A {
	return t.write(o, dtype.Int64, nil, func(s *device.Stream, dst device.View, m ops.Mask, _ []device.View) error {
		return ops.Trues(s, dst, m)
	})
}

// placesOf returns the indices at which a Bool array with one axis is true. It waits for their number.
func placesOf[A Operand](o Operation[A], mask A) (at A, err error) {
	if mask.Size() == 0 {
		return filled(o, dtype.Int64, 0, []int{0}), nil
	}
	t, err := truesOf(o, mask, false)
	if err != nil {
		return at, err
	}
	if composedHere(mask) {
		return largest(o, mask, t.count, 0), nil // true is larger than false
	}
	return t.places(o), nil
}
