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
// and returns i. Unlike with Up, n may be 0. A function has at most one such loop.
func For(c *build.Context, n reg.Register, step int, body func(i reg.Register)) reg.Register {
	i := c.GP64()
	c.XORQ(i, i)
	c.JMP(operand.LabelRef("check"))
	c.Label("next")
	body(i)
	c.ADDQ(Number(step), i)
	c.Label("check")
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("next"))
	return i
}

// Countdown writes the loop
//
//	for n -= step; n >= 0; n -= step { body() }
//
// which leaves the last n mod step elements. Label "out" is behind it. A function has at most one such loop.
func Countdown(c *build.Context, n reg.Register, step int, body func()) {
	c.JMP(operand.LabelRef("check"))
	c.Label("next")
	body()
	c.Label("check")
	c.SUBQ(Number(step), n)
	c.JGE(operand.LabelRef("next"))
	c.Label("out")
}
