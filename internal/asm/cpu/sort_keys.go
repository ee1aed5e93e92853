package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// floatKeys writes the conversions between floating-point numbers and their keys: all bits of a negative number are inverted, and
// the sign bit of any other. All NaNs have one key.
func floatKeys(c *build.Context) {
	for _, k := range []struct {
		name           string
		size           int
		sign           uint64
		infinity, nan  uint64 // nan: the key
		broadcast      func(...operand.Op)
		move, shift    func(...operand.Op)
		or, xor, clear func(...operand.Op)
		compare        func(...operand.Op)
	}{
		{
			"32", 4, 1 << 31, 0x7f800000, 0xffc00000,
			c.VPBROADCASTD, c.VMOVDQU32, c.VPSRAD, c.VPORD, c.VPXORD, c.VPANDND, c.VPCMPUD,
		},
		{
			"64", 8, 1 << 63, 0x7ff << 52, 0xfff8 << 48,
			c.VPBROADCASTQ, c.VMOVDQU64, c.VPSRAQ, c.VPORQ, c.VPXORQ, c.VPANDNQ, c.VPCMPUQ,
		},
	} {
		constant := func(name string, v uint64) operand.Mem {
			if k.size == 4 {
				return asm.Constant(c, name+k.name, 1, operand.U32(v))
			}
			return asm.Constant(c, name+k.name, 1, operand.U64(v))
		}
		signs, infinities, nans := constant("keySign", k.sign), constant("keyInfinity", k.infinity), constant("keyNaN", k.nan)
		last := operand.Imm(uint64(8*k.size - 1))
		begin := func(name string) (dst, src, n reg.Register, sign reg.VecVirtual) {
			asm.Function(c, name)
			p := asm.Load(c, "dst", "src", "n")
			sign = c.ZMM()
			k.broadcast(signs, sign)
			return p[0], p[1], p[2], sign
		}

		dst, src, n, sign := begin("keysOf" + k.name + "AVX512")
		infinity, nan, isNaN := c.ZMM(), c.ZMM(), c.K()
		k.broadcast(infinities, infinity)
		k.broadcast(nans, nan)
		asm.For(c, n, 64/k.size, func(i reg.Register) {
			v, flip, magnitude := c.ZMM(), c.ZMM(), c.ZMM()
			k.move(asm.At(src, 0).Idx(i, uint8(k.size)), v)
			k.shift(last, v, flip)
			k.or(sign, flip, flip)
			k.clear(v, sign, magnitude)
			k.compare(operand.Imm(greaterInteger), infinity, magnitude, isNaN)
			k.xor(v, flip, flip)
			k.move(nan, isNaN, flip)
			k.move(flip, asm.At(dst, 0).Idx(i, uint8(k.size)))
		})
		asm.Return(c)

		dst, src, n, sign = begin("elementsOf" + k.name + "AVX512")
		ones := c.ZMM()
		c.VPTERNLOGD(operand.U8(0xff), ones, ones, ones)
		asm.For(c, n, 64/k.size, func(i reg.Register) {
			v, flip := c.ZMM(), c.ZMM()
			k.move(asm.At(src, 0).Idx(i, uint8(k.size)), v)
			k.shift(last, v, flip)
			k.xor(ones, flip, flip)
			k.or(sign, flip, flip)
			k.xor(v, flip, flip)
			k.move(flip, asm.At(dst, 0).Idx(i, uint8(k.size)))
		})
		asm.Return(c)
	}
}
