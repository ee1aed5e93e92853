package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// unary is the open result of an operation of the table on one array.
func unary(code expr.Op, where site, a *Array) *Array {
	op := newOp(code.String(), where, a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	views, err := op.operands(a)
	if err != nil {
		return failed(err)
	}
	x := views[0]
	op.strided, op.alias = true, elementwise(views)
	op.explain = func() string { return op.name + ": one element-wise kernel" }
	op.run = func(s *device.Stream, dst device.View) error { return ops.Apply1(s, code, dst, x) }
	return op.result(a.v.dev, a.stream, dt, slices.Clone(a.lay.Shape))
}

// binary is the open result of an operation of the table on two operands, of
// which at least one is an array and the other may be a number.
func binary(code expr.Op, where site, a, b any) *Array {
	x, xIsArray := a.(*Array)
	y, yIsArray := b.(*Array)
	switch {
	case xIsArray && yIsArray:
		return binaryArrays(code, where, x, y)
	case xIsArray:
		return binaryScalar(code, where, x, b, false)
	case yIsArray:
		return binaryScalar(code, where, y, a, true)
	}
	return failed(newOp(code.String(), where).fail(fmt.Errorf("%w: neither %T nor %T is an *Array", dtype.ErrDType, a, b)))
}

func binaryArrays(code expr.Op, where site, a, b *Array) *Array {
	op := newOp(code.String(), where, a, b)
	if err := op.first(a, b); err != nil {
		return failed(err)
	}
	if err := sameType(a, b); err != nil {
		return failed(op.fail(err))
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	shape, err := layout.Broadcast(a.lay.Shape, b.lay.Shape)
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err != nil {
		return failed(op.fail(err))
	}
	views, err := op.operands(a, b)
	if err != nil {
		return failed(err)
	}
	for i := range views {
		if views[i].Layout, err = views[i].Layout.BroadcastTo(shape); err != nil {
			return failed(op.fail(err))
		}
	}
	x, y := views[0], views[1]
	op.strided, op.alias = true, elementwise(views)
	op.explain = func() string { return op.name + ": one element-wise kernel" }
	op.run = func(s *device.Stream, dst device.View) error { return ops.Apply2(s, code, dst, x, y) }
	return op.result(a.v.dev, a.stream, dt, shape)
}

func binaryScalar(code expr.Op, where site, a *Array, number any, first bool) *Array {
	op := newOp(code.String(), where, a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	value, err := scalar(a.dt, number)
	if err != nil {
		return failed(op.fail(err))
	}
	views, err := op.operands(a)
	if err != nil {
		return failed(err)
	}
	x := views[0]
	op.strided, op.alias = true, elementwise(views)
	op.explain = func() string { return op.name + ": one element-wise kernel with a number" }
	op.run = func(s *device.Stream, dst device.View) error { return ops.ApplyScalar(s, code, dst, x, value, first) }
	return op.result(a.v.dev, a.stream, dt, slices.Clone(a.lay.Shape))
}

// Add returns a + b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Add(b any) *Array { return binary(expr.Add, here(), a, b) }

// Sub returns a - b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Sub(b any) *Array { return binary(expr.Sub, here(), a, b) }

// Mul returns the product of a and b element by element, broadcast. b is an
// *Array of a's type or a number.
func (a *Array) Mul(b any) *Array { return binary(expr.Mul, here(), a, b) }

// Div returns a / b, broadcast; integers are ErrDType. b is an *Array of a's
// type or a number.
func (a *Array) Div(b any) *Array { return binary(expr.Div, here(), a, b) }

// Neg returns -a; integers wrap.
func (a *Array) Neg() *Array { return unary(expr.Neg, here(), a) }

// Conj returns the complex conjugate; real types are unchanged.
func (a *Array) Conj() *Array { return unary(expr.Conj, here(), a) }

// ReLU returns max(a, 0); NaN stays NaN.
func (a *Array) ReLU() *Array { return unary(expr.ReLU, here(), a) }

// GELU returns a/2 (1 + erf(a/sqrt 2)), for real floating-point types.
func (a *Array) GELU() *Array { return unary(expr.GELU, here(), a) }

// GELUTanh returns a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).
func (a *Array) GELUTanh() *Array { return unary(expr.GELUTanh, here(), a) }

// SiLU returns a / (1 + exp(-a)).
func (a *Array) SiLU() *Array { return unary(expr.SiLU, here(), a) }

// Cast returns the elements converted to dt: to integers truncated and
// saturated with NaN as 0, to Bool x != 0, from complex to real the real part.
func (a *Array) Cast(dt dtype.DType) *Array {
	op := newOp("Cast", here(), a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	if !dt.Valid() {
		return failed(op.fail(fmt.Errorf("%w: Cast to %v", dtype.ErrDType, dt)))
	}
	views, err := op.operands(a)
	if err != nil {
		return failed(err)
	}
	x := views[0]
	op.strided, op.alias = true, elementwise(views)
	op.explain = func() string { return "Cast: one element-wise kernel" }
	op.run = func(s *device.Stream, dst device.View) error { return ops.Cast(s, dst, x) }
	return op.result(a.v.dev, a.stream, dt, slices.Clone(a.lay.Shape))
}

// Sum adds over axes, which the result lacks; no axes means all. Halves
// accumulate in float32 and keep their type, integers and Bool give Int64. The
// order of additions depends on shape and type alone.
func (a *Array) Sum(axes ...int) *Array {
	op := newOp("Sum", here(), a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	dt, err := ops.Lookup(expr.Sum).Check(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	set, err := layout.Axes(axes, a.NDim())
	if err != nil {
		return failed(op.fail(err))
	}
	views, err := op.operands(a)
	if err != nil {
		return failed(err)
	}
	shape := []int{}
	for d, n := range a.lay.Shape {
		if !set[d] {
			shape = append(shape, n)
		}
	}
	x := views[0]
	op.alias = disjoint(views)
	op.explain = func() string { return "Sum: one reduction over a tree fixed by shape and type" }
	op.run = func(s *device.Stream, dst device.View) error { return ops.Reduce(s, expr.Sum, dst, x, set) }
	return op.result(a.v.dev, a.stream, dt, shape)
}
