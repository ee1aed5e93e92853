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

// cast copies the operand. It converts the elements if the types differ.
var cast = rule{code: expr.None, arity: 1}

const oneKernel = "one element-wise kernel"

// unaryOp returns the result of an operation of ops.Table on one array.
func unaryOp(code expr.Op, a *Array) *Array { return mapped(call{code.String(), here()}, code, a) }

// Binary returns the result of an operation on two operands, broadcast. At least one is an *Array; the other may be a
// number, so that 1 - a can be written. An operation that does not have two operands is ErrUnsupported. The functions of
// package gpk that take (a, b any) call Binary.
func Binary(code expr.Op, a, b any) *Array {
	c := call{code.String(), here()}
	if row := ops.Lookup(code); row == nil || row.Kind != ops.Binary {
		return c.failed(fmt.Errorf("%w: it is not an operation of two operands", expr.ErrUnsupported))
	}
	return mapped(c, code, a, b)
}

// mapped returns the result of an element-wise operation of ops.Table on arrays and numbers.
func mapped(c call, code expr.Op, args ...any) *Array {
	var room [3]*Array
	k, as, dt, err := mapping(code, room[:0], args)
	if err != nil {
		return c.failed(err, as...)
	}
	return elementwise(c, k, dt, as...)
}

// mapping returns the rule of an operation of ops.Table on arrays and numbers, the arrays
// among its arguments (appended to as), and the type of the result.
func mapping(code expr.Op, as []*Array, args []any) (k rule, arrays []*Array, dt dtype.DType, err error) {
	k, arrays = rule{code: code, arity: uint8(len(args))}, as
	numbers := 0
	for i, v := range args {
		if x, ok := v.(*Array); ok {
			k.args[i], arrays = int8(len(arrays)), append(arrays, x)
		} else {
			numbers++
			k.args[i] = int8(-numbers)
		}
	}
	typed := arrays // the arrays that must have one type
	if code == expr.Where {
		typed = arrays[1:]
	}
	if err = check(arrays...); err == nil {
		dt, err = mappedType(code, arrays, typed, args)
	}
	for i, v := range args {
		if n := k.args[i]; err == nil && n < 0 {
			k.numbers[^n], err = scalar(typed[0].dt, v)
		}
	}
	if err == nil {
		err = sameDevice(arrays...)
	}
	if err == nil && code == expr.Pow && k.args[1] < 0 {
		k.code, k.arity = ops.PowerOf(dt, k.numbers[0])
	}
	return k, arrays, dt, err
}

// mappedType returns the type of the result of an operation. typed are the arrays that must have one type.
func mappedType(code expr.Op, arrays, typed []*Array, args []any) (dtype.DType, error) {
	switch {
	case code == expr.Where && arrays[0].dt != dtype.Bool:
		return 0, fmt.Errorf("%w: the condition is %v, not bool; compare it with a number", dtype.ErrDType, arrays[0].dt)
	case len(typed) == 0:
		return 0, fmt.Errorf("%w: neither %v nor %v is an *Array", dtype.ErrDType, reflect.TypeOf(args[len(args)-2]), reflect.TypeOf(args[len(args)-1]))
	}
	if err := sameType(typed...); err != nil {
		return 0, err
	}
	return ops.Lookup(code).Check(typed[0].dt)
}

// elementwise returns the result of an operation on arrays, broadcast to one shape.
func elementwise(c call, k rule, dt dtype.DType, as ...*Array) *Array {
	lay, err := broadcast(as)
	if err != nil {
		return c.failed(err, as...)
	}
	return newElementwise(c, k).result(streamOf(as...), dt, lay, len(as), as...)
}

func newElementwise(c call, k rule) *node {
	n := newNode(c)
	n.rule, n.fusion, n.run = k, pointwise, runElementwise
	n.strided, n.aliases, n.how = true, true, oneKernel
	return n
}

func runElementwise(o *job, s *device.Stream, dst device.View) error {
	var in [3]ops.Operand
	for i, k := range o.args[:o.arity] {
		if k < 0 {
			in[i].Scalar = o.numbers[^k]
		} else {
			in[i].View = o.view(int(k))
		}
	}
	return ops.Apply(s, o.code, dst, in[:o.arity])
}

// broadcast returns the dense layout of the shape to which arrays are broadcast.
func broadcast(as []*Array) (layout.Layout, error) {
	lay := as[0].dense()
	for _, b := range as[1:] {
		if layout.Widens(b.lay.Shape, lay.Shape) {
			continue
		}
		shape, err := layout.Broadcast(lay.Shape, b.lay.Shape)
		if err == nil {
			_, err = layout.Size(shape)
		}
		if err != nil {
			return lay, err
		}
		lay = layout.CachedDense(shape)
	}
	return lay, nil
}

// Cast returns the elements converted to dt. A conversion to integers truncates and saturates, and turns NaN into 0; to
// Bool it is x != 0; from complex to real it takes the real part.
func (a *Array) Cast(dt dtype.DType) *Array { return a.castFor(call{"Cast", here()}, dt) }

// castFor is Cast as a part of a call. If a has the type, the result is a dense copy.
func (a *Array) castFor(c call, dt dtype.DType) *Array {
	err := a.check()
	if err == nil && !dt.Valid() {
		err = fmt.Errorf("%w: Cast to %v", dtype.ErrDType, dt)
	}
	if err != nil {
		return c.failed(err, a)
	}
	return elementwise(c, cast, dt, a)
}

// Clamp returns min(max(a, lo), hi), broadcast; the result is NaN where an operand is. lo
// and hi are *Arrays of a's type or numbers.
func (a *Array) Clamp(lo, hi any) *Array {
	return mapped(call{expr.Clamp.String(), here()}, expr.Clamp, a, lo, hi)
}
