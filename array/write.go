package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// AddInPlace adds b, broadcast to a's shape, to a's memory and returns a; views
// of a see it. On failure nothing is written, and a and its views answer the
// error until an Into or CopyFrom overwrites them whole.
func (a *Array) AddInPlace(b any) *Array { return inPlace(expr.Add, "AddInPlace", here(), a, b) }

// MulInPlace multiplies a's elements by b's, as AddInPlace adds them.
func (a *Array) MulInPlace(b any) *Array { return inPlace(expr.Mul, "MulInPlace", here(), a, b) }

func inPlace(code expr.Op, name string, where site, a *Array, b any) *Array {
	y, isArray := b.(*Array)
	op := newOp(name, where, a)
	if isArray {
		op = newOp(name, where, a, y)
	}
	if err := op.first(a); err != nil {
		return failed(err)
	}
	if err := modify(op, code, a, y, b, isArray); err != nil {
		return a.poison(op.wrap(err))
	}
	return a
}

// apartFrom reports whether the open y reads nothing of a's memory: what does is
// computed before a is written, and keeps its elements.
func apartFrom(y, a *Array) bool {
	_, buf, err := a.writable()
	return err == nil && !y.reads(buf)
}

// modify writes a op b over a.
func modify(op *operation, code expr.Op, a, y *Array, number any, isArray bool) error {
	if _, err := ops.Lookup(code).Check(a.dt); err != nil {
		return err
	}
	if a.lay.Repeats() {
		return layout.Errorf("a broadcast array of shape %v cannot be written", a.lay.Shape)
	}
	operands := []*Array{a}
	var value ops.Scalar
	if isArray {
		if err := op.first(y); err != nil {
			return err
		}
		if err := sameType(a, y); err != nil {
			return err
		}
		if y.isOpen() && y.on() == a.on() && widens(y.lay.Shape, a.lay.Shape) && apartFrom(y, a) { // one kernel, with what y is yet to compute
			r := new(Array)
			r.pointwise(&op.call, rule{code: code, fusion: step, run: runBinary}, a, y, a.dt)
			if r.err != nil {
				return r.err
			}
			return into(&op.call, a, r)
		}
		operands = append(operands, y)
	} else {
		var err error
		if value, err = scalar(a.dt, number); err != nil {
			return err
		}
	}
	if err := op.operands(operands...); err != nil {
		return err
	}
	dst := op.in[0].view
	var x device.View
	if isArray {
		var err error
		x = op.in[1].view
		if x.Layout, err = x.Layout.BroadcastTo(a.lay.Shape); err != nil {
			return err
		}
		if overlaps(&x, &dst) && !sameLayout(&x.Layout, &dst.Layout) {
			c := y.copied(op.name, op.site)
			if c.err != nil {
				return c.err
			}
			defer c.Free()
			if x, err = c.view(); err != nil {
				return err
			}
			if x.Layout, err = x.Layout.BroadcastTo(a.lay.Shape); err != nil {
				return err
			}
		}
	}
	s := streamOf(operands...)
	writes(s, op.in[0].of)
	op.in[0].of.settle(nil)
	op.in[0].of.changedBy(op.name, &op.site)
	if isArray {
		return ops.Apply2(s, code, dst, dst, x)
	}
	return ops.ApplyScalar(s, code, dst, dst, value, false)
}

// CopyFrom writes src's elements, broadcast to a's shape, into a's memory and
// returns a: with a view on the left it is assignment to a part of an array.
// On failure nothing is written, and a and its views answer the error.
func (a *Array) CopyFrom(src *Array) *Array {
	op := newOp("CopyFrom", here(), a, src)
	if a == nil || a.err != nil || a.stream == nil || a.packed != nil {
		return failed(op.first(a))
	}
	err := op.first(src)
	if err == nil {
		wide := src
		if !slices.Equal(src.lay.Shape, a.lay.Shape) {
			var lay layout.Layout
			if lay, err = src.lay.BroadcastTo(a.lay.Shape); err == nil {
				wide = src.with(lay)
			}
		}
		if err == nil {
			err = into(&op.call, a, wide)
		}
	}
	if err == nil {
		return a
	}
	return a.poison(op.wrap(err))
}

// poison makes a and every view of it answer err, and returns the array that
// carries it.
func (a *Array) poison(err error) *Array {
	if v, buf, e := a.writable(); e == nil {
		v.settle(nil) // what was asked for before reads what there was before
		buf.Fail(err)
		v.mu.Lock()
		v.failedLay = a.lay
		v.mu.Unlock()
	}
	return failed(err)
}

// BiasAddInPlace adds bias, [n], to every row of a, [..., n], and returns a.
func BiasAddInPlace(a, bias *Array) *Array {
	where := here()
	op := newOp("BiasAddInPlace", where, a, bias)
	if err := op.first(a, bias); err != nil {
		return failed(err)
	}
	if bias.NDim() != 1 || a.NDim() == 0 || a.lay.Shape[a.NDim()-1] != bias.lay.Shape[0] {
		return failed(op.fail(fmt.Errorf("%w: bias %v does not fit rows of %v", layout.ErrShape, bias.lay.Shape, a.lay.Shape)))
	}
	return inPlace(expr.Add, "BiasAddInPlace", where, a, bias)
}
