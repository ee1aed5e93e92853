package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// compare writes comparisons of 32 elements at a time, with results 0 and 1 in bytes.
func compare(c *build.Context) {
	ones := c.StaticGlobal("ones")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	c.AddDatum(0, operand.U64(0x0101010101010101))
	order := c.StaticGlobal("order") // of the four-byte groups of masks 0 to 3 after packing, which puts the lower halves first
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, group := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		c.AddDatum(4*i, operand.U32(group))
	}
	for _, bits := range []int{32, 64} {
		suffix := map[int]string{32: "32", 64: "64"}[bits]
		compareElements(c, "equal"+suffix, equal, bits, ones, order)
		compareElements(c, "unequal"+suffix, unequal, bits, ones, order)
		compareElements(c, "less"+suffix, less, bits, ones, order)
		compareElements(c, "lessEqual"+suffix, lessEqual, bits, ones, order)
	}
}

// compareElements writes one comparison. The parameters xstep and ystep are 0 or 1.
func compareElements(c *build.Context, name string, predicate uint64, bits int, ones, order operand.Mem) {
	asm.Function(c, name)
	p := asm.Load(c, "dst", "x", "y", "n", "xstep", "ystep")
	dst, x, y, n, xstep, ystep := p[0], p[1], p[2], p[3], p[4], p[5]
	shift := map[int]uint64{32: 5 + 2, 64: 5 + 3}[bits]
	c.SHLQ(operand.Imm(shift), xstep) // from 32 elements to the next, in bytes
	c.SHLQ(operand.Imm(shift), ystep)
	one, groups := c.YMM(), c.YMM()
	c.VPBROADCASTQ(ones, one)
	c.VMOVDQU(order, groups)

	c.Label("loop")
	var masks [4]vector // of 8 elements each, 32 bits an element
	for i := range masks {
		if bits == 32 {
			masks[i] = compareVector(c, predicate, operand.Mem{Base: x, Disp: 32 * i}, operand.Mem{Base: y, Disp: 32 * i})
		} else {
			masks[i] = compareDoubles(c, predicate, operand.Mem{Base: x, Disp: 64 * i}, operand.Mem{Base: y, Disp: 64 * i})
		}
	}
	truths := masks[0]
	c.VPACKSSDW(masks[1], masks[0], masks[0])
	c.VPACKSSDW(masks[3], masks[2], masks[2])
	c.VPACKSSWB(masks[2], masks[0], truths)
	c.VPERMD(truths, groups, truths)
	c.VPAND(one, truths, truths)
	c.VMOVDQU(truths, operand.Mem{Base: dst})
	c.ADDQ(operand.Imm(32), dst)
	c.ADDQ(xstep, x)
	c.ADDQ(ystep, y)
	c.SUBQ(operand.Imm(32), n)
	c.JGT(operand.LabelRef("loop"))
	asm.Return(c)
}

// compareVector returns the masks of 8 float32.
func compareVector(c *build.Context, predicate uint64, x, y operand.Mem) vector {
	mask := c.YMM()
	c.VMOVUPS(x, mask)
	c.VCMPPS(operand.Imm(predicate), y, mask, mask)
	return mask
}

// compareDoubles returns the masks of 8 float64, narrowed to 32 bits each.
func compareDoubles(c *build.Context, predicate uint64, x, y operand.Mem) vector {
	mask, upper := c.YMM(), c.YMM()
	c.VMOVUPD(x, mask)
	c.VCMPPD(operand.Imm(predicate), y, mask, mask)
	c.VMOVUPD(x.Offset(32), upper)
	c.VCMPPD(operand.Imm(predicate), y.Offset(32), upper, upper)
	c.VSHUFPS(operand.Imm(0x88), upper, mask, mask)
	c.VPERMQ(operand.Imm(0xd8), mask, mask)
	return mask
}
