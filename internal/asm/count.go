package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Bytes replaces numbers of elements in registers by numbers of bytes. An element has 1<<log bytes.
func Bytes(c *build.Context, log int, counts ...reg.Register) {
	for _, n := range counts {
		c.SHLQ(Number(log), n)
	}
}
