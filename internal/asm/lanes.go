package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// SumLanes adds the elements of v, 32 bytes, to its first one: the halves, then the halves of 16 bytes, then two elements.
// It overwrites scratch.
func (f Float) SumLanes(c *build.Context, v, scratch reg.VecPhysical) {
	c.VEXTRACTF128(Number(1), v.AsY(), scratch.AsX())
	f.Add(c, scratch.AsX(), v.AsX(), v.AsX())
	if f.Double {
		c.VUNPCKHPD(v.AsX(), v.AsX(), scratch.AsX())
	} else {
		c.VMOVHLPS(v.AsX(), v.AsX(), scratch.AsX())
		c.VADDPS(scratch.AsX(), v.AsX(), v.AsX())
		c.VMOVSHDUP(v.AsX(), scratch.AsX())
	}
	f.AddOne(c, scratch.AsX(), v.AsX(), v.AsX())
}
