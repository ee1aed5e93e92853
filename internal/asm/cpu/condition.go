package cpu

import (
	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/operand"
)

// condition compares with a constant.
type condition struct {
	predicate uint64
	constant  string
}

// compare returns the mask of a condition: a Y register or, if wide, an opmask.
func (v doubles) compare(c condition, x vector) operand.Op {
	mask := operand.Op(v.c.YMM())
	if v.wide {
		mask = v.c.K()
	}
	v.write(instruction{v.c.VCMPPD, v.c.VCMPPD_BCST}, operand.Imm(c.predicate), v.k(c.constant), x, mask)
	return mask
}

// outUnless jumps to "out" unless the condition holds for all elements of x.
func (v doubles) outUnless(c condition, x vector) { v.outUnlessAll(v.compare(c, x)) }

// outUnlessBoth jumps to "out" unless both conditions hold for all elements of x.
func (v doubles) outUnlessBoth(c, d condition, x vector) {
	first := v.compare(c, x)
	if v.wide {
		both := v.c.K()
		v.c.VCMPPD_BCST(operand.Imm(d.predicate), v.k(d.constant).Mem, x, first, both)
		v.outUnlessAll(both)
		return
	}
	v.outUnlessAll(v.and(v.compare(d, x), first))
}

// outUnlessAll jumps to "out" unless the mask is set for all elements.
func (v doubles) outUnlessAll(mask operand.Op) {
	bits := v.c.GP32()
	if v.wide {
		v.c.KMOVW(mask, bits)
	} else {
		v.c.VMOVMSKPD(mask, bits)
	}
	v.c.CMPL(bits, asm.Number(1<<v.lanes()-1))
	v.c.JNE(operand.LabelRef("out"))
}

// choose returns the elements of yes where the condition holds for x, and those of no elsewhere.
func (v doubles) choose(c condition, x, yes, no vector) vector {
	return v.blend(v.compare(c, x), yes, no)
}

// blend returns the elements of yes where a mask is set, and those of no elsewhere.
func (v doubles) blend(mask operand.Op, yes, no vector) vector {
	d := v.register()
	if v.wide {
		v.c.VBLENDMPD(yes, no, mask, d)
	} else {
		v.c.VBLENDVPD(mask, yes, no, d)
	}
	return d
}

// signs returns the mask of the elements whose sign bit is set.
func (v doubles) signs(x vector) operand.Op {
	if !v.wide {
		return x
	}
	mask := v.c.K()
	v.c.VPTESTMQ_BCST(v.k("sign").Mem, x, mask)
	return mask
}

// outIf jumps to "out" if the condition holds for an element of x.
func (v doubles) outIf(c condition, x vector) {
	mask, bits := v.compare(c, x), v.c.GP32()
	if v.wide {
		v.c.KMOVW(mask, bits)
	} else {
		v.c.VMOVMSKPD(mask, bits)
	}
	v.c.TESTL(bits, bits)
	v.c.JNE(operand.LabelRef("out"))
}
