package array

import "github.com/gpk-go/gpk/expr"

// SwiGLU returns SiLU(gate) up, broadcast, for real floating-point types (Shazeer, arXiv
// 2002.05202). SiLU is rounded to the type, as in the two operations that it consists of;
// both are one kernel where gate is not broadcast.
func SwiGLU(gate, up *Array) *Array { return gated(call{"SwiGLU", here()}, expr.SiLU, gate, up) }

// GEGLU returns GELU(gate) up, with GELU in the erf form, and is otherwise as SwiGLU.
func GEGLU(gate, up *Array) *Array { return gated(call{"GEGLU", here()}, expr.GELU, gate, up) }

func gated(c call, activation expr.Op, gate, up *Array) *Array {
	err := match(gate, up)
	if err == nil {
		_, err = typeOf(activation, gate)
	}
	if err == nil {
		_, err = meet([]*Array{gate, up})
	}
	if err != nil {
		return c.failed(err, gate, up)
	}
	return mapped(c, expr.Mul, mapped(c, activation, gate), up)
}
