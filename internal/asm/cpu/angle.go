package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// angle writes the inverse trigonometric functions of float64. Each method performs the operations of the Go function with its name,
// in the same order. The results therefore have the same bits.
type angle struct{ fused }

// angleConstants are the names of the constants in angleTable, polynomials lowest coefficient first.
var angleConstants = constantsOf(`zero one two half quarter minusOne abs sign pi piRest atanLow atanHigh
	halfPi atanRest quarterPi quarterRest atan*15 asin*13`)

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
	a := v.and(x, v.k("abs"))
	near, root, z := v.sine(a)
	s := v.blend(near, a, v.xor(root, v.k("sign")))
	base := v.blend(near, v.zero(), v.load(v.k("halfPi")))
	rest := v.blend(near, v.zero(), v.load(v.k("atanRest")))
	return v.copySign(v.arc(base, rest, s, z, "asin", 13), x)
}

func (v angle) acos(x vector) vector {
	near, root, z := v.sine(v.and(x, v.k("abs")))
	s := v.blend(near, v.xor(x, v.k("sign")), v.or(root, v.and(x, v.k("sign"))))
	negative := v.signs(x)
	base := v.blend(near, v.load(v.k("halfPi")), v.blend(negative, v.load(v.k("pi")), v.zero()))
	rest := v.blend(near, v.load(v.k("atanRest")), v.blend(negative, v.load(v.k("piRest")), v.zero()))
	return v.arc(base, rest, s, z, "asin", 13)
}

// sine returns the mask of a <= 1/2, sqrt(2 - 2a), and a^2 or (1 - a)/2.
func (v angle) sine(a vector) (near operand.Op, root, z vector) {
	near = v.compare(condition{lessEqual, "half"}, a)
	rest := v.load(v.k("two"))
	v.lessProduct(rest, a, v.k("two"))
	return near, v.sqrt(rest), v.blend(near, v.mul(a, a), v.mul(rest, v.k("quarter")))
}

// arc returns base + rest + s + s z P(z), where P has n coefficients of that name.
func (v angle) arc(base, rest, s, z vector, name string, n int) vector {
	sum := v.add(base, s)
	low := v.add(v.add(v.sub(base, sum), s), rest)
	v.plusProduct(low, v.mul(s, z), v.estrin(name, n, z))
	return v.add(sum, low)
}

// atan2 jumps to "out" if y/x is NaN in an element.
func (v angle) atan2(y, x vector) vector {
	q := v.and(v.div(y, x), v.k("abs"))
	v.outUnless(condition{greaterEqual, "zero"}, q)
	return v.copySign(v.turn(v.atanOf(q), x), y)
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
	s := v.div(above, below)
	return v.arc(base, rest, s, v.mul(s, s), "atan", 15)
}
