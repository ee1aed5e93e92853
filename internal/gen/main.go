// Command gen writes the code and documents that repeat the table of operations in package
// ops and the declarations of package internal/compose: the methods of arrays, the functions
// of package gpk, their registration in the conformance suite, docs/operations.md and
// docs/numpy.md, the tables of the functions that kernels are made from, and the digests of the
// companions of the kernel set. It is run by
//
//	go generate ./...
//
// and its test fails if a file differs from the generated text. Code that a row cannot
// describe, such as an operation with other arguments, is written by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpk-go/gpk/quantum/kernels"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen ROOT")
		os.Exit(2)
	}
	for name, text := range files(os.Args[1]) {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// companions returns the text of cutlass/companions.txt.
func companions() []byte {
	c := kernels.Companion()
	return fmt.Appendf(nil, "%s %s\n", c.Name, c.Digest())
}

// files returns the generated files by their paths in the repository at root.
func files(root string) map[string][]byte {
	return map[string][]byte{
		"array/methods_gen.go":   methods(root),
		"array/composed_gen.go":  composedMethods(root),
		"functions_gen.go":       functions(root),
		"composed_gen.go":        composedFunctions(root),
		"gpktest/methods_gen.go": conformance(),
		"docs/operations.md":     document(root),
		"docs/numpy.md":          numpyDocument(root),

		"internal/random/random_gen.go": randomMethods(root),
		"internal/cpu/functions_gen.go": cpuFunctions(),
		"cutlass/src/functions_gen.cuh": cudaFunctions(),
		"cutlass/companions.txt":        companions(),
		"gpk.go":                        facade(root),
	}
}
