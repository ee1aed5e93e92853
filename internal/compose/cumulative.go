package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// CumProd returns the product of the elements up to each index along an axis. Integers and Bool give Int64, Uint16,
// Uint32 and Uint64 give Uint64, and wrap. Float32, half types and Complex64 are computed in twice the width and
// rounded once. The CPU multiplies the factors in order. A GPU multiplies in an order that depends only on the
// index, as CumSum adds.
//
//gpk:row Along an axis | the same; int64 for integers and bool, uint64 for uint16, uint32 and uint64 | all | the product of the elements up to each index; integers and bool accumulate in 64 bits
func CumProd[A Operand](o Operation[A], a A, axis int) A {
	d, _, err := along(o, a, axis)
	if err != nil {
		return o.Failed(err)
	}
	return scanned(o, a, a.DType().SumType(), func(s *device.Stream, dst, x device.View) error { return ops.CumProd(s, dst, x, d) })
}

// scanned returns the result of a scan of a, of type dt and a's shape.
func scanned[A Operand](o Operation[A], a A, dt dtype.DType, run func(s *device.Stream, dst, x device.View) error) A {
	if !onGPU(a) {
		return o.Result(dt, a.Shape(), "one after the other", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return run(s, dst, reads[0])
		})
	}
	return o.Result(dt, a.Shape(), "a scan", []A{dense(o, a)}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error { return run(s, dst, reads[0]) })
	})
}

// CumMax returns the largest element up to each index along an axis, NumPy's maximum.accumulate. From the first NaN on the
// results are NaN. Types: real, Bool.
//
//gpk:row Along an axis | the same | real types, bool | the largest element up to each index, NaN from the first NaN on
func CumMax[A Operand](o Operation[A], a A, axis int) A { return cumExtreme(o, expr.Maximum, a, axis) }

// CumMin returns the smallest element up to each index along an axis, NumPy's minimum.accumulate, as CumMax.
//
//gpk:row Along an axis | the same | real types, bool | the smallest element up to each index, NaN from the first NaN on
func CumMin[A Operand](o Operation[A], a A, axis int) A { return cumExtreme(o, expr.Minimum, a, axis) }

func cumExtreme[A Operand](o Operation[A], code expr.Op, a A, axis int) A {
	d, _, err := along(o, a, axis)
	if err == nil {
		err = supports(o, code, a.DType())
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case a.Size() == 0:
		return o.Cast(a, a.DType())
	}
	return scanned(o, a, a.DType(), func(s *device.Stream, dst, x device.View) error { return ops.CumExtreme(s, code, dst, x, d) })
}
