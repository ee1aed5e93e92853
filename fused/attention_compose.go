package fused

import (
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// composedScores bounds the memory for scores, in elements. The KV heads of a sequence are
// computed in groups that need no more than this, or one by one.
const composedScores = 128 << 20

// composeInto is compose for a Dst that is in use: if memory runs out halfway, nothing was
// written to it.
func (a *Attention) composeInto(s *device.Stream, offsets []int32) error {
	return aside(s, a.Dst, func(dst device.View) error {
		to := *a
		to.Dst = dst
		return to.compose(s, offsets)
	})
}

// compose computes the attention by plain operations. It computes each sequence separately
// and from dense copies. The products of a sequence then do not depend on the rest of the
// batch or on the layout, and give the same bits.
//
// Scores and weights are float32, or float64 for Float64. For half types the weights are
// rounded to the type before they are multiplied with the values. Unlike on the CPU, a
// value that is not finite spreads to queries that cannot see its key.
func (a *Attention) compose(s *device.Stream, offsets []int32) error {
	if a.Dst.Layout.Size() == 0 {
		return nil
	}
	p := a.Problem()
	for i := range p.Batch {
		one := composedSequence{temporaries: temporaries{stream: s}, AttentionOptions: a.AttentionOptions}
		one.Scale = a.scale()
		var err error
		for _, v := range []struct{ to, from *device.View }{{&one.q, &a.Q}, {&one.k, &a.K}, {&one.v, &a.V}, {&one.dst, &a.Dst}, {&one.mask, &a.Mask}} {
			*v.to = *v.from
			if !v.from.DType.Valid() {
				continue
			}
			if offsets == nil {
				v.to.Layout, err = sequenceOf(v.from.Layout, 0, i, i+1)
				v.to.Layout.Shape, v.to.Layout.Strides = v.to.Layout.Shape[1:], v.to.Layout.Strides[1:]
			} else {
				v.to.Layout, err = sequenceOf(v.from.Layout, 1, int(offsets[i]), int(offsets[i+1]))
			}
			if err != nil {
				return err
			}
		}
		if err := one.run(); err != nil {
			return err
		}
	}
	return nil
}

// sequenceOf returns the part of a layout from start to stop along an axis.
func sequenceOf(l layout.Layout, axis, start, stop int) (layout.Layout, error) {
	return l.Slice(axis, start, stop, 1)
}

// composedSequence is the attention of one sequence. Its views are [heads, rows, dim], and
// its mask is [heads, queries, keys].
type composedSequence struct {
	AttentionOptions
	temporaries
	dst, q, k, v, mask device.View
}

// run computes the sequence, some KV heads at a time.
func (c *composedSequence) run() error {
	heads, kv := c.q.Layout.Shape[0], c.k.Layout.Shape[0]
	n, m := c.q.Layout.Shape[1], c.k.Layout.Shape[1]
	if c.dst.Layout.Size() == 0 {
		return nil
	}
	if m == 0 {
		return ops.Fill(c.stream, c.dst, ops.Scalar{})
	}
	group := heads / kv
	step := min(max(composedScores/max(group*n*m, 1), 1), kv)
	for at := 0; at < kv; at += step {
		part := *c
		part.bufs = nil
		end := min(at+step, kv)
		for _, v := range []*device.View{&part.k, &part.v} {
			v.Layout = grouped(v.Layout, at, end, 1)
		}
		part.q.Layout, part.dst.Layout = grouped(c.q.Layout, at, end, group), grouped(c.dst.Layout, at, end, group)
		if c.mask.DType.Valid() {
			part.mask.Layout = grouped(c.mask.Layout, at, end, group)
		}
		err := part.heads()
		part.free()
		if err != nil {
			return err
		}
	}
	return nil
}

// grouped returns a view of the heads, the first axis of l, as [KV heads from at to end,
// group].
func grouped(l layout.Layout, at, end, group int) layout.Layout {
	step := l.Strides[0]
	return layout.Layout{
		Shape:   append([]int{end - at, group}, l.Shape[1:]...),
		Strides: append([]int{step * group, step}, l.Strides[1:]...),
		Offset:  l.Offset + at*group*step,
	}
}

// alignment is the alignment of every operand of the products, in bytes.
const alignment = 256

// settled returns v itself if it is dense and aligned, else a dense and aligned copy.
func (c *composedSequence) settled(v device.View) (device.View, error) {
	if v.Layout.Size() == 0 || v.Dense() && v.Addr()%alignment == 0 {
		return v, nil
	}
	w, err := c.temporary(v.DType, v.Layout.Shape...)
	if err == nil && w.Layout.Size() > 0 {
		err = ops.Cast(c.stream, w, v)
	}
	return w, err
}

// heads computes a group of heads. Its views are [KV heads, group, rows, dim].
func (c *composedSequence) heads() (err error) {
	for _, v := range []*device.View{&c.q, &c.k, &c.v} {
		if *v, err = c.settled(*v); err != nil {
			return err
		}
	}
	shape := append([]int{}, c.q.Layout.Shape...)
	n, m := shape[2], c.k.Layout.Shape[2]
	shape[3] = m
	computed := dtype.Float32
	if c.q.DType == dtype.Float64 {
		computed = dtype.Float64
	}
	scores, err := c.temporary(computed, shape...)
	if err != nil {
		return err
	}
	keys := c.k
	keys.Layout = keys.Layout.T()
	if err := c.product(scores, c.q, keys); err != nil {
		return err
	}
	weights, err := c.weights(scores, n, m)
	if err != nil {
		return err
	}
	dst := c.dst
	if !dst.Dense() || dst.Addr()%alignment != 0 {
		if dst, err = c.temporary(dst.DType, dst.Layout.Shape...); err != nil {
			return err
		}
	}
	err = c.product(dst, weights, c.v)
	if err == nil && dst.Buffer != c.dst.Buffer {
		err = ops.Cast(c.stream, c.dst, dst)
	}
	return err
}

// weights turns n x m scores into the weights of the values, by scale, mask and softmax.
// The result has the type of the queries.
func (c *composedSequence) weights(scores device.View, n, m int) (device.View, error) {
	scale, err := ops.ScalarOf(scores.DType, c.Scale, "")
	if err == nil {
		err = ops.ApplyScalar(c.stream, expr.Mul, scores, scores, scale, false)
	}
	if err == nil {
		err = c.masked(scores, n, m)
	}
	if err == nil {
		err = c.softmax(scores)
	}
	if err != nil || c.q.DType == scores.DType {
		return scores, err
	}
	weights, err := c.temporary(c.q.DType, scores.Layout.Shape...)
	if err == nil {
		err = ops.Cast(c.stream, weights, scores)
	}
	return weights, err
}

// product computes dst = a b, with b broadcast over the group.
func (c *composedSequence) product(dst, a, b device.View) error {
	if a.Layout.Shape[3] == 0 {
		return ops.Fill(c.stream, dst, ops.Scalar{})
	}
	var err error
	shape := append(append([]int{}, dst.Layout.Shape[:2]...), b.Layout.Shape[2:]...)
	if b.Layout, err = b.Layout.BroadcastTo(shape); err != nil {
		return err
	}
	p := matmul.Product{D: dst, A: a, B: b, Precision: c.Precision}
	return p.Run(c.stream)
}

// masked applies the mask to the scores: the score of a key that a query cannot see becomes
// -Inf.
func (c *composedSequence) masked(scores device.View, n, m int) error {
	var err error
	switch c.mask.DType {
	case dtype.Invalid:
	case dtype.Bool:
		err = c.hide(scores, c.mask)
	default:
		err = ops.Apply2(c.stream, expr.Add, scores, scores, c.mask)
	}
	if err != nil || !c.Causal {
		return err
	}
	places := [2]device.View{}
	for i, axis := range []struct {
		length int
		start  float64
	}{{n, float64(m - n)}, {m, 0}} {
		if places[i], err = c.temporary(dtype.Int64, axis.length); err != nil {
			return err
		}
		if err := ops.Arange(c.stream, places[i], axis.start, 1); err != nil {
			return err
		}
	}
	seen, err := c.temporary(dtype.Bool, n, m)
	if err != nil {
		return err
	}
	rows := places[0]
	rows.Layout = layout.Layout{Shape: []int{n, 1}, Strides: []int{1, 1}}
	if err := ops.Apply2(c.stream, expr.Le, seen, places[1], rows); err != nil {
		return err
	}
	return c.hide(scores, seen)
}

// hide sets the scores to -Inf where seen is false.
func (c *composedSequence) hide(scores, seen device.View) error {
	least, err := ops.ScalarOf(scores.DType, math.Inf(-1), "")
	if err != nil {
		return err
	}
	return ops.Apply3(c.stream, expr.Where, scores, seen, ops.Operand{View: scores}, ops.Operand{Scalar: least})
}

// softmax replaces the scores by their softmax along the last axis. A row that is -Inf
// everywhere becomes 0.
func (c *composedSequence) softmax(scores device.View) error {
	shape := scores.Layout.Shape
	largest, err := c.temporary(scores.DType, shape[:3]...)
	if err != nil {
		return err
	}
	blind, err := c.temporary(dtype.Bool, shape[:3]...)
	if err != nil {
		return err
	}
	least, err := ops.ScalarOf(scores.DType, math.Inf(-1), "")
	if err == nil {
		err = ops.Reduce(c.stream, expr.Max, largest, scores, []bool{false, false, false, true})
	}
	if err == nil {
		err = ops.ApplyScalar(c.stream, expr.Eq, blind, largest, least, false)
	}
	if err == nil {
		err = ops.Along(c.stream, expr.Softmax, scores, scores, 3)
	}
	if err != nil {
		return err
	}
	if blind.Layout, err = blind.Layout.Unsqueeze(3); err != nil {
		return err
	}
	return ops.Apply3(c.stream, expr.Where, scores, blind, ops.Operand{}, ops.Operand{View: scores})
}
