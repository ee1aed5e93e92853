package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitOperations writes bitwise operations on words of 8 bytes, and shifts of integers.
func bitOperations(c *build.Context) {
	words := integerLoops{c, "Words", 8}
	words.forms("and", false, 0, ternaryWords(c.VPAND))
	words.forms("or", false, 0, ternaryWords(c.VPOR))
	words.forms("xor", false, 0, ternaryWords(c.VPXOR))
	shiftWords(c, "shiftLeftWords", c.VPSLLQ)
	shiftWords(c, "shiftRightWords", c.VPSRLQ)
	for _, s := range []struct {
		name     string
		subtract func(...operand.Op)
	}{{"8", c.VPSUBB}, {"16", c.VPSUBW}, {"32", c.VPSUBD}, {"64", c.VPSUBQ}} {
		shiftSigned(c, s.name, s.subtract)
	}
	for size := 1; size <= 8; size *= 2 {
		shiftCounts(c, "shiftLeftVV", size, false, true)
		shiftCounts(c, "shiftRightVV", size, false, false)
		shiftCounts(c, "shiftRightVV", size, true, false)
	}
}

// ternaryWords returns the operation v[0] op v[1].
func ternaryWords(op func(x, y, d operand.Op)) integerOperation {
	return func(d reg.Register, v ...reg.Register) { op(v[1], v[0], d) }
}

// shiftWords writes dst[i] = (x[i] shifted by count) & keep for a multiple of 4 words.
func shiftWords(c *build.Context, name string, shift func(...operand.Op)) {
	asm.Function(c, name)
	p := asm.Load(c, "dst", "x", "count", "keep", "n")
	count, keep := c.XMM(), c.YMM()
	c.VMOVQ(p[2], count)
	c.VMOVQ(p[3], keep.AsX())
	c.VPBROADCASTQ(keep.AsX(), keep)
	asm.For(c, p[4], 4, func(i reg.Register) {
		v := c.YMM()
		c.VMOVDQU(asm.At(p[1], 0).Idx(i, 8), v)
		shift(count, v, v)
		c.VPAND(keep, v, v)
		c.VMOVDQU(v, asm.At(p[0], 0).Idx(i, 8))
	})
	asm.Return(c)
}

// shiftSigned writes shifts to the right of signed integers. They are shifted as unsigned ones, and then extended from the bit to
// which the sign has moved: (v ^ sign) - sign.
func shiftSigned(c *build.Context, name string, subtract func(...operand.Op)) {
	asm.Function(c, "shiftSigned"+name)
	p := asm.Load(c, "dst", "x", "count", "keep", "sign", "n")
	count, keep, sign := c.XMM(), c.YMM(), c.YMM()
	c.VMOVQ(p[2], count)
	c.VMOVQ(p[3], keep.AsX())
	c.VMOVQ(p[4], sign.AsX())
	c.VPBROADCASTQ(keep.AsX(), keep)
	c.VPBROADCASTQ(sign.AsX(), sign)
	asm.For(c, p[5], 4, func(i reg.Register) {
		v := c.YMM()
		c.VMOVDQU(asm.At(p[1], 0).Idx(i, 8), v)
		c.VPSRLQ(count, v, v)
		c.VPAND(keep, v, v)
		c.VPXOR(sign, v, v)
		subtract(sign, v, v)
		c.VMOVDQU(v, asm.At(p[0], 0).Idx(i, 8))
	})
	asm.Return(c)
}

// shiftCounts writes shifts by a count for each element, for a multiple of 16 elements. Elements of 1 and 2 bytes are shifted as
// integers of 4 bytes. The counts are unsigned; a negative one is as large as any that gives 0 or the sign.
func shiftCounts(c *build.Context, name string, size int, signed, left bool) {
	w := integerCast{Context: c}
	wide := max(size, 4)
	k := countedShift{Context: c, signed: signed, left: left, double: wide == 8}
	if signed {
		name += castName(size, size, true)[:len("Int")]
	}
	asm.Function(c, name+map[int]string{1: "8", 2: "16", 4: "32", 8: "64"}[size])
	p := asm.Load(c, "dst", "x", "y", "n")
	low := c.YMM()
	if size < 4 {
		c.VPCMPEQD(low, low, low)
		c.VPSRLD(operand.Imm(uint64(32-8*size)), low, low)
	}
	load := func(at operand.Mem, signed bool) reg.VecVirtual {
		v := c.YMM()
		if size < 4 {
			w.extension(size, 4, signed)(at, v)
		} else {
			c.VMOVDQU(at, v)
		}
		return v
	}
	asm.For(c, p[3], 16, func(i reg.Register) {
		var shifted []reg.VecVirtual
		for first := 0; first < 16; first += 32 / wide {
			at := func(p reg.Register) operand.Mem { return asm.At(p, first*size).Idx(i, uint8(size)) }
			v := k.shift(load(at(p[1]), signed), load(at(p[2]), false))
			if size >= 4 {
				c.VMOVDQU(v, at(p[0]))
				continue
			}
			c.VPAND(low, v, v)
			shifted = append(shifted, v)
		}
		if size >= 4 {
			return
		}
		v := shifted[0]
		c.VPACKUSDW(shifted[1], v, v)
		c.VPERMQ(operand.Imm(0xd8), v, v)
		if size == 2 {
			c.VMOVDQU(v, asm.At(p[0], 0).Idx(i, 2))
			return
		}
		upper := c.XMM()
		c.VEXTRACTI128(operand.Imm(1), v, upper)
		c.VPACKUSWB(upper, v.AsX(), upper)
		c.VMOVDQU(upper, asm.At(p[0], 0).Idx(i, 1))
	})
	asm.Return(c)
}

// countedShift writes a shift of integers of 4 or 8 bytes.
type countedShift struct {
	*build.Context
	signed, left, double bool
}

// shift shifts v by the counts. AVX2 has no shift of signed integers of 8 bytes: negative ones are shifted as their complements.
func (k countedShift) shift(v, counts reg.VecVirtual) reg.VecVirtual {
	switch {
	case k.left && k.double:
		k.VPSLLVQ(counts, v, v)
	case k.left:
		k.VPSLLVD(counts, v, v)
	case k.signed && k.double:
		negative := k.YMM()
		k.VPXOR(negative, negative, negative)
		k.VPCMPGTQ(v, negative, negative)
		k.VPXOR(negative, v, v)
		k.VPSRLVQ(counts, v, v)
		k.VPXOR(negative, v, v)
	case k.signed:
		k.VPSRAVD(counts, v, v)
	case k.double:
		k.VPSRLVQ(counts, v, v)
	default:
		k.VPSRLVD(counts, v, v)
	}
	return v
}
