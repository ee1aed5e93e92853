package asm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Begin begins a function without a stack frame and loads its parameters of those names, as Load does.
func Begin(c *build.Context, name string, params ...string) []reg.GPVirtual {
	c.Implement(name)
	c.Attributes(attr.NOSPLIT | attr.NOFRAME)
	return Load(c, params...)
}
