package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conversions writes the conversions of floating-point numbers to integers, and their signs.
func conversions(c *build.Context) {
	for _, f := range asm.Floats {
		signsAVX2(c, f)
		int32sAVX2(c, f)
	}
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

// signsAVX2 is signs with AVX2.
func signsAVX2(c *build.Context, f asm.Float) {
	one, sign := operand.Constant(asm.Bits32(1)), operand.Constant(operand.U32(1<<31))
	if f.Double {
		one, sign = asm.Bits64(1), operand.U64(1<<63)
	}
	ones, highest := asm.Constant(c, "unit"+f.Name, 1, one), asm.Constant(c, "highest"+f.Name, 1, sign)
	asm.Function(c, "signs"+f.Name+"AVX2")
	p := asm.Load(c, "dst", "src", "n")
	unit, bit, zero := c.YMM(), c.YMM(), c.YMM()
	f.Broadcast(c, ones, unit)
	f.Broadcast(c, highest, bit)
	c.VXORPS(zero, zero, zero)
	asm.For(c, p[2], 32/f.Size, func(i reg.Register) {
		v, r, mask := c.YMM(), c.YMM(), c.YMM()
		c.VMOVUPS(asm.At(p[1], 0).Idx(i, uint8(f.Size)), v)
		c.VANDPS(bit, v, r)
		c.VORPS(unit, r, r)
		f.Compare(c, operand.Imm(notEqual), zero, v, mask)
		c.VANDPS(mask, r, r)
		f.Compare(c, operand.Imm(unordered), v, v, mask)
		c.VANDPS(v, mask, mask)
		c.VORPS(mask, r, r)
		c.VMOVUPS(r, asm.At(p[0], 0).Idx(i, uint8(f.Size)))
	})
	asm.Return(c)
}

// int32sAVX2 writes the conversion to int32 with AVX2. The instruction gives the least integer for numbers out of range. Its complement
// is the greatest one.
func int32sAVX2(c *build.Context, f asm.Float) {
	limit := operand.Constant(asm.Bits32(1 << 31))
	if f.Double {
		limit = asm.Bits64(1 << 31)
	}
	limits := asm.Constant(c, "limit"+f.Name, 1, limit)
	asm.Function(c, "int32sOf"+f.Name+"AVX2")
	p := asm.Load(c, "dst", "src", "n")
	bound := c.YMM()
	f.Broadcast(c, limits, bound)
	asm.For(c, p[2], 32/f.Size, func(i reg.Register) {
		v, above, isNaN := c.YMM(), c.YMM(), c.YMM()
		c.VMOVUPS(asm.At(p[1], 0).Idx(i, uint8(f.Size)), v)
		f.Compare(c, operand.Imm(greaterEqual), bound, v, above)
		f.Compare(c, operand.Imm(unordered), v, v, isNaN)
		r := c.YMM()
		if f.Double {
			r, above, isNaN = c.XMM(), narrowMask(c, above), narrowMask(c, isNaN)
			c.VCVTTPD2DQY(v, r)
		} else {
			c.VCVTTPS2DQ(v, r)
		}
		c.VPXOR(above, r, r)
		c.VPANDN(r, isNaN, r)
		c.VMOVDQU(r, asm.At(p[0], 0).Idx(i, 4))
	})
	asm.Return(c)
}

// narrowMask returns the mask m of four elements of 8 bytes as one of four elements of 4 bytes.
func narrowMask(c *build.Context, m reg.VecVirtual) reg.VecVirtual {
	upper, narrow := c.XMM(), c.XMM()
	c.VEXTRACTF128(operand.Imm(1), m, upper)
	c.VSHUFPS(operand.Imm(0x88), upper, m.AsX(), narrow)
	return narrow
}
