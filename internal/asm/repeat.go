package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loop repeats a body and decrements the counter after it until that is 0. The body runs at least once. The label is
// unique in the function.
func Loop(c *build.Context, label string, counter reg.Register, body func()) {
	c.Label(label)
	body()
	c.DECQ(counter)
	c.JNZ(operand.LabelRef(label))
}
