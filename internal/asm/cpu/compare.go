package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// compare writes comparisons of 32 elements at a time, with results 0 and 1 in bytes.
func compare(c *build.Context) {
	w := comparisons{Context: c, ones: asm.Constant(c, "ones", 1, operand.U64(0x0101010101010101)), order: packedGroups(c, "order")}
	for _, f := range asm.Floats {
		w.write("equal", f, w.floats(f, equal), false)
		w.write("unequal", f, w.floats(f, unequal), false)
		w.write("less", f, w.floats(f, less), false)
		w.write("lessEqual", f, w.floats(f, lessEqual), false)
		w.write("equalInt", f, w.equalIntegers(f), false)
		w.write("unequalInt", f, w.equalIntegers(f), true)
		w.write("lessInt", f, w.greaterIntegers(f, true, true), false)
		w.write("lessEqualInt", f, w.greaterIntegers(f, false, true), true)
		w.write("lessUint", f, w.greaterIntegers(f, true, false), false)
		w.write("lessEqualUint", f, w.greaterIntegers(f, false, false), true)
	}
	for _, f := range asm.Floats {
		w.write("magnitudeEqual", f, w.magnitudes(f, equal), false)
		w.write("magnitudeLess", f, w.magnitudes(f, less), false)
	}
}

// packedGroups adds the order of groups of four bytes after packing vectors 0 to 3, which puts the lower halves first.
func packedGroups(c *build.Context, name string) operand.Mem {
	var groups []operand.Constant
	for _, group := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		groups = append(groups, operand.U32(group))
	}
	return asm.Constant(c, name, 1, groups...)
}

type comparisons struct {
	*build.Context
	ones, order operand.Mem
}

// comparing writes a comparison of the vectors x and y. It returns a mask with all bits of an element set where the
// comparison holds.
type comparing func(x, y operand.Mem) vector

// floats compares numbers.
func (w comparisons) floats(f asm.Float, predicate uint64) comparing {
	return func(x, y operand.Mem) vector {
		mask := w.YMM()
		w.VMOVUPS(x, mask)
		f.Compare(w.Context, operand.Imm(predicate), y, mask, mask)
		return mask
	}
}

// magnitudes compares absolute values of x with y.
func (w comparisons) magnitudes(f asm.Float, predicate uint64) comparing {
	return func(x, y operand.Mem) vector {
		mask := w.YMM()
		w.VPCMPEQD(mask, mask, mask)
		if f.Double {
			w.VPSRLQ(operand.Imm(1), mask, mask)
		} else {
			w.VPSRLD(operand.Imm(1), mask, mask)
		}
		w.VANDPS(x, mask, mask)
		f.Compare(w.Context, operand.Imm(predicate), y, mask, mask)
		return mask
	}
}

func (w comparisons) equalIntegers(f asm.Float) comparing {
	return func(x, y operand.Mem) vector {
		mask := w.YMM()
		w.VMOVDQU(x, mask)
		if f.Double {
			w.VPCMPEQQ(y, mask, mask)
		} else {
			w.VPCMPEQD(y, mask, mask)
		}
		return mask
	}
}

// greaterIntegers reports where x is greater than y. With swapped it reports where y is greater than x. The instruction is for signed
// integers; unsigned ones have their order after the highest bits of both are inverted.
func (w comparisons) greaterIntegers(f asm.Float, swapped, signed bool) comparing {
	greater, shift := w.VPCMPGTD, w.VPSLLD
	if f.Double {
		greater, shift = w.VPCMPGTQ, w.VPSLLQ
	}
	return func(x, y operand.Mem) vector {
		if swapped {
			x, y = y, x
		}
		mask := w.YMM()
		if signed {
			w.VMOVDQU(x, mask)
			greater(y, mask, mask)
			return mask
		}
		highest, other := w.YMM(), w.YMM()
		w.VPCMPEQD(highest, highest, highest)
		shift(operand.Imm(uint64(8*f.Size-1)), highest, highest)
		w.VPXOR(x, highest, mask)
		w.VPXOR(y, highest, other)
		greater(other, mask, mask)
		return mask
	}
}

// write writes one comparison of elements of f's size. With negated the results are inverted. The parameters xstep and
// ystep are 0 or 1.
func (w comparisons) write(name string, f asm.Float, compare comparing, negated bool) {
	c := w.Context
	asm.Function(c, name+f.Name)
	p := asm.Load(c, "dst", "x", "y", "n", "xstep", "ystep")
	dst, x, y, n, xstep, ystep := p[0], p[1], p[2], p[3], p[4], p[5]
	asm.Bytes(c, 5+f.Log, xstep, ystep) // steps of 32 elements
	one, groups := c.YMM(), c.YMM()
	c.VPBROADCASTQ(w.ones, one)
	c.VMOVDQU(w.order, groups)
	asm.Down(c, "loop", n, 32, func() {
		var masks [4]vector // masks of 8 elements each, 32 bits per element
		for i := range masks {
			at := 8 * f.Size * i
			masks[i] = w.eight(f, compare, asm.At(x, at), asm.At(y, at))
		}
		truths := masks[0]
		c.VPACKSSDW(masks[1], masks[0], masks[0])
		c.VPACKSSDW(masks[3], masks[2], masks[2])
		c.VPACKSSWB(masks[2], masks[0], truths)
		c.VPERMD(truths, groups, truths)
		if negated {
			c.VPANDN(one, truths, truths)
		} else {
			c.VPAND(one, truths, truths)
		}
		c.VMOVDQU(truths, asm.At(dst, 0))
		c.ADDQ(operand.Imm(32), dst)
		c.ADDQ(xstep, x)
		c.ADDQ(ystep, y)
	})
	asm.Return(c)
}

// eight returns the masks of 8 elements. Those of 64 bits are narrowed to 32 bits each.
func (w comparisons) eight(f asm.Float, compare comparing, x, y operand.Mem) vector {
	mask := compare(x, y)
	if f.Double {
		upper := compare(x.Offset(32), y.Offset(32))
		w.VSHUFPS(operand.Imm(0x88), upper, mask, mask)
		w.VPERMQ(operand.Imm(0xd8), mask, mask)
	}
	return mask
}
