package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// RowAddresses returns the addresses of n rows at a distance of pitch bytes: the register of the first one and new
// ones.
func RowAddresses(c *build.Context, first, pitch reg.Register, n int) []reg.Register {
	rows := []reg.Register{first}
	for len(rows) < n {
		next := c.GP64()
		c.LEAQ(At(rows[len(rows)-1], 0).Idx(pitch, 1), next)
		rows = append(rows, next)
	}
	return rows
}
