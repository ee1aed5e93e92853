package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Up repeats body for i = 0, step, 2 step, ... below n, at least once. The label is unique in the function.
func Up(c *build.Context, label string, n reg.Register, step int, body func(i reg.Register)) {
	i := c.GP64()
	c.XORQ(i, i)
	c.Label(label)
	body(i)
	c.ADDQ(Number(step), i)
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef(label))
}

// Down repeats body for n, n - step, ... above 0, at least once. The label is unique in the function.
func Down(c *build.Context, label string, n reg.Register, step int, body func()) {
	c.Label(label)
	body()
	c.SUBQ(Number(step), n)
	c.JGT(operand.LabelRef(label))
}

// Bytes replaces numbers of elements in registers by numbers of bytes. An element has 1<<log bytes.
func Bytes(c *build.Context, log int, counts ...reg.Register) {
	for _, n := range counts {
		c.SHLQ(Number(log), n)
	}
}
