package fused

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// composedTable bounds each of the two tables of a composed rotary embedding, in elements.
// Rows are computed in groups that need no more than this, or one by one.
const composedTable = 8 << 20

// rotary holds the operands and temporaries of a composed rotary embedding. Its views have
// four axes.
type rotary struct {
	*RoPE
	temporaries
	dst, x      device.View // [batch, heads, rows, dim]
	positions   device.View // [1, rows] or [batch, rows]
	frequencies device.View // Float64 [pairs]
	computed    dtype.DType
}

// compose computes the embedding by plain operations. Angles are float64. Their cosines and
// sines are computed in float64 and rounded to float32, the type of the computation for all
// types except Float64. For float32 the two products and their sum are each rounded. table
// bounds the elements of a table, except that a table always holds one row.
func (r *RoPE) compose(s *device.Stream, table int) (err error) {
	c := &rotary{RoPE: r, temporaries: temporaries{stream: s}, dst: r.Dst, x: r.X, positions: r.Positions, computed: dtype.Float32}
	defer c.free()
	if r.X.DType == dtype.Float64 {
		c.computed = dtype.Float64
	}
	if len(r.X.Layout.Shape) == 3 {
		for _, v := range []*device.View{&c.dst, &c.x} {
			if v.Layout, err = v.Layout.Unsqueeze(0); err != nil {
				return err
			}
		}
	}
	turned, dim := r.turned(), c.x.Layout.Shape[3]
	if turned < dim {
		if err := ops.Cast(s, cutAxis(c.dst, 3, turned, dim, 1), cutAxis(c.x, 3, turned, dim, 1)); err != nil {
			return err
		}
	}
	if turned == 0 {
		return nil
	}
	if err := c.placed(); err != nil {
		return err
	}
	if err := c.frequency(turned); err != nil {
		return err
	}
	rows := c.x.Layout.Shape[2]
	step := max(table/(c.positions.Layout.Shape[0]*turned/2), 1)
	for at := 0; at < rows; at += step {
		if err := c.rows(at, min(at+step, rows), turned); err != nil {
			return err
		}
	}
	return nil
}

// cutAxis returns the elements of a view from start to stop along an axis. The bounds must
// be within the axis.
func cutAxis(v device.View, axis, start, stop, step int) device.View {
	v.Layout, _ = v.Layout.Slice(axis, start, stop, step)
	return v
}

// placed makes the positions a matrix. If none were given, it makes 0, 1, ….
func (c *rotary) placed() (err error) {
	if !c.positions.DType.Valid() {
		if c.positions, err = c.temporary(dtype.Int64, c.x.Layout.Shape[2]); err == nil {
			err = ops.Arange(c.stream, c.positions, 0, 1)
		}
	}
	if err == nil && len(c.positions.Layout.Shape) == 1 {
		c.positions.Layout, err = c.positions.Layout.Unsqueeze(0)
	}
	return err
}

// frequency computes the frequencies as RoPEOptions.Frequencies does.
func (c *rotary) frequency(turned int) (err error) {
	if c.frequencies, err = c.temporary(dtype.Float64, turned/2); err != nil {
		return err
	}
	f := c.frequencies
	apply := func(op expr.Op, dst, x device.View, number float64, first bool) {
		var v ops.Scalar
		if err == nil {
			v, err = ops.ScalarOf(dtype.Float64, number, "")
		}
		if err == nil {
			err = ops.ApplyScalar(c.stream, op, dst, x, v, first)
		}
	}
	err = ops.Arange(c.stream, f, 0, -2)
	apply(expr.Div, f, f, float64(turned), false)
	apply(expr.Pow, f, f, c.base(), true)
	if c.Scaling == nil || err != nil {
		return err
	}
	var w device.View
	if w, err = c.temporary(dtype.Float64, turned/2); err != nil {
		return err
	}
	apply(expr.Mul, w, f, c.Scaling.turns(), false)
	apply(expr.Sub, w, w, c.Scaling.LowFreqFactor, false)
	apply(expr.Div, w, w, c.Scaling.HighFreqFactor-c.Scaling.LowFreqFactor, false)
	apply(expr.Maximum, w, w, 0, false)
	apply(expr.Minimum, w, w, 1, false)
	apply(expr.Mul, w, w, 1-1/c.Scaling.Factor, false)
	apply(expr.Add, w, w, 1/c.Scaling.Factor, false)
	if err == nil {
		err = ops.Apply2(c.stream, expr.Mul, f, f, w)
	}
	return err
}

