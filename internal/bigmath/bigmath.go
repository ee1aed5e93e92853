// Package bigmath has mathematical functions on math/big, as a reference for tests of float64.
// Their precision of 1,500 bits exceeds that of float64 by far even after cancellation.
package bigmath

import (
	"math"
	"math/big"
	"sync"
)

// bits is the precision of every number.
const bits = 1500

// Of returns v with the package's precision.
func Of(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

// New returns 0 with the package's precision.
func New() *big.Float { return new(big.Float).SetPrec(bits) }

// Add returns a + b.
func Add(a, b *big.Float) *big.Float { return New().Add(a, b) }

// Sub returns a - b.
func Sub(a, b *big.Float) *big.Float { return New().Sub(a, b) }

// Mul returns a b.
func Mul(a, b *big.Float) *big.Float { return New().Mul(a, b) }

// Quo returns a / b.
func Quo(a, b *big.Float) *big.Float { return New().Quo(a, b) }

// tiny reports whether b is negligible compared with a.
func tiny(a, b *big.Float) bool {
	return b.Sign() == 0 || a.Sign() != 0 && b.MantExp(nil) < a.MantExp(nil)-bits
}

// arctanOf returns the arc tangent of 1/n.
func arctanOf(n float64) *big.Float {
	term := Quo(Of(1), Of(n))
	sum, square := New().Set(term), Of(n*n)
	for k := 3.0; ; k += 2 {
		term = Quo(term, square)
		term.Neg(term)
		t := Quo(term, Of(k))
		if tiny(sum, t) {
			return sum
		}
		sum = Add(sum, t)
	}
}

// Pi is pi by Machin's formula.
var Pi = sync.OnceValue(func() *big.Float {
	return Mul(Of(4), Sub(Mul(Of(4), arctanOf(5)), arctanOf(239)))
})

// Exp halves x until its series is short, and squares the result as often.
func Exp(x *big.Float) *big.Float {
	const halvings = 30
	e := max(x.MantExp(nil), 0) + halvings
	r := New().SetMantExp(x, -e)
	sum, term := Of(1), Of(1)
	for k := 1.0; ; k++ {
		term = Quo(Mul(term, r), Of(k))
		if tiny(sum, term) {
			break
		}
		sum = Add(sum, term)
	}
	for range e {
		sum = Mul(sum, sum)
	}
	return sum
}

// Log solves e^y = x by Newton's method.
func Log(x *big.Float) *big.Float {
	m := New()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := Of(math.Log(f) + float64(e)*math.Ln2)
	for range 6 {
		d := Sub(Mul(x, Exp(New().Neg(y))), Of(1))
		if tiny(Of(1), d) && tiny(y, d) {
			break
		}
		y = Add(y, d)
	}
	return y
}

// Sin returns sin(x + quarter pi/2).
func Sin(x *big.Float, quarter int64) *big.Float {
	half := Mul(Pi(), Of(0.5))
	n, _ := Add(Quo(x, half), Of(math.Copysign(0.5, float64(x.Sign())))).Int(nil)
	r := Sub(x, Mul(New().SetInt(n), half))
	q := (new(big.Int).Mod(n, big.NewInt(4)).Int64() + quarter) % 4
	sum, term := New().Set(r), New().Set(r)
	k := 2.0
	if q%2 != 0 {
		sum, term, k = Of(1), Of(1), 1
	}
	square := Mul(r, r)
	for ; term.Sign() != 0; k += 2 {
		term = Quo(Mul(term, square), Of(-k*(k+1)))
		if tiny(sum, term) {
			break
		}
		sum = Add(sum, term)
	}
	if q >= 2 {
		sum.Neg(sum)
	}
	return sum
}

// Erf sums 2/sqrt(pi) e^(-x^2) sum of 2^k x^(2k+1)/(2k+1)!!, whose terms all have one
// sign.
func Erf(x *big.Float) *big.Float {
	square := Mul(x, x)
	sum, term := New().Set(x), New().Set(x)
	for k := 3.0; term.Sign() != 0; k += 2 {
		term = Quo(Mul(Mul(term, square), Of(2)), Of(k))
		if tiny(sum, term) {
			break
		}
		sum = Add(sum, term)
	}
	scale := Quo(Mul(Of(2), Exp(New().Neg(square))), New().Sqrt(Pi()))
	return Mul(sum, scale)
}

// Logistic returns 1/(1 + e^-x).
func Logistic(x *big.Float) *big.Float {
	return Quo(Of(1), Add(Of(1), Exp(New().Neg(x))))
}

// Tanh returns (e^2x - 1)/(e^2x + 1).
func Tanh(x *big.Float) *big.Float {
	e := Exp(Mul(x, Of(2)))
	return Quo(Sub(e, Of(1)), Add(e, Of(1)))
}

// Ulps returns the distance from got to want, in units in the last place of a number of
// want's size, in a format with the given digits and least exponent. Infinity stands for
// the first number beyond the format's range.
func Ulps(got float64, want *big.Float, digits, least int) float64 {
	g := New()
	if math.IsInf(got, 0) {
		g.SetMantExp(Of(math.Copysign(1, got)), 3-least-digits)
	} else {
		g = Of(got)
	}
	e := least
	if want.Sign() != 0 {
		e = max(want.MantExp(nil)-digits, least)
	}
	u, _ := New().SetMantExp(Sub(g, want), -e).Float64()
	return math.Abs(u)
}
