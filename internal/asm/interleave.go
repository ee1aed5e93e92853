package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
)

// Interleave writes n sequences of instructions, one instruction of each in turn, so that independent instructions are
// near each other. The sequences must have no branches, and none may read or overwrite the registers and memory that
// another one writes.
func Interleave(c *build.Context, n int, sequence func(i int)) {
	var sequences [][]ir.Node
	f := function(c)
	before := len(f.Nodes)
	for i := range n {
		sequence(i)
		sequences = append(sequences, f.Nodes[before:len(f.Nodes):len(f.Nodes)])
		f.Nodes = f.Nodes[:before:before]
	}
	for i := range sequences[0] {
		for _, s := range sequences {
			f.Nodes = append(f.Nodes, s[i])
		}
	}
}

// function returns the function that is being written.
func function(c *build.Context) *ir.Function {
	file, err := c.Result()
	if err != nil {
		panic(err)
	}
	functions := file.Functions()
	return functions[len(functions)-1]
}
