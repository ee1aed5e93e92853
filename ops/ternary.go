package ops

import (
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
)

// Operand is an array or, without a buffer, a number.
type Operand struct {
	View   device.View
	Scalar Scalar
}

// Apply computes dst = op(args...) element by element. The one to three operands are
// broadcast to dst's shape, and at least one is an array. With expr.None it is Cast.
func Apply(s *device.Stream, op expr.Op, dst device.View, args []Operand) error {
	switch {
	case op == expr.None:
		return Cast(s, dst, args[0].View)
	case len(args) == 1:
		return Apply1(s, op, dst, args[0].View)
	case len(args) == 3:
		return Apply3(s, op, dst, args[0].View, args[1], args[2])
	case args[1].View.Buffer == nil:
		return ApplyScalar(s, op, dst, args[0].View, args[1].Scalar, false)
	case args[0].View.Buffer == nil:
		return ApplyScalar(s, op, dst, args[1].View, args[0].Scalar, true)
	}
	return Apply2(s, op, dst, args[0].View, args[1].View)
}

// Apply3 computes dst = op(x, y, z) element by element, with x, y and z broadcast to dst's
// shape, which the caller has checked. For Where, x is the condition. y and z have dst's type and may be numbers.
func Apply3(s *device.Stream, op expr.Op, dst, x device.View, y, z Operand) error {
	views := [maxViews]device.View{dst, x, y.View, z.View}
	for i := range views {
		if views[i].Buffer == nil { // a number
			views[i] = device.View{DType: dst.DType}
		}
	}
	c := newCall(ternaryKernel, views[:]...)
	c.op, c.scalars = op, [2]Scalar{y.Scalar, z.Scalar}
	return c.run(s)
}

var ternaryKernel = kernel{
	cpu: func(c *call) error {
		y, z := c.number(2, unsafe.Pointer(&c.scalars[0])), c.number(3, unsafe.Pointer(&c.scalars[1]))
		return cpu.Ternary(c.op, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], y, c.strides[2], z, c.strides[3], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		var at [maxViews]uint64 // 0 for numbers
		for i := range c.n {
			if c.bufs[i] != nil {
				at[i] = c.addr(i)
			}
		}
		y, z := &c.scalars[0], &c.scalars[1]
		return lib.Ternary(ordinal, stream, c.op, c.views[0].DType, c.shape, at[1], c.strides[1], at[2], c.strides[2], at[3], c.strides[3],
			y[0], y[1], z[0], z[1], at[0], c.strides[0])
	},
}

// number returns the host address of operand i, or the address at if the operand is a number.
func (c *call) number(i int, at unsafe.Pointer) unsafe.Pointer {
	if c.bufs[i] == nil {
		return at
	}
	return c.ptr(i)
}

// inPieces runs f on parts of at most maxDims dimensions. An address of 0, which stands for
// a number, stays 0.
func inPieces(shape []int, strides [][]int, sizes [4]int, at [4]uint64, f func(shape []int, strides [][]int, at [4]uint64) error) error {
	if len(shape) <= maxDims {
		return f(shape, strides, at)
	}
	inner := make([][]int, len(strides))
	for i, s := range strides {
		inner[i] = s[1:]
	}
	for range shape[0] {
		if err := inPieces(shape[1:], inner, sizes, at, f); err != nil {
			return err
		}
		for i, s := range strides {
			if at[i] != 0 {
				at[i] += uint64(s[0] * sizes[i])
			}
		}
	}
	return nil
}
