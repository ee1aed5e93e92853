package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
)

// Function begins a function that uses no stack.
func Function(c *build.Context, name string) {
	c.Implement(name)
	c.Attributes(attr.NOSPLIT | attr.NOFRAME)
}

// Return ends a function that has used vectors of more than 16 bytes.
func Return(c *build.Context) {
	c.VZEROUPPER()
	c.RET()
}
