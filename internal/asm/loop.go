package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// For writes the loop
//
//	for i := 0; i < n; i += step { body(i) }
//
// and returns i. A function has at most one such loop.
func For(c *build.Context, n reg.Register, step uint64, body func(i reg.Register)) reg.Register {
	i := c.GP64()
	c.XORQ(i, i)
	c.JMP(operand.LabelRef("check"))
	c.Label("next")
	body(i)
	c.ADDQ(operand.Imm(step), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("next"))
	return i
}

// ForPositive is For with n > 0: the first comparison follows the first body.
func ForPositive(c *build.Context, n reg.Register, step uint64, body func(i reg.Register)) reg.Register {
	i := c.GP64()
	c.XORQ(i, i)
	c.Label("next")
	body(i)
	c.ADDQ(operand.Imm(step), i)
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("next"))
	return i
}

// Countdown writes the loop
//
//	for n -= step; n >= 0; n -= step { body() }
//
// which leaves the last n mod step elements. Label "out" is behind it. A function has at most one such loop.
func Countdown(c *build.Context, n reg.Register, step uint64, body func()) {
	c.JMP(operand.LabelRef("check"))
	c.Label("next")
	body()
	c.Label("check")
	c.SUBQ(operand.Imm(step), n)
	c.JGE(operand.LabelRef("next"))
	c.Label("out")
}
