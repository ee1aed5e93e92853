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
// and returns i. Unlike Up, it does nothing if n is 0. A function has at most one such loop.
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
// which leaves the last n mod step elements, and the label "out" after it. A function has at most one such loop.
func Countdown(c *build.Context, n reg.Register, step int, body func()) {
	c.JMP(operand.LabelRef("check"))
	c.Label("next")
	body()
	c.Label("check")
	c.SUBQ(Number(step), n)
	c.JGE(operand.LabelRef("next"))
	c.Label("out")
}

// Up runs body for i = 0, step, 2 step, ... below n, at least once. The label is unique in the function.
func Up(c *build.Context, label string, n reg.Register, step int, body func(i reg.Register)) {
	i := c.GP64()
	c.XORQ(i, i)
	c.Label(label)
	body(i)
	c.ADDQ(Number(step), i)
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef(label))
}

// Down runs body and subtracts step from n while n is above 0, at least once. The label is unique in the function.
func Down(c *build.Context, label string, n reg.Register, step int, body func()) {
	c.Label(label)
	body()
	c.SUBQ(Number(step), n)
	c.JGT(operand.LabelRef(label))
}

// Loop writes a loop that runs body, decrements counter and ends when counter is 0. The body runs at least once. The
// function has no other label of this name.
func Loop(c *build.Context, label string, counter reg.Register, body func()) {
	c.Label(label)
	body()
	c.DECQ(counter)
	c.JNZ(operand.LabelRef(label))
}
