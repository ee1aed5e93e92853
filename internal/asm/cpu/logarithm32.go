package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/operand"
)

// logarithm is a function that supports the numbers for which both conditions hold or, if rare is set, all
// numbers.
type logarithm struct {
	name      string
	low, high condition
	of        func(v single, x vector, rare bool) vector
}

// logarithm writes a function. Vectors with an element for which a condition does not hold take a longer path.
func (v single) logarithm(f logarithm) {
	n := v.group()
	x, y := make([]vector, n), make([]vector, n)
	prefix(v.floats, 4, n, func(dst, from operand.Mem) {
		ordinary := make([]operand.Op, n)
		for i := range n {
			x[i] = v.load(from.Offset(i * v.bytes()))
			ordinary[i] = v.both(f.low, f.high, x[i])
		}
		v.jumpUnlessAll("rare", v.all(ordinary))
		asm.Interleave(v.c, n, func(i int) { y[i] = f.of(v, x[i], false) })
		v.c.Label("store")
		for i := range n {
			v.c.VMOVUPS(y[i], dst.Offset(i*v.bytes()))
		}
	})
	v.c.Label("rare")
	for i := range n {
		v.c.VMOVAPS(f.of(v, x[i], true), y[i])
	}
	v.c.JMP(operand.LabelRef("store"))
}

// logParts also returns n in the bits of the exponent.
func (v single) logParts(x vector) (n, f, shift vector) {
	k := v.register()
	v.c.VPSRAD(operand.Imm(23), v.subInt(x, v.k("split")), k)
	shift = v.shiftLeft(k, 23)
	n = v.register()
	v.c.VCVTDQ2PS(k, n)
	return n, v.sub(v.subInt(x, shift), v.k("one")), shift
}

func (v single) logPartsAny(x vector, rare bool) (n, f vector) {
	if !rare {
		n, f, _ = v.logParts(x)
		return n, f
	}
	subnormal := v.compare(condition{less, "normal"}, x)
	n, f, _ = v.logParts(v.blend(subnormal, v.mul(x, v.k("up24")), x))
	return v.blend(subnormal, v.sub(n, v.k("bits24")), n), f
}

// logSmall takes a vector or a constant as low.
func (v single) logSmall(coefficients string, f, square vector, low operand.Op) vector {
	p := v.horner(coefficients, 9, f)
	v.fma213(p, square, low)
	return p
}

func (v single) sumOfThree(a, b, small vector) vector {
	h := v.add(a, b)
	return v.add(h, v.add(v.add(v.sub(a, h), b), small))
}

// special returns y where x is positive and finite, and elsewhere the logarithm of x.
func (v single) special(y, x vector, zero string) vector {
	y = v.choose(condition{less, "inf"}, x, y, x)
	y = v.choose(condition{equal, zero}, x, v.load(v.k("minusInf")), y)
	return v.choose(condition{less, zero}, x, v.load(v.k("nan")), y)
}

func (v single) log(x vector, rare bool) vector {
	n, f := v.logPartsAny(x, rare)
	y := v.sumOfThree(v.mul(n, v.k("ln2High")), f, v.logSmall("log", f, v.mul(f, f), v.mul(n, v.k("ln2Low"))))
	if rare {
		y = v.special(y, x, "zero")
	}
	return y
}

// scaled returns f (scale + low) as a sum of two numbers.
func (v single) scaled(f vector, scale, low string) (p, rest vector) {
	p, rest = v.mul(f, v.k(scale)), v.copy(f)
	v.fms213(rest, v.load(v.k(scale)), p)
	v.plusProduct(rest, f, v.k(low))
	return p, rest
}

func (v single) log2(x vector, rare bool) vector {
	n, f := v.logPartsAny(x, rare)
	p, rest := v.scaled(f, "log2e", "log2eLow")
	y := v.sumOfThree(n, p, v.logSmall("log2", f, v.mul(f, f), rest))
	if rare {
		y = v.special(y, x, "zero")
	}
	return y
}

func (v single) log10(x vector, rare bool) vector {
	n, f := v.logPartsAny(x, rare)
	p, rest := v.scaled(f, "log10e", "log10eLow")
	v.plusProduct(rest, n, v.k("log10Of2Low"))
	small := v.logSmall("log", f, v.mul(f, f), v.k("zero"))
	v.fma213(small, v.load(v.k("log10e")), rest)
	y := v.sumOfThree(v.mul(n, v.k("log10Of2High")), p, small)
	if rare {
		y = v.special(y, x, "zero")
	}
	return y
}

func (v single) log1p(x vector, rare bool) vector {
	one := v.load(v.k("one"))
	u := v.add(x, one)
	n, f, shift := v.logParts(u)
	c := v.sub(v.min(x, one), v.sub(u, v.max(x, one)))
	c = v.mul(c, v.subInt(one, shift))
	if rare {
		c = v.choose(condition{less, "log1pFar"}, x, c, v.zero())
	}
	square := v.mul(f, f)
	w := v.sub(square, f)
	v.fma213(w, c, c)
	v.plusProduct(w, n, v.k("ln2Low"))
	y := v.copySign(v.sumOfThree(v.mul(n, v.k("ln2High")), f, v.logSmall("log", f, square, w)), x)
	if rare {
		y = v.special(y, x, "minusOne")
	}
	return y
}
