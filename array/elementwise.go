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

// The methods below are small enough to be inlined, and what they call keeps
// none of the Arrays that it is given: an Array that does not leave the
// function that made it, as in Into(dst, x.Add(y)), lives on the stack.

// unary makes r the open result of an operation of the table on one array.
func (r *Array) unary(code expr.Op, a *Array) {
	c := call{code.String(), here()}
	if err := c.first(a); err != nil {
		r.fail(err)
		return
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	if err != nil {
		r.fail(c.fail(err, a))
		return
	}
	r.pointwise(&c, rule{code: code, fusion: step, run: runUnary}, a, nil, dt)
}

const oneKernel = "one element-wise kernel"

func runUnary(o *operation, s *device.Stream, dst device.View) error {
	return ops.Apply1(s, o.code, dst, o.in[0].view)
}

func runBinary(o *operation, s *device.Stream, dst device.View) error {
	return ops.Apply2(s, o.code, dst, o.in[0].view, o.in[1].view)
}

func runScalar(o *operation, s *device.Stream, dst device.View) error {
	return ops.ApplyScalar(s, o.code, dst, o.in[0].view, o.scalar, o.scalarFirst)
}

// pointwise makes r the open result of an operation on a and, where it is not
// nil, b, broadcast to one shape.
func (r *Array) pointwise(c *call, k rule, a, b *Array, dt dtype.DType) {
	v := a.v.set.unlocked()
	o := &v.op
	s := streamOf(a, b)
	lay, err := a.over(b)
	if err == nil {
		size := lay.Size()
		if err = o.take(0, a, size, s); err == nil && b != nil {
			o.n = 1
			if err = o.take(1, b, size, s); err != nil {
				o.giveBack()
			}
		}
	}
	if err != nil {
		v.op = operation{}
		v.set.idle.Put(v)
		if b == nil {
			r.fail(c.wrap(err, a))
		} else {
			r.fail(c.wrap(err, a, b))
		}
		return
	}
	v.mu.Lock()
	o.n = 1
	if b != nil {
		o.n = 2
	}
	o.call, o.rule = *c, k
	o.out, o.strided, o.alias, o.how = dt, true, samePlaces, oneKernel
	r.open(v, s, dt, lay)
}

// over is the dense layout of the shape to which a and, where it is not nil, b
// are broadcast.
func (a *Array) over(b *Array) (layout.Layout, error) {
	if b == nil {
		return a.dense(), nil
	}
	return meet(a, b)
}

// meet is the dense layout of the shape to which a and b are broadcast.
func meet(a, b *Array) (layout.Layout, error) {
	switch {
	case widens(b.lay.Shape, a.lay.Shape):
		return a.dense(), nil
	case widens(a.lay.Shape, b.lay.Shape):
		return b.dense(), nil
	}
	shape, err := layout.Broadcast(a.lay.Shape, b.lay.Shape)
	if err == nil {
		_, err = layout.Size(shape)
	}
	return layout.Dense(shape), err
}

// widens reports whether a shape is broadcast to another by itself.
func widens(shape, to []int) bool {
	skip := len(to) - len(shape)
	if skip < 0 {
		return false
	}
	for i, n := range shape {
		if n != to[skip+i] && n != 1 {
			return false
		}
	}
	return true
}

// binary makes r the open result of an operation of the table on two operands,
// of which at least one is an array and the other may be a number.
func (r *Array) binary(code expr.Op, a, b any) {
	c := call{code.String(), here()}
	x, xIsArray := a.(*Array)
	y, yIsArray := b.(*Array)
	switch {
	case xIsArray && yIsArray:
		r.binaryArrays(&c, code, x, y)
	case xIsArray:
		r.binaryScalar(&c, code, x, b, false)
	case yIsArray:
		r.binaryScalar(&c, code, y, a, true)
	default:
		r.fail(c.fail(fmt.Errorf("%w: neither %v nor %v is an *Array", dtype.ErrDType, reflect.TypeOf(a), reflect.TypeOf(b))))
	}
}

func (r *Array) binaryArrays(c *call, code expr.Op, a, b *Array) {
	if err := c.first(a, b); err != nil {
		r.fail(err)
		return
	}
	dt, err := dtype.Invalid, sameType(a, b)
	if err == nil {
		dt, err = ops.Lookup(code).Check(a.dt)
	}
	if err == nil && a.on() != b.on() {
		err = otherDevice(a, b)
	}
	if err != nil {
		r.fail(c.fail(err, a, b))
		return
	}
	r.pointwise(c, rule{code: code, fusion: step, run: runBinary}, a, b, dt)
}

func (r *Array) binaryScalar(c *call, code expr.Op, a *Array, number any, first bool) {
	if err := c.first(a); err != nil {
		r.fail(err)
		return
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	k := rule{code: code, fusion: step, run: runScalar, numbered: true, scalarFirst: first}
	if err == nil {
		k.scalar, err = scalar(a.dt, number)
	}
	if err != nil {
		r.fail(c.fail(err, a))
		return
	}
	r.pointwise(c, k, a, nil, dt)
}

// Add returns a + b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Add(b any) *Array {
	r := new(Array)
	r.binary(expr.Add, a, b)
	return r
}

// Sub returns a - b, broadcast. b is an *Array of a's type or a number.
func (a *Array) Sub(b any) *Array {
	r := new(Array)
	r.binary(expr.Sub, a, b)
	return r
}

// Mul returns the product of a and b element by element, broadcast. b is an
// *Array of a's type or a number.
func (a *Array) Mul(b any) *Array {
	r := new(Array)
	r.binary(expr.Mul, a, b)
	return r
}

// Div returns a / b, broadcast; integers are ErrDType. b is an *Array of a's
// type or a number.
func (a *Array) Div(b any) *Array {
	r := new(Array)
	r.binary(expr.Div, a, b)
	return r
}

// Neg returns -a; integers wrap.
func (a *Array) Neg() *Array {
	r := new(Array)
	r.unary(expr.Neg, a)
	return r
}

// Conj returns the complex conjugate; real types are unchanged.
func (a *Array) Conj() *Array {
	r := new(Array)
	r.unary(expr.Conj, a)
	return r
}

// ReLU returns max(a, 0); NaN stays NaN.
func (a *Array) ReLU() *Array {
	r := new(Array)
	r.unary(expr.ReLU, a)
	return r
}

// GELU returns a/2 (1 + erf(a/sqrt 2)), for real floating-point types.
func (a *Array) GELU() *Array {
	r := new(Array)
	r.unary(expr.GELU, a)
	return r
}

// GELUTanh returns a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).
func (a *Array) GELUTanh() *Array {
	r := new(Array)
	r.unary(expr.GELUTanh, a)
	return r
}

// SiLU returns a / (1 + exp(-a)).
func (a *Array) SiLU() *Array {
	r := new(Array)
	r.unary(expr.SiLU, a)
	return r
}

// Cast returns the elements converted to dt: to integers truncated and
// saturated with NaN as 0, to Bool x != 0, from complex to real the real part.
func (a *Array) Cast(dt dtype.DType) *Array {
	r := new(Array)
	r.cast(a, dt)
	return r
}

func (r *Array) cast(a *Array, dt dtype.DType) {
	c := call{"Cast", here()}
	if err := c.first(a); err != nil {
		r.fail(err)
		return
	}
	if !dt.Valid() {
		r.fail(c.fail(fmt.Errorf("%w: Cast to %v", dtype.ErrDType, dt), a))
		return
	}
	r.pointwise(&c, rule{fusion: step, run: runCast}, a, nil, dt)
}

// Sum adds over axes, which the result lacks; no axes means all. Halves
// accumulate in float32 and keep their type, integers and Bool give Int64. The
// order of additions depends on shape and type alone.
func (a *Array) Sum(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Sum, a, axes)
	return r
}
