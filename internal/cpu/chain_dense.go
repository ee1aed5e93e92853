package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// denseKernel is the kernel of a step whose operands already have the compute type. A
// step without one runs the single operation.
type denseKernel struct {
	one func(dst, x unsafe.Pointer, n int)
	two *binary
}

func denseKernelOf(s *expr.Step, xt dtype.DType) (d denseKernel) {
	if s.Op == expr.None || xt.IsHalf() {
		return d
	}
	switch s.N {
	case 1:
		if _, part := partOf(s.Op, xt); part {
			return d
		}
		if f, result := kernels.unary(s.Op, xt); result == s.DType {
			d.one = f
		}
	case 2:
		if k := kernels.binary(s.Op, xt); k.vv != nil && k.result(xt) == s.DType {
			d.two = k
		}
	}
	return d
}

// run computes n elements. It reports false if there is no kernel for these operands.
func (d *denseKernel) run(dst unsafe.Pointer, in [3]argument, n int) bool {
	switch {
	case d.one != nil && !in[0].one:
		d.one(dst, in[0].p, n)
	case d.two == nil || in[0].one && in[1].one:
		return false
	case !in[0].one && !in[1].one:
		d.two.vv(dst, in[0].p, in[1].p, n)
	case in[0].one:
		d.two.sv(dst, in[0].p, in[1].p, n)
	default:
		d.two.vs(dst, in[0].p, in[1].p, n)
	}
	return true
}
