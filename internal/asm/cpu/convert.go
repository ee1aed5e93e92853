package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conversions writes the conversions of floating-point numbers to integers, and their signs.
func conversions(c *build.Context) {
	signs(c, "32", 4, asm.Bits32(1), operand.U32(1<<31), c.VPBROADCASTD, c.VMOVDQU32, c.VPANDD, c.VPANDND, c.VPTESTMD, c.VPORD_Z, c.VCMPPS)
	signs(c, "64", 8, asm.Bits64(1), operand.U64(1<<63), c.VPBROADCASTQ, c.VMOVDQU64, c.VPANDQ, c.VPANDNQ, c.VPTESTMQ, c.VPORQ_Z, c.VCMPPD)
	zmm, ymm := func() reg.VecVirtual { return c.ZMM() }, func() reg.VecVirtual { return c.YMM() }
	for _, k := range []struct {
		name      string
		from, to  int // bytes of an element
		bound     operand.Constant
		largest   operand.Constant
		in, out   func() reg.VecVirtual
		broadcast func(...operand.Op)
		load      func(...operand.Op)
		convert   func(...operand.Op)
		compare   func(...operand.Op)
		move      func(...operand.Op)
	}{
		{"int32sOf32", 4, 4, asm.Bits32(1 << 31), operand.U32(1<<31 - 1), zmm, zmm, c.VBROADCASTSS, c.VMOVUPS, c.VCVTTPS2DQ, c.VCMPPS, c.VMOVDQU32},
		{"int32sOf64", 8, 4, asm.Bits64(1<<31 - 1), operand.U32(1<<31 - 1), zmm, ymm, c.VBROADCASTSD, c.VMOVUPD, c.VCVTTPD2DQ, c.VCMPPD, c.VMOVDQU32},
		{"int64sOf32", 4, 8, asm.Bits32(1 << 63), operand.U64(1<<63 - 1), ymm, zmm, c.VBROADCASTSS, c.VMOVUPS, c.VCVTTPS2QQ, c.VCMPPS, c.VMOVDQU64},
		{"int64sOf64", 8, 8, asm.Bits64(1 << 63), operand.U64(1<<63 - 1), zmm, zmm, c.VBROADCASTSD, c.VMOVUPD, c.VCVTTPD2QQ, c.VCMPPD, c.VMOVDQU64},
	} {
		bounds, largests := asm.Constant(c, k.name+"Bound", 1, k.bound), asm.Constant(c, k.name+"Largest", 1, k.largest)
		asm.Function(c, k.name+"AVX512")
		p := asm.Load(c, "dst", "src", "n")
		bound, largest := k.in(), k.out()
		k.broadcast(bounds, bound)
		if k.to == 4 {
			c.VPBROADCASTD(largests, largest)
		} else {
			c.VPBROADCASTQ(largests, largest)
		}
		above, isNaN := c.K(), c.K()
		zero := k.out()
		c.VPXOR(zero.AsY(), zero.AsY(), zero.AsY()) // and the upper half
		asm.For(c, p[2], 64/max(k.from, k.to), func(i reg.Register) {
			v, r := k.in(), k.out()
			k.load(asm.At(p[1], 0).Idx(i, uint8(k.from)), v)
			k.convert(v, r) // the least integer, if v is out of range or NaN
			k.compare(operand.Imm(greaterEqual), bound, v, above)
			k.compare(operand.Imm(unordered), v, v, isNaN)
			k.move(largest, above, r)
			k.move(zero, isNaN, r)
			k.move(r, asm.At(p[0], 0).Idx(i, uint8(k.to)))
		})
		asm.Return(c)
	}
}

func signs(c *build.Context, name string, size int, one, sign operand.Constant, broadcast, move, and, clear, test func(...operand.Op), or func(one, v, lanes, to operand.Op), compare func(...operand.Op)) {
	ones, highest := asm.Constant(c, "signsOne"+name, 1, one), asm.Constant(c, "signsHighest"+name, 1, sign)
	asm.Function(c, "signs"+name+"AVX512")
	p := asm.Load(c, "dst", "src", "n")
	unit, bit, rest := c.ZMM(), c.ZMM(), c.ZMM()
	broadcast(ones, unit)
	broadcast(highest, bit)
	c.VPTERNLOGD(operand.U8(0xff), rest, rest, rest)
	clear(rest, bit, rest)
	nonzero, isNaN := c.K(), c.K()
	asm.For(c, p[2], 64/size, func(i reg.Register) {
		v, r := c.ZMM(), c.ZMM()
		move(asm.At(p[1], 0).Idx(i, uint8(size)), v)
		test(rest, v, nonzero)
		compare(operand.Imm(unordered), v, v, isNaN)
		and(bit, v, r)
		or(unit, r, nonzero, r)
		move(v, isNaN, r)
		move(r, asm.At(p[0], 0).Idx(i, uint8(size)))
	})
	asm.Return(c)
}
