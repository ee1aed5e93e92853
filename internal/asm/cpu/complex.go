package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// complexLoops writes element-wise operations on complex numbers. Two vectors are
// added as vectors of real numbers, so there is no function for that here.
func complexLoops(c *build.Context) {
	for _, f := range asm.Floats {
		k := complexLoop{Context: c, Float: f, integerLoops: integerLoops{c, "Complex" + map[bool]string{false: "64", true: "128"}[f.Double], 2 * f.Size}}
		k.each("add", 1, func(d reg.Register, v ...reg.Register) { f.Add(c, v[1], v[0], d) })
		k.each("sub", 1, func(d reg.Register, v ...reg.Register) { f.Sub(c, v[1], v[0], d) })
		k.each("sub", 0, func(d reg.Register, v ...reg.Register) { f.Sub(c, v[1], v[0], d) })
		k.each("mul", none, k.product)
		k.each("mul", 1, k.product)
		k.integerLoops.write("conj", 0, none, []string{"x"}, k.conjugate)
		k.realParts()
		k.squares()
	}
	moduli(c)
}

// complexLoop writes loops over complex numbers with parts of type Float.
type complexLoop struct {
	*build.Context
	asm.Float
	integerLoops integerLoops
}

// each writes a binary operation whose operand at the index number is one element.
func (k complexLoop) each(name string, number int, op integerOperation) {
	kind := map[int]string{none: "VV", 0: "SV", 1: "VS"}[number]
	k.integerLoops.write(name+kind, 0, number, []string{"x", "y"}, op)
}

// product multiplies: (a + bi)(c + di) = (a c - b d) + (a d + b c) i. It rounds every product and every sum.
func (k complexLoop) product(d reg.Register, v ...reg.Register) {
	w := k.integerLoops
	parts, swapped := w.like(d), w.like(d)
	if k.Double {
		k.VPERMILPD(operand.Imm(0xf), v[0], parts)
		k.VPERMILPD(operand.Imm(0x5), v[1], swapped)
		k.VMULPD(swapped, parts, parts)
		k.VMOVDDUP(v[0], d)
		k.VMULPD(v[1], d, d)
		k.VADDSUBPD(parts, d, d)
		return
	}
	k.VMOVSHDUP(v[0], parts)
	k.VPERMILPS(operand.Imm(0xb1), v[1], swapped)
	k.VMULPS(swapped, parts, parts)
	k.VMOVSLDUP(v[0], d)
	k.VMULPS(v[1], d, d)
	k.VADDSUBPS(parts, d, d)
}

// conjugate inverts the sign of imaginary parts.
func (k complexLoop) conjugate(d reg.Register, v ...reg.Register) {
	k.VPCMPEQD(d, d, d)
	if k.Double {
		k.VPSLLDQ(operand.Imm(8), d, d)
	}
	k.VPSLLQ(operand.Imm(63), d, d)
	k.VPXOR(v[0], d, d)
}

// pairs writes a loop over two vectors of complex numbers at a time, which combine makes a vector of real ones.
func (k complexLoop) pairs(name string, combine func(first, second reg.VecVirtual)) {
	asm.Function(k.Context, name+k.integerLoops.name)
	p := asm.Load(k.Context, "dst", "x", "n")
	asm.For(k.Context, p[2], 32/k.Size, func(i reg.Register) {
		if k.Double { // i counts elements of 16 bytes
			at := k.GP64()
			k.MOVQ(i, at)
			k.SHLQ(operand.Imm(1), at)
			i = at
		}
		first, second := k.YMM(), k.YMM()
		k.VMOVUPS(asm.At(p[1], 0).Idx(i, 8), first)
		k.VMOVUPS(asm.At(p[1], 32).Idx(i, 8), second)
		combine(first, second)
		k.VPERMQ(operand.Imm(0xd8), first, first)
		k.VMOVUPS(first, asm.At(p[0], 0).Idx(i, 4))
	})
	asm.Return(k.Context)
}

func (k complexLoop) realParts() {
	k.pairs("reals", func(first, second reg.VecVirtual) {
		if k.Double {
			k.VUNPCKLPD(second, first, first)
		} else {
			k.VSHUFPS(operand.Imm(0x88), second, first, first)
		}
	})
}

func (k complexLoop) squares() {
	k.pairs("absSquares", func(first, second reg.VecVirtual) {
		k.Mul(k.Context, first, first, first)
		k.Mul(k.Context, second, second, second)
		if k.Double {
			k.VHADDPD(second, first, first)
		} else {
			k.VHADDPS(second, first, first)
		}
	})
}

// moduli writes the absolute values of complex64, four at a time: in float64 the squares are exact and nothing overflows.
func moduli(c *build.Context) {
	asm.Function(c, "absComplex64")
	p := asm.Load(c, "dst", "x", "n")
	infinity, magnitude := c.YMM(), c.YMM()
	c.VBROADCASTSS(asm.Constant(c, "infinity", 1, operand.U32(0x7f800000)), infinity)
	c.VPCMPEQD(magnitude, magnitude, magnitude)
	c.VPSRLD(operand.Imm(1), magnitude, magnitude)
	asm.For(c, p[2], 4, func(i reg.Register) {
		from := asm.At(p[1], 0).Idx(i, 8)
		low, high, infinite, swapped := c.YMM(), c.YMM(), c.YMM(), c.YMM()
		c.VCVTPS2PD(from, low)
		c.VCVTPS2PD(from.Offset(16), high)
		c.VMULPD(low, low, low)
		c.VMULPD(high, high, high)
		c.VHADDPD(high, low, low)
		c.VSQRTPD(low, low)
		c.VPERMPD(operand.Imm(0xd8), low, low)
		r := c.XMM()
		c.VCVTPD2PSY(low, r)
		// An infinite part makes it infinite, even if the other is NaN.
		c.VANDPS(from, magnitude, infinite)
		c.VPCMPEQD(infinity, infinite, infinite)
		c.VPERMILPS(operand.Imm(0xb1), infinite, swapped)
		c.VPOR(swapped, infinite, infinite)
		c.VBLENDVPS(narrowMask(c, infinite), infinity.AsX(), r, r)
		c.VMOVUPS(r, asm.At(p[0], 0).Idx(i, 4))
	})
	asm.Return(c)
}
