package cpu

import (
	"math"
	"math/big"
	"sync"
)

// Functions of math/big, the reference for float64: bigBits bits, and so good to
// many more than float64 has even where they cancel.
const bigBits = 1500

func bigOf(v float64) *big.Float      { return new(big.Float).SetPrec(bigBits).SetFloat64(v) }
func bigNew() *big.Float              { return new(big.Float).SetPrec(bigBits) }
func add2(a, b *big.Float) *big.Float { return bigNew().Add(a, b) }
func sub2(a, b *big.Float) *big.Float { return bigNew().Sub(a, b) }
func mul2(a, b *big.Float) *big.Float { return bigNew().Mul(a, b) }
func quo2(a, b *big.Float) *big.Float { return bigNew().Quo(a, b) }

// tiny reports whether b is too small to count beside a.
func tiny(a, b *big.Float) bool {
	return b.Sign() == 0 || a.Sign() != 0 && b.MantExp(nil) < a.MantExp(nil)-bigBits
}

// arctanOf returns the arc tangent of 1/n.
func arctanOf(n float64) *big.Float {
	term := quo2(bigOf(1), bigOf(n))
	sum, square := bigNew().Set(term), bigOf(n*n)
	for k := 3.0; ; k += 2 {
		term = quo2(term, square)
		term.Neg(term)
		t := quo2(term, bigOf(k))
		if tiny(sum, t) {
			return sum
		}
		sum = add2(sum, t)
	}
}

// bigPi is pi by Machin's formula.
var bigPi = sync.OnceValue(func() *big.Float {
	return mul2(bigOf(4), sub2(mul2(bigOf(4), arctanOf(5)), arctanOf(239)))
})

// bigExp halves x until its series is short, and squares as often.
func bigExp(x *big.Float) *big.Float {
	const halvings = 30
	e := max(x.MantExp(nil), 0) + halvings
	r := bigNew().SetMantExp(x, -e)
	sum, term := bigOf(1), bigOf(1)
	for k := 1.0; ; k++ {
		term = quo2(mul2(term, r), bigOf(k))
		if tiny(sum, term) {
			break
		}
		sum = add2(sum, term)
	}
	for range e {
		sum = mul2(sum, sum)
	}
	return sum
}

// bigLog solves e^y = x by Newton's method.
func bigLog(x *big.Float) *big.Float {
	m := bigNew()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := bigOf(math.Log(f) + float64(e)*math.Ln2)
	for range 6 {
		d := sub2(mul2(x, bigExp(bigNew().Neg(y))), bigOf(1))
		if tiny(bigOf(1), d) && tiny(y, d) {
			break
		}
		y = add2(y, d)
	}
	return y
}

// bigSin returns sin(x + quarter pi/2).
func bigSin(x *big.Float, quarter int64) *big.Float {
	half := mul2(bigPi(), bigOf(0.5))
	n, _ := add2(quo2(x, half), bigOf(math.Copysign(0.5, float64(x.Sign())))).Int(nil)
	r := sub2(x, mul2(bigNew().SetInt(n), half))
	q := (new(big.Int).Mod(n, big.NewInt(4)).Int64() + quarter) % 4
	sum, term := bigNew().Set(r), bigNew().Set(r)
	k := 2.0
	if q%2 != 0 {
		sum, term, k = bigOf(1), bigOf(1), 1
	}
	square := mul2(r, r)
	for ; term.Sign() != 0; k += 2 {
		term = quo2(mul2(term, square), bigOf(-k*(k+1)))
		if tiny(sum, term) {
			break
		}
		sum = add2(sum, term)
	}
	if q >= 2 {
		sum.Neg(sum)
	}
	return sum
}

// bigComplexExp is e^x of a finite x, rounded once.
func bigComplexExp(x complex128) complex128 {
	e, b := bigExp(bigOf(real(x))), bigOf(imag(x))
	re, _ := mul2(e, bigSin(b, 1)).Float64()
	im, _ := mul2(e, bigSin(b, 0)).Float64()
	return complex(re, im)
}

// bigErf sums 2/sqrt(pi) e^(-x^2) sum of 2^k x^(2k+1)/(2k+1)!!, whose terms are of
// one sign.
func bigErf(x *big.Float) *big.Float {
	square := mul2(x, x)
	sum, term := bigNew().Set(x), bigNew().Set(x)
	for k := 3.0; term.Sign() != 0; k += 2 {
		term = quo2(mul2(mul2(term, square), bigOf(2)), bigOf(k))
		if tiny(sum, term) {
			break
		}
		sum = add2(sum, term)
	}
	scale := quo2(mul2(bigOf(2), bigExp(bigNew().Neg(square))), bigNew().Sqrt(bigPi()))
	return mul2(sum, scale)
}

// bigLogistic returns 1/(1 + e^-x).
func bigLogistic(x *big.Float) *big.Float {
	return quo2(bigOf(1), add2(bigOf(1), bigExp(bigNew().Neg(x))))
}

// bigTanh returns (e^2x - 1)/(e^2x + 1).
func bigTanh(x *big.Float) *big.Float {
	e := bigExp(mul2(x, bigOf(2)))
	return quo2(sub2(e, bigOf(1)), add2(e, bigOf(1)))
}

// ulps is how far got is from want, in units of the last place that a number of
// want's size has in a format of so many bits and least exponent.
func ulps(got float64, want *big.Float, bits, least int) float64 {
	if math.IsInf(got, 0) {
		got = math.Copysign(math.Ldexp(1, 2-least-bits), got) // the first number beyond the range
	}
	d := sub2(bigOf(got), want)
	e := least
	if want.Sign() != 0 {
		e = max(want.MantExp(nil)-bits, least)
	}
	u, _ := bigNew().SetMantExp(d, -e).Float64()
	return math.Abs(u)
}
