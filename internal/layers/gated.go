package layers

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/expr"
)

// SwiGLU returns SiLU(gate) up, broadcast, for real floating-point types (Shazeer, arXiv
// 2002.05202). SiLU is rounded to the type, as with two separate operations. If gate is
// not broadcast, both are one kernel.
func SwiGLU(gate, up *array.Array) *array.Array { return gated("SwiGLU", expr.SiLU, gate, up) }

// GEGLU returns GELU(gate) up, with GELU in the erf form, and is otherwise as SwiGLU.
func GEGLU(gate, up *array.Array) *array.Array { return gated("GEGLU", expr.GELU, gate, up) }

func gated(name string, activation expr.Op, gate, up *array.Array) *array.Array {
	op := array.NewOperation(name, []*array.Array{gate, up})
	err := op.Check()
	if err == nil {
		err = op.SameType(gate, up)
	}
	if err != nil {
		return op.Failed(err)
	}
	return op.Elementwise(expr.Mul, op.Elementwise(activation, gate), up)
}
