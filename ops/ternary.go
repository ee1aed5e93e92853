package ops

import (
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
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
// shape. For Where, x is the condition. y and z have dst's type and may be numbers.
func Apply3(s *device.Stream, op expr.Op, dst, x device.View, y, z Operand) error {
	views := [4]device.View{dst, x, y.View, z.View}
	strides, offsets := make([][]int, len(views)), [4]int{}
	bufs := make([]*device.Buffer, 0, len(views))
	for i, v := range views {
		strides[i] = make([]int, len(dst.Layout.Shape))
		if v.Buffer == nil {
			continue
		}
		l, err := v.Layout.BroadcastTo(dst.Layout.Shape)
		if err != nil {
			return err
		}
		strides[i], offsets[i] = l.Strides, l.Offset*v.DType.Size()
		if i > 0 {
			bufs = append(bufs, v.Buffer)
		}
	}
	if dst.Layout.Size() == 0 {
		return nil
	}
	shape, strides := layout.Collapse(dst.Layout.Shape, strides...)
	dev := s.Device()
	scalars := [2]Scalar{y.Scalar, z.Scalar}
	err := dev.Launch(s, bufs, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
		if dev.Kind() == device.CPU {
			var p [4]unsafe.Pointer
			for i, v := range views {
				if v.Buffer == nil {
					p[i] = unsafe.Pointer(&scalars[i-2])
				} else {
					p[i] = unsafe.Add(v.Buffer.Ptr(), offsets[i])
				}
			}
			return cpu.Ternary(op, dst.DType, shape, p[1], strides[1], p[2], strides[2], p[3], strides[3], p[0], strides[0])
		}
		var at [4]uint64
		for i, v := range views {
			if v.Buffer != nil {
				at[i] = v.Buffer.Addr() + uint64(offsets[i])
			}
		}
		return inPieces(shape, strides, [4]int{dst.DType.Size(), x.DType.Size(), dst.DType.Size(), dst.DType.Size()}, at, func(shape []int, strides [][]int, at [4]uint64) error {
			return dev.Library().Ternary(ordinal, stream, op, dst.DType, shape, at[1], strides[1], at[2], strides[2], at[3], strides[3],
				scalars[0][0], scalars[0][1], scalars[1][0], scalars[1][1], at[0], strides[0])
		})
	})
	return nameMissing(err, op, dst.DType, dev)
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
