package ops

import "math"

// The float64 definitions that every kernel is tested against.

func refReLU(x, _ complex128) complex128 {
	if v := real(x); v > 0 || math.IsNaN(v) {
		return complex(v, 0)
	}
	return 0
}

func refGELU(x, _ complex128) complex128 {
	v := real(x)
	// erfc keeps its relative accuracy where 1+erf cancels.
	return complex(0.5*v*math.Erfc(-v/math.Sqrt2), 0)
}

func refGELUTanh(x, _ complex128) complex128 {
	v := real(x)
	u := math.Sqrt(2/math.Pi) * (v + 0.044715*v*v*v)
	// 1/2 (1 + tanh u) = 1 / (1 + exp(-2u)), without the cancellation.
	return complex(v/(1+math.Exp(-2*u)), 0)
}

func refSiLU(x, _ complex128) complex128 {
	v := real(x)
	return complex(v/(1+math.Exp(-v)), 0)
}
