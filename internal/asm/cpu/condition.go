package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// condition compares with a constant.
type condition struct {
	predicate uint64
	constant  string
}

// compare returns the mask of a condition: a Y register or, if wide, an opmask.
func (v floats) compare(c condition, x vector) operand.Op {
	mask := operand.Op(v.c.YMM())
	if v.wide {
		mask = v.c.K()
	}
	v.write(v.ofType(instruction{v.c.VCMPPD, v.c.VCMPPD_BCST}, instruction{v.c.VCMPPS, v.c.VCMPPS_BCST}),
		operand.Imm(c.predicate), v.k(c.constant), x, mask)
	return mask
}

// outUnless jumps to "out" unless the condition holds for all elements of x.
func (v floats) outUnless(c condition, x vector) { v.outUnlessAll(v.compare(c, x)) }

// outUnlessBoth jumps to "out" unless both conditions hold for all elements of x.
func (v floats) outUnlessBoth(c, d condition, x vector) { v.outUnlessAll(v.both(c, d, x)) }

// both returns the mask of the elements of x for which both conditions hold.
func (v floats) both(c, d condition, x vector) operand.Op {
	first := v.compare(c, x)
	if !v.wide {
		return v.and(v.compare(d, x), first)
	}
	both := v.c.K()
	compare := v.ofType(instruction{broadcast: v.c.VCMPPD_BCST}, instruction{broadcast: v.c.VCMPPS_BCST})
	compare.broadcast(operand.Imm(d.predicate), v.k(d.constant).Mem, x, first, both)
	return both
}

// all returns the elements for which all masks are set, in the first mask.
func (v floats) all(masks []operand.Op) operand.Op {
	for _, m := range masks[1:] {
		if v.wide {
			v.c.KANDW(m, masks[0], masks[0])
		} else {
			v.c.VPAND(m, masks[0], masks[0])
		}
	}
	return masks[0]
}

// outUnlessAll jumps to "out" unless the mask is set for all elements.
func (v floats) outUnlessAll(mask operand.Op) { v.jumpUnlessAll("out", mask) }

// jumpUnlessAll jumps to the label unless the mask is set for all elements.
func (v floats) jumpUnlessAll(label string, mask operand.Op) {
	v.c.CMPL(v.bits(mask), asm.Number(1<<v.lanes()-1))
	v.c.JNE(operand.LabelRef(label))
}

// bits returns a mask as an integer.
func (v floats) bits(mask operand.Op) reg.Register {
	bits := v.c.GP32()
	switch {
	case v.wide:
		v.c.KMOVW(mask, bits)
	case v.single:
		v.c.VMOVMSKPS(mask, bits)
	default:
		v.c.VMOVMSKPD(mask, bits)
	}
	return bits
}

// choose returns the elements of yes where the condition holds for x, and those of no elsewhere.
func (v floats) choose(c condition, x, yes, no vector) vector {
	return v.blend(v.compare(c, x), yes, no)
}

// blend returns the elements of yes where a mask is set, and those of no elsewhere.
func (v floats) blend(mask operand.Op, yes, no vector) vector {
	d := v.register()
	switch {
	case v.wide && v.single:
		v.c.VBLENDMPS(yes, no, mask, d)
	case v.wide:
		v.c.VBLENDMPD(yes, no, mask, d)
	case v.single:
		v.c.VBLENDVPS(mask, yes, no, d)
	default:
		v.c.VBLENDVPD(mask, yes, no, d)
	}
	return d
}

// signs returns the mask of the elements whose sign bit is set.
func (v floats) signs(x vector) operand.Op {
	if !v.wide {
		return x
	}
	mask := v.c.K()
	if v.single {
		v.c.VPTESTMD_BCST(v.k("sign").Mem, x, mask)
	} else {
		v.c.VPTESTMQ_BCST(v.k("sign").Mem, x, mask)
	}
	return mask
}

// odd returns the mask of the elements whose lowest bit is set.
func (v floats) odd(x vector) operand.Op { return v.signs(v.shiftLeft(x, v.signBit())) }

// signBit is the number of the sign bit.
func (v floats) signBit() uint64 {
	if v.single {
		return 31
	}
	return 63
}