// rows computes the rows from start to stop of every head.
func (c *rotary) rows(start, stop, turned int) error {
	mark := len(c.bufs)
	defer func() {
		for _, b := range c.bufs[mark:] {
			b.Free()
		}
		c.bufs = c.bufs[:mark]
	}()
	cos, err := c.table(expr.Cos, start, stop)
	if err != nil {
		return err
	}
	sin, err := c.table(expr.Sin, start, stop)
	if err != nil {
		return err
	}
	x, dst := cutAxis(c.x, 2, start, stop, 1), cutAxis(c.dst, 2, start, stop, 1)
	half := func(v device.View, i int) device.View {
		if c.Interleaved {
			return cutAxis(v, 3, i, turned, 2)
		}
		return cutAxis(v, 3, i*turned/2, (i+1)*turned/2, 1)
	}
	if err := c.pair(expr.Sub, half(dst, 0), half(x, 0), cos, half(x, 1), sin); err != nil {
		return err
	}
	return c.pair(expr.Add, half(dst, 1), half(x, 1), cos, half(x, 0), sin)
}

// table computes the cosines or sines of the angles of some rows, and broadcasts them to
// [batch, heads, rows, pairs].
func (c *rotary) table(op expr.Op, start, stop int) (device.View, error) {
	p := cutAxis(c.positions, 1, start, stop, 1)
	shape := append(append([]int{}, p.Layout.Shape...), c.frequencies.Layout.Size())
	dst, err := c.temporary(c.computed, shape...)
	if err != nil {
		return dst, err
	}
	p.Layout, err = p.Layout.Unsqueeze(2)
	if err != nil {
		return dst, err
	}
	k := newSteps(shape)
	angle := k.step(expr.Mul, dtype.Float64, k.step(expr.None, dtype.Float64, k.leaf(p)), k.leaf(c.frequencies))
	k.cast(c.computed, k.step(op, dtype.Float64, angle), dtype.Float64)
	if err := k.run(c.stream, dst); err != nil {
		return dst, err
	}
	if dst.Layout, err = dst.Layout.Unsqueeze(1); err != nil {
		return dst, err
	}
	to := append([]int{}, c.x.Layout.Shape...)
	to[2], to[3] = stop-start, shape[2]
	dst.Layout, err = dst.Layout.BroadcastTo(to)
	return dst, err
}

// pair computes dst = x cos ± y sin.
func (c *rotary) pair(op expr.Op, dst, x, cos, y, sin device.View) error {
	k := newSteps(dst.Layout.Shape)
	t := c.x.DType
	first := k.step(expr.Mul, c.computed, k.cast(c.computed, k.leaf(x), t), k.leaf(cos))
	second := k.step(expr.Mul, c.computed, k.cast(c.computed, k.leaf(y), t), k.leaf(sin))
	k.cast(t, k.step(op, c.computed, first, second), c.computed)
	return k.run(c.stream, dst)
}

// steps is a Builder that keeps its first error and broadcasts leaves to its shape.
type steps struct {
	*Builder
	shape []int
	err   error
}

func newSteps(shape []int) *steps { return &steps{Builder: NewBuilder(shape), shape: shape} }

func (k *steps) leaf(v device.View) (r Ref) {
	if k.err == nil {
		v.Layout, k.err = v.Layout.BroadcastTo(k.shape)
	}
	if k.err == nil {
		r, k.err = k.Leaf(v)
	}
	return r
}

func (k *steps) step(op expr.Op, dt dtype.DType, args ...Ref) (r Ref) {
	if k.err == nil {
		r, k.err = k.Step(op, dt, args...)
	}
	return r
}

// cast converts from one type to another, if they differ.
func (k *steps) cast(to dtype.DType, r Ref, from dtype.DType) Ref {
	if to == from {
		return r
	}
	return k.step(expr.None, to, r)
}

// run computes the last step into dst.
func (k *steps) run(s *device.Stream, dst device.View) error {
	if k.err != nil {
		return k.err
	}
	return k.Elementwise(dst).Run(s)
}
