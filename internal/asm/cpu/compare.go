package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// compare writes comparisons of 32 elements at a time, with results 0 and 1 in bytes.
func compare(c *build.Context) {
	ones := asm.Constant(c, "ones", 1, operand.U64(0x0101010101010101))
	var groups []operand.Constant // of four bytes: their order after packing masks 0 to 3, which puts the lower halves first
	for _, group := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		groups = append(groups, operand.U32(group))
	}
	order := asm.Constant(c, "order", 1, groups...)
	for _, f := range asm.Floats {
		compareElements(c, "equal", equal, f, ones, order)
		compareElements(c, "unequal", unequal, f, ones, order)
		compareElements(c, "less", less, f, ones, order)
		compareElements(c, "lessEqual", lessEqual, f, ones, order)
	}
}

// compareElements writes one comparison. The parameters xstep and ystep are 0 or 1.
func compareElements(c *build.Context, name string, predicate uint64, f asm.Float, ones, order operand.Mem) {
	asm.Function(c, name+f.Name)
	p := asm.Load(c, "dst", "x", "y", "n", "xstep", "ystep")
	dst, x, y, n, xstep, ystep := p[0], p[1], p[2], p[3], p[4], p[5]
	asm.Bytes(c, 5+f.Log, xstep, ystep) // of 32 elements
	one, groups := c.YMM(), c.YMM()
	c.VPBROADCASTQ(ones, one)
	c.VMOVDQU(order, groups)
	asm.Down(c, "loop", n, 32, func() {
		var masks [4]vector // of 8 elements each, 32 bits an element
		for i := range masks {
			at := 8 * f.Size * i
			masks[i] = compareEight(c, predicate, f, asm.At(x, at), asm.At(y, at))
		}
		truths := masks[0]
		c.VPACKSSDW(masks[1], masks[0], masks[0])
		c.VPACKSSDW(masks[3], masks[2], masks[2])
		c.VPACKSSWB(masks[2], masks[0], truths)
		c.VPERMD(truths, groups, truths)
		c.VPAND(one, truths, truths)
		c.VMOVDQU(truths, asm.At(dst, 0))
		c.ADDQ(operand.Imm(32), dst)
		c.ADDQ(xstep, x)
		c.ADDQ(ystep, y)
	})
	asm.Return(c)
}

// compareEight returns the masks of 8 elements. Those of float64 are narrowed to 32 bits each.
func compareEight(c *build.Context, predicate uint64, f asm.Float, x, y operand.Mem) vector {
	mask, upper := c.YMM(), c.YMM()
	c.VMOVUPS(x, mask)
	f.Compare(c, operand.Imm(predicate), y, mask, mask)
	if f.Double {
		c.VMOVUPS(x.Offset(32), upper)
		f.Compare(c, operand.Imm(predicate), y.Offset(32), upper, upper)
		c.VSHUFPS(operand.Imm(0x88), upper, mask, mask)
		c.VPERMQ(operand.Imm(0xd8), mask, mask)
	}
	return mask
}
