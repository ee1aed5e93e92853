package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// AddInPlace adds b to a's elements. b is an *Array of a's type and device that broadcasts to a's shape, or a number.
// Views of a show the sum; arrays that were computed from a earlier keep their values. If an error is known when
// AddInPlace is called, AddInPlace returns it and writes nothing. An error that only the device finds, such as an index
// of Take, is returned too, unless the whole array is written: then the array carries the error until it is
// overwritten.
func (a *Array) AddInPlace(b any) error { return inPlace(expr.Add, call{"AddInPlace", here()}, a, b) }

// SubInPlace subtracts b from a's elements. Operands and errors are as for AddInPlace.
func (a *Array) SubInPlace(b any) error { return inPlace(expr.Sub, call{"SubInPlace", here()}, a, b) }

// MulInPlace multiplies a's elements by b's. Operands and errors are as for AddInPlace.
func (a *Array) MulInPlace(b any) error { return inPlace(expr.Mul, call{"MulInPlace", here()}, a, b) }

// DivInPlace divides a's elements by b's. Operands and errors are as for AddInPlace. Integers are ErrDType.
func (a *Array) DivInPlace(b any) error { return inPlace(expr.Div, call{"DivInPlace", here()}, a, b) }

func inPlace(code expr.Op, c call, a *Array, b any) error {
	k, as, _, err := mapping(code, make([]*Array, 0, 2), []any{a, b})
	if last := as[len(as)-1]; err == nil && !layout.Widens(last.lay.Shape, a.lay.Shape) {
		err = layout.Errorf("%v does not broadcast to %v", last.lay.Shape, a.lay.Shape)
	}
	if err != nil {
		return c.wrap(err, as...)
	}
	w := newWrite(&c, a, streamOf(as...))
	w.expr, w.reads = newElementwise(c, k), as
	return c.wrap(w.do(), as...)
}

// CopyFrom writes b's elements into a. b is an *Array of a's type, on any device, that broadcasts to a's shape, or a
// number. If a is a view, CopyFrom assigns to a part of an array. Errors are as for AddInPlace.
func (a *Array) CopyFrom(b any) error {
	c := call{"CopyFrom", here()}
	src, ok := b.(*Array)
	if !ok {
		return a.fillWith(&c, b)
	}
	if err := c.first(a, src); err != nil {
		return err
	}
	if !slices.Equal(src.lay.Shape, a.lay.Shape) {
		lay, err := src.lay.BroadcastTo(a.lay.Shape)
		if err != nil {
			return c.fail(err, a, src)
		}
		src = src.with(lay)
	}
	return into(&c, a, src)
}

// MaskedSet writes values into a where mask, of type Bool, is true: NumPy's a[mask] = values. The mask has the shape of the
// leading axes of a. values is a number, or an *Array of a's type. The array is one part for all true elements, broadcast
// to the other axes of a, or has along its first axis a part for each, in row-major order. Then MaskedSet waits for the
// number of true elements, and another number of parts is ErrShape. Errors are as for AddInPlace.
func (a *Array) MaskedSet(mask *Array, values any) error {
	o := a.op("MaskedSet", mask)
	if v, ok := values.(*Array); ok {
		o.operands = append(o.operands, v)
	}
	return into(&o.call, a, compose.Masked(o, a, mask, values))
}

// fillWith sets every element to a number.
func (a *Array) fillWith(c *call, number any) error {
	var x ops.Scalar
	err := a.check()
	if err == nil {
		x, err = scalar(a.dt, number)
	}
	if err != nil {
		return c.wrap(err, a)
	}
	w := newWrite(c, a, a.stream)
	w.put = func(dst device.View) error { return ops.Fill(w.stream, dst, x) }
	return c.wrap(w.do(), a)
}

// BiasAddInPlace adds bias, [n], to every row of a, [..., n]. Errors are as for AddInPlace.
func BiasAddInPlace(a, bias *Array) error {
	c := call{"BiasAddInPlace", here()}
	if err := c.first(a, bias); err != nil {
		return err
	}
	if bias.NDim() != 1 || a.NDim() == 0 || a.lay.Shape[a.NDim()-1] != bias.lay.Shape[0] {
		return c.fail(fmt.Errorf("%w: bias %v does not fit rows of %v", layout.ErrShape, bias.lay.Shape, a.lay.Shape), a, bias)
	}
	return inPlace(expr.Add, c, a, bias)
}

// Into computes src into dst, which has src's shape and type, and does not wait. If src reads dst, dst gets new memory
// or the elements that src reads are saved; otherwise nothing is allocated. src itself is not stored and keeps its
// value. Errors are as for AddInPlace.
func Into(dst, src *Array) error { return into(&call{"Into", here()}, dst, src) }

func into(c *call, dst, src *Array) error {
	if err := c.first(dst, src); err != nil {
		return err
	}
	switch {
	case !slices.Equal(dst.lay.Shape, src.lay.Shape):
		return c.fail(layout.Errorf("a result of shape %v for a destination of shape %v", src.lay.Shape, dst.lay.Shape), dst, src)
	case dst.dt != src.dt:
		return c.fail(sameType(dst, src), dst, src)
	case dst.on() != src.on():
		if r := recordingOn(dst.stream); r != nil {
			return r.refuse(c.fail(errWaits, dst, src))
		}
		moved := src.to(c, dst.on())
		if isData(moved.err) { // as if src were on the same device: an array that is written completely carries the error
			w := newWrite(c, dst, dst.stream)
			w.put = func(device.View) error { return moved.err }
			return c.wrap(w.do(), dst, src)
		}
		if moved.err != nil {
			return moved.err
		}
		src = moved
	}
	w := newWrite(c, dst, streamOf(src, dst))
	w.src = src
	return c.wrap(w.do(), dst, src)
}
