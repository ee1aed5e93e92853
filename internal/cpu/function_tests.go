package cpu

import (
	"math"
	"math/cmplx"
)

// Tests of one element.

func signBitF64(x float64) bool { return math.Signbit(x) }

func signBitInt[T integer](x T) bool { return x < 0 }

func isNaNF64(x float64) bool { return x != x }

func isNaNC128(x complex128) bool { return isNaNF64(real(x)) || isNaNF64(imag(x)) }

func isNaNInt[T integer](T) bool { return false }

func isInfF64(x float64) bool { return math.IsInf(x, 0) }

func isInfC128(x complex128) bool { return cmplx.IsInf(x) }

func isInfInt[T integer](T) bool { return false }

func isFiniteF64(x float64) bool { return x-x == 0 }

func isFiniteC128(x complex128) bool { return isFiniteF64(real(x)) && isFiniteF64(imag(x)) }

func isFiniteInt[T integer](T) bool { return true }
