package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const oneLine = "one kernel along an axis"

// along holds the parameters of an operation along one axis.
type along struct {
	axis        int
	gamma, beta int // operand indices, 0 for none
	eps         float64
}

// weight returns the view of gamma or beta, zero for operand 0.
func (j *job) weight(k int) (v device.View) {
	if k > 0 {
		v = j.view(k)
	}
	return v
}

// line returns the result of softmax or a norm along the last axis. On a GPU the kernel can
// compute the chain of its first operand while it reads it.
func (o *node) line(code expr.Op, l *along, dt dtype.DType, as ...*Array) *Array {
	steps := 0
	o.code, o.along, o.strided, o.how = code, l, true, oneLine
	if as[0].on().Kind() != device.CPU {
		o.fusion, steps = rowwise, 1
	}
	return o.result(streamOf(as...), dt, as[0].dense(), steps, as...)
}

// along returns the pending result of an operation along an axis.
func (a *Array) along(code expr.Op, where site, axis int) *Array {
	c := call{code.String(), where}
	dt, err := typeOf(code, a)
	if err == nil {
		axis, err = layout.Axis(axis, a.NDim())
	}
	if err != nil {
		return c.failed(err, a)
	}
	op := newNode(c)
	op.aliases = true
	op.run = func(o *job, s *device.Stream, dst device.View) error { return ops.Along(s, code, dst, o.view(0), axis) }
	if code != expr.CumSum && axis == a.NDim()-1 {
		return op.line(code, &along{axis: axis}, dt, a)
	}
	op.strided, op.how = true, oneLine
	return op.result(a.stream, dt, a.dense(), 0, a)
}

// Norm returns LayerNorm or RMSNorm of x along the last axis, rounded once. gamma and beta
// have x's type and that axis' length; nil stands for 1 and 0. RMSNorm has no beta.
func Norm(code expr.Op, x, gamma, beta *Array, eps float64) *Array {
	c := call{code.String(), here()}
	operands := []*Array{x}
	weights := [2]int{} // operand indices of gamma and beta, 0 for none
	var shapes [][]int
	for i, w := range []*Array{gamma, beta} {
		if w != nil {
			weights[i] = len(operands)
			operands, shapes = append(operands, w), append(shapes, w.lay.Shape)
		}
	}
	dt, err := typeOf(code, x)
	if err == nil {
		err = match(operands...)
	}
	if err == nil {
		err = ops.CheckNorm(x.lay.Shape, shapes...)
	}
	if err != nil {
		return c.failed(err, operands...)
	}
	// Kernels read the weights as dense memory.
	for i, w := range operands[1:] {
		operands[1+i] = w.Contiguous()
	}
	op := newNode(c)
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Norm(s, code, dst, o.view(0), o.weight(o.along.gamma), o.weight(o.along.beta), eps)
	}
	return op.line(code, &along{axis: x.NDim() - 1, gamma: weights[0], beta: weights[1], eps: eps}, dt, operands...)
}
