package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Where returns x where cond, of type Bool, is true, else y, broadcast. At least
// one of x and y is an *Array, the other may be a number.
func Where(cond *Array, x, y any) *Array { return ternary(expr.Where, here(), cond, x, y) }

// Clamp returns min(max(a, lo), hi), broadcast, NaN where one is. lo and hi are
// *Arrays of a's type or numbers.
func (a *Array) Clamp(lo, hi any) *Array { return ternary(expr.Clamp, here(), a, lo, hi) }

// ternary is the pending result of an operation on an array and two operands that
// may be numbers.
func ternary(code expr.Op, where site, a *Array, y, z any) *Array {
	arrays := []*Array{a}
	var at [2]int // which array an operand is, 0 for none
	for i, v := range []any{y, z} {
		if x, ok := v.(*Array); ok {
			at[i] = len(arrays)
			arrays = append(arrays, x)
		}
	}
	c := call{code.String(), where}
	typed := arrays // those of the result's type
	if code == expr.Where {
		typed = arrays[1:]
	}
	err := check(arrays...)
	switch {
	case err != nil:
	case code == expr.Where && a.dt != dtype.Bool:
		err = fmt.Errorf("%w: the condition is %v, not bool; compare it with a number", dtype.ErrDType, a.dt)
	case len(typed) == 0:
		err = fmt.Errorf("%w: neither %T nor %T is an *Array", dtype.ErrDType, y, z)
	default:
		err = sameType(typed...)
	}
	dt := dtype.Invalid
	if err == nil {
		dt, err = ops.Lookup(code).Check(typed[0].dt)
	}
	var numbers [2]ops.Scalar
	for i, v := range []any{y, z} {
		if err == nil && at[i] == 0 {
			numbers[i], err = scalar(dt, v)
		}
	}
	var shape []int
	for _, x := range arrays {
		if err == nil {
			shape, err = layout.Broadcast(shape, x.lay.Shape)
		}
	}
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err == nil {
		err = sameDevice(arrays...)
	}
	if err != nil {
		return c.failed(err, arrays...)
	}
	op := newNode(c)
	op.code, op.fusion, op.run = code, pointwise, runTernary
	op.places = &places{at: at, numbers: numbers}
	if code == expr.Where {
		op.places.typed = 1
	}
	op.strided, op.alias, op.how = true, sameElements, oneKernel
	return op.result(streamOf(arrays...), dt, layout.Dense(shape), len(arrays), arrays...)
}

// places says of the second and third operand of a ternary operation which array
// each is, 0 for none, and which number then. typed is an array of the result's
// type.
type places struct {
	at      [2]int
	numbers [2]ops.Scalar
	typed   int
}

func runTernary(o *job, s *device.Stream, dst device.View) error {
	var in [2]ops.Operand
	for i, k := range o.places.at {
		in[i].Scalar = o.places.numbers[i]
		if k > 0 {
			in[i].View = o.view(k)
		}
	}
	return ops.Apply3(s, o.code, dst, o.view(0), in[0], in[1])
}
