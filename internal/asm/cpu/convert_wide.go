package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wideConversions writes conversions with AVX2 for which it has no instruction: between floating-point numbers and integers of 8
// bytes, from unsigned integers of 4 bytes, and from float64 to float32 rounded to odd.
func wideConversions(c *build.Context) {
	for _, f := range asm.Floats {
		int64sAVX2(c, f)
	}
	k := wideIntegers{
		Context: c,
		high:    asm.Constant(c, "highMagic", 1, asm.Bits64(3<<67)),
		low:     asm.Constant(c, "lowMagic", 1, asm.Bits64(1<<52)),
		both:    asm.Constant(c, "bothMagic", 1, asm.Bits64(3<<67+1<<52)),
	}
	k.write("float64sOfInt64sAVX2", false)
	k.write("float32sOfInt64sAVX2", true)
	float64sOfUint32s(c)
	oddFloats(c)
}

// all returns a vector of copies of a constant of 8 bytes.
func all(c *build.Context, name string, value operand.Constant) reg.VecVirtual {
	v := c.YMM()
	c.VPBROADCASTQ(asm.Constant(c, name, 1, value), v)
	return v
}

// int64sAVX2 writes the conversion to int64 of elements whose integer part is below 2^51. The integer part is in the lowest bits of
// its sum with 1.5 * 2^52. The function stops before a group of 8 elements that contains a larger number or a NaN, and returns the
// number of converted elements.
func int64sAVX2(c *build.Context, f asm.Float) {
	asm.Function(c, "int64sOf"+f.Name+"AVX2")
	p := asm.Load(c, "dst", "src", "n")
	limit, magic := all(c, "int64Limit"+f.Name, asm.Bits64(1<<51)), all(c, "int64Magic"+f.Name, asm.Bits64(3<<51))
	magnitude, bits := c.YMM(), c.GP64()
	c.VPCMPEQD(magnitude, magnitude, magnitude)
	c.VPSRLQ(operand.Imm(1), magnitude, magnitude)
	i := asm.For(c, p[2], 8, func(i reg.Register) {
		var v, small [2]reg.VecVirtual
		for j := range v {
			v[j], small[j] = c.YMM(), c.YMM()
			from := asm.At(p[1], 4*j*f.Size).Idx(i, uint8(f.Size))
			if f.Double {
				c.VROUNDPD(operand.Imm(11), from, v[j]) // towards 0
			} else {
				c.VCVTPS2PD(from, v[j])
				c.VROUNDPD(operand.Imm(11), v[j], v[j])
			}
			c.VANDPD(magnitude, v[j], small[j])
			c.VCMPPD(operand.Imm(less), limit, small[j], small[j])
			c.VADDPD(magic, v[j], v[j])
			c.VPSUBQ(magic, v[j], v[j])
		}
		c.VANDPD(small[1], small[0], small[0])
		c.VMOVMSKPD(small[0], bits.As32())
		c.CMPL(bits.As32(), operand.Imm(15))
		c.JNE(operand.LabelRef("out"))
		for j := range v {
			c.VMOVUPD(v[j], asm.At(p[0], 32*j).Idx(i, 8))
		}
	})
	c.Label("out")
	c.MOVQ(i, asm.Result(c))
	asm.Return(c)
}

// wideIntegers converts integers of 8 bytes to float64: the upper 16 bits as the lowest ones of a number near 3 * 2^67, and the others
// as those of a number near 2^52. Only the addition of the two parts rounds.
type wideIntegers struct {
	*build.Context
	high, low, both operand.Mem
}

func (w wideIntegers) write(name string, single bool) {
	asm.Function(w.Context, name)
	p := asm.Load(w.Context, "dst", "src", "n")
	high, low, both, zero := w.YMM(), w.YMM(), w.YMM(), w.YMM()
	w.VBROADCASTSD(w.high, high)
	w.VBROADCASTSD(w.low, low)
	w.VBROADCASTSD(w.both, both)
	w.VPXOR(zero, zero, zero)
	var odd stickyBits
	if single {
		odd = newStickyBits(w.Context)
	}
	asm.For(w.Context, p[2], 8, func(i reg.Register) {
		for first := 0; first < 8; first += 4 {
			v, upper := w.YMM(), w.YMM()
			w.VMOVDQU(asm.At(p[1], 8*first).Idx(i, 8), v)
			if single {
				odd.collect(w.Context, v, zero)
			}
			w.VPSRAD(operand.Imm(16), v, upper)
			w.VPBLENDW(operand.Imm(0x33), zero, upper, upper)
			w.VPADDQ(high, upper, upper)
			w.VPBLENDW(operand.Imm(0x88), low, v, v)
			w.VSUBPD(both, upper, upper)
			w.VADDPD(v, upper, v)
			if single {
				w.VCVTPD2PSY(v, v.AsX())
				w.VMOVUPS(v.AsX(), asm.At(p[0], 4*first).Idx(i, 4))
			} else {
				w.VMOVUPD(v, asm.At(p[0], 8*first).Idx(i, 8))
			}
		}
	})
	asm.Return(w.Context)
}

