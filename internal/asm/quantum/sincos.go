package quantum

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The rows of sincosTable, each of which has a number in four lanes.
const (
	absolute   = iota // the mask of all bits except the sign
	limit             // the limit of |x|
	inverse           // 2/pi
	integer           // 1.5 2^52: a sum with it is rounded to an integer, in the lowest bits
	halfPi            // pi/2 as a float64
	halfPiRest        // pi/2 minus that float64
	half              // 0.5
	one               // 1
	sineTerms         // seven coefficients of 1, z, ... with z = r^2: (sin r - r) / (r z)
)

const (
	cosineTerms = sineTerms + 7   // seven coefficients of 1, z, ...: (cos r - 1 + z/2) / z^2
	lowestBit   = cosineTerms + 7 // bit 0
)

// sincos writes sines and cosines in float64. With q the multiple of pi/2 nearest to x and r the remainder, the sine
// and the cosine of r are exchanged if q is odd. Their signs follow from the next bit of q.
func sincos(c *build.Context) {
	asm.Function(c, "sincosAVX")
	p := asm.Load(c, "sin", "cos", "x", "n", "table")
	sin, cos, x, n, table := p[0], p[1], p[2], p[3], p[4]
	row := func(i int) operand.Mem { return operand.Mem{Base: table, Disp: 32 * i} }
	in := map[int]reg.VecVirtual{} // the rows that are in registers
	for _, i := range []int{inverse, integer, halfPi, halfPiRest, lowestBit} {
		in[i] = c.YMM()
		c.VMOVUPD(row(i), in[i])
	}
	i := c.GP64()
	c.XORQ(i, i)
	c.Label("loop")
	at := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 8} }
	r := c.YMM()
	c.VMOVUPD(at(x), r)
	large, some := c.YMM(), c.GP64()
	c.VANDPD(row(absolute), r, large)
	c.VCMPPD(operand.Imm(5), row(limit), large, large) // not below the limit
	c.VMOVMSKPD(large, some.As32())
	c.TESTL(some.As32(), some.As32())
	c.JNZ(operand.LabelRef("done"))

	quadrant := reduce(c, r, in)
	sine, cosine := polynomials(c, r, row)
	s, o := exchange(c, quadrant, sine, cosine, in[lowestBit])
	c.VMOVUPD(s, at(sin))
	c.VMOVUPD(o, at(cos))
	c.ADDQ(operand.Imm(4), i)
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("loop"))
	c.Label("done")
	c.Store(i, c.ReturnIndex(0))
	asm.Return(c)
}

// reduce subtracts from x the nearest multiple of pi/2, in two parts, and returns the multiple in the lowest bits.
func reduce(c *build.Context, x reg.VecVirtual, in map[int]reg.VecVirtual) reg.VecVirtual {
	q, multiple := c.YMM(), c.YMM()
	c.VMOVAPD(in[integer], q)
	c.VFMADD231PD(in[inverse], x, q)
	c.VSUBPD(in[integer], q, multiple)
	c.VFNMADD231PD(in[halfPi], multiple, x)
	c.VFNMADD231PD(in[halfPiRest], multiple, x)
	return q
}

// polynomials returns the sine and the cosine of r.
func polynomials(c *build.Context, r reg.VecVirtual, row func(int) operand.Mem) (sine, cosine reg.VecVirtual) {
	z := c.YMM() // r^2
	c.VMULPD(r, r, z)
	sine, cosine = c.YMM(), c.YMM()
	c.VMOVUPD(row(sineTerms+6), sine)
	c.VMOVUPD(row(cosineTerms+6), cosine)
	for i := 5; i >= 0; i-- {
		c.VFMADD213PD(row(sineTerms+i), z, sine)
		c.VFMADD213PD(row(cosineTerms+i), z, cosine)
	}
	cube, square, parabola := c.YMM(), c.YMM(), c.YMM() // r z, z^2 and 1 - z/2
	c.VMULPD(r, z, cube)
	c.VFMADD213PD(r, cube, sine)
	c.VMULPD(z, z, square)
	c.VMOVUPD(row(one), parabola)
	c.VFNMADD231PD(row(half), z, parabola)
	c.VFMADD213PD(parabola, square, cosine)
	return sine, cosine
}

// exchange returns the sine and the cosine of x from those of the remainder and from the quadrant q.
func exchange(c *build.Context, q, sine, cosine, lowest reg.VecVirtual) (s, o reg.VecVirtual) {
	odd := c.YMM()
	c.VPSLLQ(operand.Imm(63), q, odd)
	s, o = c.YMM(), c.YMM()
	c.VBLENDVPD(odd, cosine, sine, s)
	c.VBLENDVPD(odd, sine, cosine, o)
	next := c.YMM() // bit 1 of q + 1 is the sign of the cosine
	c.VPADDQ(lowest, q, next)
	for _, sign := range []reg.VecVirtual{q, next} {
		c.VPSRLQ(operand.Imm(1), sign, sign)
		c.VPSLLQ(operand.Imm(63), sign, sign)
	}
	c.VXORPD(q, s, s)
	c.VXORPD(next, o, o)
	return s, o
}
