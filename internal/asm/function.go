package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Function begins a function without a stack frame. The context's package declares it.
func Function(c *build.Context, name string) {
	c.Implement(name)
	c.Attributes(attr.NOSPLIT | attr.NOFRAME)
}

// FrameFunction begins a function with a stack frame, for vectors in memory. The context's package declares it.
func FrameFunction(c *build.Context, name string) {
	c.Implement(name)
	c.Attributes(attr.NOSPLIT)
}

// Return ends a function that used Y or Z registers.
func Return(c *build.Context) {
	c.VZEROUPPER()
	c.RET()
}

// Variable loads the address of a variable of the context's package.
func Variable(c *build.Context, name string) reg.GPVirtual {
	address := c.GP64()
	c.LEAQ(operand.NewDataAddr(operand.Symbol{Name: "·" + name}, 0), address)
	return address
}