// stickyBits rounds integers that float64 may not hold to odd multiples of 2^11, which it holds, or leaves multiples of 2^11 as they
// are. Rounding the result to float32 rounds the integer once; see roundToOdd.
type stickyBits struct{ bound, rest, bit reg.VecVirtual }

func newStickyBits(c *build.Context) stickyBits {
	return stickyBits{all(c, "exactBound", operand.U64(1<<53)), all(c, "restBits", operand.U64(1<<11-1)), all(c, "stickyBit", operand.U64(1<<11))}
}

func (s stickyBits) collect(c *build.Context, v, zero reg.VecVirtual) {
	rest, odd, small := c.YMM(), c.YMM(), c.YMM()
	c.VPAND(s.rest, v, rest)
	c.VPADDQ(s.rest, rest, odd) // has the sticky bit unless rest is 0
	c.VPAND(s.bit, odd, odd)
	c.VPSUBQ(rest, v, rest)
	c.VPOR(odd, rest, odd)
	c.VPADDQ(s.bound, v, small) // below 2^54 where |v| <= 2^53
	c.VPSRLQ(operand.Imm(54), small, small)
	c.VPCMPEQQ(zero, small, small)
	c.VBLENDVPD(small, v, odd, v)
}

// float64sOfUint32s converts x as the signed integer x - 2^31, and adds 2^31.
func float64sOfUint32s(c *build.Context) {
	asm.Function(c, "float64sOfUint32s")
	p := asm.Load(c, "dst", "src", "n")
	half, sign := all(c, "halfRange", asm.Bits64(1<<31)), c.XMM()
	c.VPCMPEQD(sign, sign, sign)
	c.VPSLLD(operand.Imm(31), sign, sign)
	asm.For(c, p[2], 8, func(i reg.Register) {
		for first := 0; first < 8; first += 4 {
			x, v := c.XMM(), c.YMM()
			c.VPXOR(asm.At(p[1], 4*first).Idx(i, 4), sign, x)
			c.VCVTDQ2PD(x, v)
			c.VADDPD(half, v, v)
			c.VMOVUPD(v, asm.At(p[0], 8*first).Idx(i, 8))
		}
	})
	asm.Return(c)
}

// oddFloats writes roundToOdd of 8 elements at a time.
func oddFloats(c *build.Context) {
	asm.Function(c, "oddFloat32sAVX2")
	p := asm.Load(c, "dst", "src", "n")
	magnitude, one := c.YMM(), c.XMM()
	c.VPCMPEQD(magnitude, magnitude, magnitude)
	c.VPSRLD(operand.Imm(31), magnitude.AsX(), one)
	c.VPCMPEQD(magnitude, magnitude, magnitude)
	c.VPSRLQ(operand.Imm(1), magnitude, magnitude)
	asm.For(c, p[2], 8, func(i reg.Register) {
		for first := 0; first < 8; first += 4 {
			v, back, above, r := c.YMM(), c.YMM(), c.YMM(), c.XMM()
			c.VMOVUPD(asm.At(p[1], 8*first).Idx(i, 8), v)
			c.VCVTPD2PSY(v, r)
			c.VCVTPS2PD(r, back)
			inexact := c.YMM()
			c.VCMPPD(operand.Imm(notEqual), v, back, inexact)
			c.VANDPD(magnitude, v, v)
			c.VANDPD(magnitude, back, back)
			c.VCMPPD(operand.Imm(less), back, v, above)
			c.VPADDD(narrowMask(c, above), r, r)
			odd := narrowMask(c, inexact)
			c.VPAND(one, odd, odd)
			c.VPOR(odd, r, r)
			c.VMOVUPS(r, asm.At(p[0], 4*first).Idx(i, 4))
		}
	})
	asm.Return(c)
}
