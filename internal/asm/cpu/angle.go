package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// angle writes the inverse trigonometric functions of float64. Each method performs the operations of the Go function with its name,
// in the same order. The results therefore have the same bits.
type angle struct{ fused }

// angleConstants are the names of the constants in angleTable, polynomials highest coefficient first.
var angleConstants = constantsOf(`zero one minusOne abs sign nan pi atanLow atanHigh
	halfPi atanRest quarterPi quarterRest atanP*5 atanQ*5`)

// angles writes the functions with AVX2 and with AVX-512.
func angles(c *build.Context) {
	anglesOf(c, false, "AVX2")
	anglesOf(c, true, "AVX512")
}

func anglesOf(c *build.Context, wide bool, suffix string) {
	begin := func(name string) angle {
		asm.Function(c, name+suffix)
		return angle{fused{floats{c: c, wide: wide, table: asm.Variable(c, "angleTable"), constants: angleConstants}}}
	}
	for _, f := range []mapping[angle]{{"atan", angle.atan}, {"asin", angle.asin}, {"acos", angle.acos}} {
		v := begin(f.name + "64")
		prefix(v.floats, 8, 1, func(dst, x operand.Mem) { c.VMOVUPD(f.of(v, v.load(x)), dst) })
	}
	v := begin("atan2_64")
	prefix2(v.floats, 8, func(dst, y, x operand.Mem) { c.VMOVUPD(v.atan2(v.load(y), v.load(x)), dst) })
}

func (v angle) atan(x vector) vector {
	return v.copySign(v.atanOf(v.and(x, v.k("abs"))), x)
}

func (v angle) asin(x vector) vector {
	y := v.copySign(v.atanOf(v.and(v.div(x, v.cathetus(x)), v.k("abs"))), x)
	return v.choose(condition{unordered, "zero"}, y, v.load(v.k("nan")), y)
}

func (v angle) acos(x vector) vector {
	y := v.turn(v.atanOf(v.div(v.cathetus(x), v.and(x, v.k("abs")))), x)
	return v.choose(condition{unordered, "zero"}, y, v.load(v.k("nan")), y)
}

// atan2 jumps to "out" if y/x is NaN in an element.
func (v angle) atan2(y, x vector) vector {
	q := v.and(v.div(y, x), v.k("abs"))
	v.outUnless(condition{greaterEqual, "zero"}, q)
	return v.copySign(v.turn(v.atanOf(q), x), y)
}

func (v angle) cathetus(x vector) vector {
	c := v.load(v.k("one"))
	v.lessProduct(c, x, x)
	return v.sqrt(c)
}

// turn returns pi - a if x is negative, or -0, and a otherwise.
func (v angle) turn(a, x vector) vector {
	return v.blend(v.signs(x), v.sub(v.load(v.k("pi")), a), a)
}

// atanOf returns the arctangent of a, which is not negative. The three ranges of a differ in the argument of the
// polynomial, which is a quotient, and in the number that the Go function adds. In the first range 0 is added here.
func (v angle) atanOf(a vector) vector {
	one := v.load(v.k("one"))
	high := v.compare(condition{greater, "atanHigh"}, a)
	above, below := v.sub(a, one), v.add(a, one)
	above = v.blend(high, v.load(v.k("minusOne")), above)
	below = v.blend(high, a, below)
	base := v.blend(high, v.load(v.k("halfPi")), v.load(v.k("quarterPi")))
	rest := v.blend(high, v.load(v.k("atanRest")), v.load(v.k("quarterRest")))
	low := v.compare(condition{lessEqual, "atanLow"}, a)
	zero := v.load(v.k("zero"))
	above = v.blend(low, a, above)
	below = v.blend(low, one, below)
	base = v.blend(low, zero, base)
	rest = v.blend(low, zero, rest)
	return v.add(v.add(base, v.atanNear(v.div(above, below))), rest)
}

func (v angle) atanNear(x vector) vector {
	z := v.mul(x, x)
	p := v.mul(z, v.k("atanP"))
	for i := 1; i < 4; i++ {
		p = v.mul(v.add(p, v.ki("atanP", i)), z)
	}
	p = v.add(p, v.ki("atanP", 4))
	q := v.add(z, v.k("atanQ"))
	for i := 1; i < 5; i++ {
		q = v.add(v.mul(q, z), v.ki("atanQ", i))
	}
	return v.add(v.mul(v.div(v.mul(z, p), q), x), x)
}
