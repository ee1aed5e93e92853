package bigmath

import (
	"math"
	"math/big"
)

// Complex is a complex number with the package's precision.
type Complex struct{ Re, Im *big.Float }

// Round returns x with either part rounded once.
func (x Complex) Round() complex128 {
	re, _ := x.Re.Float64()
	im, _ := x.Im.Float64()
	return complex(re, im)
}

// ComplexExp returns e^x. x must be finite.
func ComplexExp(x complex128) Complex {
	e, b := Exp(Of(real(x))), Of(imag(x))
	return Complex{Mul(e, Sin(b, 1)), Mul(e, Sin(b, 0))}
}

// ComplexSqrt returns the square root with a positive real part. x must be finite and not 0.
// The part sqrt((|x| + |a|)/2) does not cancel, and the other part is b divided by twice that.
func ComplexSqrt(x complex128) Complex {
	a, b := Of(math.Abs(real(x))), Of(imag(x))
	h := New().Sqrt(Add(Mul(a, a), Mul(b, b)))
	t := New().Sqrt(Mul(Add(h, a), Of(0.5)))
	u := Quo(b, Mul(t, Of(2)))
	if real(x) >= 0 {
		return Complex{t, u}
	}
	if math.Signbit(imag(x)) {
		t.Neg(t)
	}
	return Complex{u.Abs(u), t}
}
