// Package asm and the packages below it are the programs that write gpk's amd64 assembly, with avo
// (github.com/mmcloughlin/avo). They are a separate module, so that programs that use gpk do not require avo.
//
// This package has the code that several files of assembly need: loops, masks, sums and transposes of registers.
// Packages cpu, quantum and fft have one file for each file of assembly in the package of gpk with that name. Package
// generate writes them:
//
//	go run -C internal/asm ./generate
//
// The declarations of the functions in Go are written by hand: a program reads a function's parameters from there.
// Assembly for arm64 does not belong here, because avo does not support it.
package asm
