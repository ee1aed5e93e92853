package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// viewed returns a view of a with the layout that f computes.
func (a *Array) viewed(name string, where site, f func(layout.Layout) (layout.Layout, error)) *Array {
	c := call{name, where}
	var l layout.Layout
	err := a.check()
	if err == nil {
		l, err = f(a.lay)
	}
	if err != nil {
		return c.failed(err, a)
	}
	return a.with(l)
}

// Reshape returns the elements, in row-major order, with another shape; one length may be
// -1. It is a view if the strides allow it, else a copy.
func (a *Array) Reshape(shape ...int) *Array {
	c := call{"Reshape", here()}
	var want []int
	err := a.check()
	if err == nil {
		want, err = layout.Infer(shape, a.lay.Size())
	}
	if err != nil {
		return c.failed(err, a)
	}
	if l, ok := a.lay.Reshape(want); ok {
		return a.with(l)
	}
	if a = a.copied(c); a.err != nil {
		return a
	}
	return a.with(layout.Dense(want))
}

// Transpose returns a view with the axes permuted: axis i of the result is axis axes[i] of a. No axes reverses them.
func (a *Array) Transpose(axes ...int) *Array {
	return a.viewed("Transpose", here(), func(l layout.Layout) (layout.Layout, error) { return l.Transpose(axes) })
}

// T returns a view with the last two axes swapped; with fewer than two axes, a.
func (a *Array) T() *Array {
	return a.viewed("T", here(), func(l layout.Layout) (layout.Layout, error) { return l.T(), nil })
}

// Slice returns a view of the elements start, start+step, … before stop along one axis. Negative start and stop count
// from the end, and gpk.End as stop is the end. A negative step runs backwards, and gpk.End then includes the first
// element. Bounds outside the axis are ErrShape.
func (a *Array) Slice(axis, start, stop int, step ...int) *Array {
	return a.viewed("Slice", here(), func(l layout.Layout) (layout.Layout, error) {
		switch len(step) {
		case 0:
			return l.Slice(axis, start, stop, 1)
		case 1:
			return l.Slice(axis, start, stop, step[0])
		}
		return l, layout.Errorf("%d steps; an axis has at most one", len(step))
	})
}

// Squeeze returns a view without the named axes, each of length 1; no axes removes all axes of length 1.
func (a *Array) Squeeze(axes ...int) *Array {
	return a.viewed("Squeeze", here(), func(l layout.Layout) (layout.Layout, error) { return l.Squeeze(axes) })
}

// Unsqueeze returns a view with a new axis of length 1 before axis.
func (a *Array) Unsqueeze(axis int) *Array {
	return a.viewed("Unsqueeze", here(), func(l layout.Layout) (layout.Layout, error) { return l.Unsqueeze(axis) })
}

// BroadcastTo returns a view in which axes of length 1, and missing leading ones, are stretched to shape.
func (a *Array) BroadcastTo(shape ...int) *Array {
	return a.viewed("BroadcastTo", here(), func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(slices.Clone(shape)) })
}

// Contiguous returns a itself if its elements are dense in row-major order, else a dense copy.
func (a *Array) Contiguous() *Array {
	if a.check() == nil && a.lay.IsDense() {
		return a
	}
	return a.copied(call{"Contiguous", here()})
}

// Clone returns a dense copy.
func (a *Array) Clone() *Array { return a.copied(call{"Clone", here()}) }

// copied returns the pending dense copy of a, for a call.
func (a *Array) copied(c call) *Array { return a.castFor(c, a.DType()) }

// To returns the array on device d: a itself if it is there, else a dense copy. For a
// device that does not work, the array carries the device's error.
func (a *Array) To(d *device.Device) *Array {
	c := call{"To", here()}
	err := a.check()
	if err == nil && d == nil {
		err = fmt.Errorf("%w: no device", device.ErrDevice)
	}
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return c.failed(err, a)
	}
	if d == a.on() {
		return a
	}
	return a.to(&c, d)
}

// to copies the array to another device.
func (a *Array) to(c *call, d *device.Device) *Array {
	if r := recordingOn(a.stream); r != nil {
		return failedArray(r.refuse(c.fail(errWaits, a)))
	}
	if !a.lay.IsDense() {
		if a = a.copied(*c); a.err != nil {
			return a
		}
	}
	src, release, err := a.acquire()
	if err != nil {
		return c.failed(err, a)
	}
	defer release()
	s := d.DefaultStream()
	b := c.filled(s, a.dt, a.Shape(), fmt.Sprintf("copied from %v", a.on()), nil, func(dst device.View) error {
		return d.Copy(dst.Buffer, 0, src.Buffer, src.Start(), src.NBytes(), s)
	})
	b.ownedBy(a.scopeNow())
	return b
}

// Unstack returns one view for each index of the first axis, without that axis. It makes them all at once, at a
// fraction of the cost of as many calls of Slice. It returns nil for an array that carries an error or has no axis.
func Unstack(a *Array) []*Array {
	if a.check() != nil || a.NDim() == 0 {
		return nil
	}
	lay := a.lay
	step := lay.Strides[0]
	if lay.Size() == 0 {
		step = 0 // an empty view keeps its offset, which stays inside the buffer
	}
	views, out := make([]Array, lay.Shape[0]), make([]*Array, lay.Shape[0])
	for i := range views {
		at := layout.Layout{Shape: lay.Shape[1:], Strides: lay.Strides[1:], Offset: lay.Offset + i*step}
		views[i] = Array{st: a.st, lay: at, dt: a.dt, stream: a.stream, in: a.in}
		out[i] = &views[i]
	}
	return out
}
