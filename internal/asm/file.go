package asm

import "github.com/mmcloughlin/avo/build"

// File is one file of assembly.
type File struct {
	// Name is the file's name, such as "vector_amd64.s".
	Name string
	// Write adds the file's functions and constants to the context, whose package is the one that declares them.
	Write func(*build.Context)
}
