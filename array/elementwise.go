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
	if err := op.operands(a); err != nil {
		return failed(err)
	}
	op.code, op.run = code, runUnary
	op.strided, op.alias, op.how = true, samePlaces, oneKernel
	return op.resultOf(a, dt)
}

const oneKernel = "one element-wise kernel"

func runUnary(o *operation, s *device.Stream, dst device.View) error {
	return ops.Apply1(s, o.code, dst, o.views[0])
}

func runBinary(o *operation, s *device.Stream, dst device.View) error {
	return ops.Apply2(s, o.code, dst, o.views[0], o.views[1])
}

func runScalar(o *operation, s *device.Stream, dst device.View) error {
	return ops.ApplyScalar(s, o.code, dst, o.views[0], o.scalar, o.scalarFirst)
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
	if err := op.operands(a, b); err != nil {
		return failed(err)
	}
	op.code, op.run = code, runBinary
	op.strided, op.alias, op.how = true, samePlaces, oneKernel
	if slices.Equal(a.lay.Shape, b.lay.Shape) {
		return op.resultOf(a, dt)
	}
	shape, err := layout.Broadcast(a.lay.Shape, b.lay.Shape)
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err != nil {
		return failed(op.fail(err))
	}
	for i := range op.views {
		if op.views[i].Layout, err = op.views[i].Layout.BroadcastTo(shape); err != nil {
			return failed(op.fail(err))
		}
	}
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
	if op.scalar, err = scalar(a.dt, number); err != nil {
		return failed(op.fail(err))
	}
	if err := op.operands(a); err != nil {
		return failed(err)
	}
	op.code, op.scalarFirst, op.run = code, first, runScalar
	op.strided, op.alias, op.how = true, samePlaces, oneKernel
	return op.resultOf(a, dt)
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
	if err := op.operands(a); err != nil {
		return failed(err)
	}
	op.strided, op.alias, op.how, op.run = true, samePlaces, oneKernel, runCast
	return op.resultOf(a, dt)
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
	if err := op.operands(a); err != nil {
		return failed(err)
	}
	shape := []int{}
	for d, n := range a.lay.Shape {
		if !set[d] {
			shape = append(shape, n)
		}
	}
	op.code, op.axes, op.how = expr.Sum, set, "one reduction, its tree fixed by shape and type"
	op.run = func(o *operation, s *device.Stream, dst device.View) error {
		return ops.Reduce(s, o.code, dst, o.views[0], o.axes)
	}
	return op.result(a.v.dev, a.stream, dt, shape)
}
