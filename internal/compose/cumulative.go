package compose

import (
	"math/bits"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// CumProd returns the product of the elements up to each index along an axis. Integers and Bool give Int64, Uint16,
// Uint32 and Uint64 give Uint64, and wrap. Float32, half types and Complex64 are computed in twice the width and
// rounded once. The CPU multiplies the factors in order. A GPU multiplies elements at a distance of 2^k in log2 n
// passes (Hillis and Steele, Communications of the ACM 29 (1986) 1170). The order depends only on the length.
//
//gpk:row Along an axis | the same; int64 for integers and bool, uint64 for uint16, uint32 and uint64 | all | the product of the elements up to each index; integers and bool accumulate in 64 bits
func CumProd[A Operand](o Operation[A], a A, axis int) A {
	d, n, err := along(o, a, axis)
	if err != nil {
		return o.Failed(err)
	}
	dt := a.DType().SumType()
	if hasKernels(a) {
		return o.Result(dt, a.Shape(), "products one after the other", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return ops.CumProd(s, dst, reads[0], d)
		})
	}
	var x A
	switch {
	case dt == dtype.Complex64:
		x = o.Cast(a, dtype.Complex128)
	case dt.IsFloat() && dt != dtype.Float64:
		x = o.Cast(a, dtype.Float64)
	default:
		x = narrow(o, a, dt)
	}
	if n < 2 || a.Size() == 0 {
		return o.Cast(x, dt)
	}
	return narrow(o, scan(o, expr.Mul, x, d, "a scan of products"), dt)
}

// scan combines the elements of x, of which there are some, up to each index along an axis by an associative operation of
// two operands. In pass k it combines elements at a distance of 2^k.
func scan[A Operand](o Operation[A], code expr.Op, x A, axis int, how string) A {
	n := x.Shape()[axis]
	steps := bits.Len(uint(n - 1))
	if steps == 0 {
		return o.Cast(x, x.DType())
	}
	return o.Result(x.DType(), x.Shape(), how, []A{x}, func(s *device.Stream, dst device.View, reads []device.View) error {
		buf, err := s.Device().Alloc(int64(dst.Layout.Size())*int64(dst.DType.Size()), s)
		if err != nil {
			return err
		}
		defer buf.Free()
		spare := device.View{Buffer: buf, DType: dst.DType, Layout: layout.Dense(dst.Layout.Shape)}
		from := reads[0]
		for k := range steps { // the last pass writes dst
			to := dst
			if (steps-k)%2 == 0 {
				to = spare
			}
			if err := combined(s, code, to, from, axis, 1<<k); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
}

// combined writes the elements of x along an axis to dst. From index `by` on it combines each with the element at a
// distance of `by` before it.
func combined(s *device.Stream, code expr.Op, dst, x device.View, axis, by int) error {
	n := x.Layout.Shape[axis]
	part := func(v device.View, start, stop int) device.View {
		v.Layout, _ = v.Layout.Slice(axis, start, stop, 1) // 0 <= start <= stop <= n
		return v
	}
	if err := ops.Cast(s, part(dst, 0, by), part(x, 0, by)); err != nil {
		return err
	}
	return ops.Apply2(s, code, part(dst, by, n), part(x, by, n), part(x, 0, n-by))
}

// CumMax returns the largest element up to each index along an axis, NumPy's maximum.accumulate. From the first NaN on the
// results are NaN. Types: real, Bool. A GPU compares elements at a distance of 2^k in log2 n passes, as CumProd multiplies them.
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
		err = supports(code, a.DType())
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case a.Size() == 0:
		return o.Cast(a, a.DType())
	case hasKernels(a):
		return o.Result(a.DType(), a.Shape(), "extremes one after the other", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return ops.CumExtreme(s, code, dst, reads[0], d)
		})
	}
	return scan(o, code, a, d, "a scan of extremes")
}
