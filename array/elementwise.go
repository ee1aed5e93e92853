package array

import (
	"fmt"
	"reflect"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// unaryOp is the result of an operation of the table on one array.
func unaryOp(code expr.Op, a *Array) *Array {
	c := call{code.String(), here()}
	dt, err := typeOf(code, a)
	if err != nil {
		return c.failed(err, a)
	}
	return elementwise(c, rule{code: code, run: runUnary}, dt, a)
}

const oneKernel = "one element-wise kernel"

func runUnary(o *job, s *device.Stream, dst device.View) error {
	return ops.Apply1(s, o.code, dst, o.view(0))
}

func runBinary(o *job, s *device.Stream, dst device.View) error {
	return ops.Apply2(s, o.code, dst, o.view(0), o.view(1))
}

func runScalar(o *job, s *device.Stream, dst device.View) error {
	return ops.ApplyScalar(s, o.code, dst, o.view(0), o.scalar, o.scalarFirst)
}

// elementwise is the result of an operation on arrays, broadcast to one shape.
func elementwise(c call, k rule, dt dtype.DType, as ...*Array) *Array {
	lay, err := as[0].dense(), error(nil)
	if len(as) > 1 {
		lay, err = meet(as[0], as[1])
	}
	if err != nil {
		return c.failed(err, as...)
	}
	n := newNode(c)
	n.rule, n.fusion = k, pointwise
	n.strided, n.alias, n.how = true, sameElements, oneKernel
	return n.result(streamOf(as...), dt, lay, len(as), as...)
}

// meet is the dense layout of the shape to which a and b are broadcast.
func meet(a, b *Array) (layout.Layout, error) {
	switch {
	case layout.Widens(b.lay.Shape, a.lay.Shape):
		return a.dense(), nil
	case layout.Widens(a.lay.Shape, b.lay.Shape):
		return b.dense(), nil
	}
	shape, err := layout.Broadcast(a.lay.Shape, b.lay.Shape)
	if err == nil {
		_, err = layout.Size(shape)
	}
	return layout.Dense(shape), err
}

// Binary returns the result of an operation on two operands, broadcast. At least one is
// an *Array, and the other may be a number, so that 1 - a can be written. An operation
// that is not one of two operands is ErrUnsupported. The functions of package gpk that
// take (a, b any) are this one.
func Binary(code expr.Op, a, b any) *Array {
	c := call{code.String(), here()}
	x, xIsArray := a.(*Array)
	y, yIsArray := b.(*Array)
	row := ops.Lookup(code)
	switch {
	case row == nil || row.Kind != ops.Binary:
		return c.failed(fmt.Errorf("%w: it is no operation of two operands", expr.ErrUnsupported))
	case xIsArray && yIsArray:
		return binaryArrays(c, code, x, y)
	case xIsArray:
		return binaryScalar(c, code, x, b, false)
	case yIsArray:
		return binaryScalar(c, code, y, a, true)
	}
	return c.failed(fmt.Errorf("%w: neither %v nor %v is an *Array", dtype.ErrDType, reflect.TypeOf(a), reflect.TypeOf(b)))
}

func binaryArrays(c call, code expr.Op, a, b *Array) *Array {
	dt, err := dtype.Invalid, match(a, b)
	if err == nil {
		dt, err = ops.Lookup(code).Check(a.dt)
	}
	if err != nil {
		return c.failed(err, a, b)
	}
	return elementwise(c, rule{code: code, run: runBinary}, dt, a, b)
}

func binaryScalar(c call, code expr.Op, a *Array, number any, first bool) *Array {
	dt, err := typeOf(code, a)
	k := rule{code: code, run: runScalar, numbered: true, scalarFirst: first}
	if err == nil {
		k.scalar, err = scalar(a.dt, number)
	}
	if err != nil {
		return c.failed(err, a)
	}
	return elementwise(c, k, dt, a)
}

// Add returns a + b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Add(b any) *Array { return Binary(expr.Add, a, b) }

// Sub returns a - b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Sub(b any) *Array { return Binary(expr.Sub, a, b) }

// Mul returns the product of a and b element by element, broadcast. b is an
// *Array of a's type or a number.
func (a *Array) Mul(b any) *Array { return Binary(expr.Mul, a, b) }

// Div returns a / b, broadcast; integers are ErrDType. b is an *Array of a's
// type or a number.
func (a *Array) Div(b any) *Array { return Binary(expr.Div, a, b) }

// Neg returns -a; integers wrap.
func (a *Array) Neg() *Array { return unaryOp(expr.Neg, a) }

// Conj returns the complex conjugate; real types are unchanged.
func (a *Array) Conj() *Array { return unaryOp(expr.Conj, a) }

// ReLU returns max(a, 0); NaN stays NaN.
func (a *Array) ReLU() *Array { return unaryOp(expr.ReLU, a) }

// GELU returns a/2 (1 + erf(a/sqrt 2)), for real floating-point types.
func (a *Array) GELU() *Array { return unaryOp(expr.GELU, a) }

// GELUTanh returns a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).
func (a *Array) GELUTanh() *Array { return unaryOp(expr.GELUTanh, a) }

// SiLU returns a / (1 + exp(-a)).
func (a *Array) SiLU() *Array { return unaryOp(expr.SiLU, a) }

// Cast returns the elements converted to dt: to integers truncated and
// saturated with NaN as 0, to Bool x != 0, from complex to real the real part.
func (a *Array) Cast(dt dtype.DType) *Array {
	c := call{"Cast", here()}
	err := a.check()
	if err == nil && !dt.Valid() {
		err = fmt.Errorf("%w: Cast to %v", dtype.ErrDType, dt)
	}
	if err != nil {
		return c.failed(err, a)
	}
	return elementwise(c, rule{run: runCast}, dt, a)
}

// Sum adds over axes, which the result lacks; no axes means all. Halves
// accumulate in float32 and keep their type, integers and Bool give Int64. The
// order of additions depends on shape and type alone.
func (a *Array) Sum(axes ...int) *Array { return reduce(expr.Sum, a, axes) }
