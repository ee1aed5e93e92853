// Package kernels has the CUDA sources of package quantum's kernels. They are a library of
// their own, libgpk_quantum.so, with the interface of device/kernels: arguments.h describes
// its entry points.
//
// What belongs here: the sources. What does not: the calls (package quantum), the build
// (cutlass/setup, to which cmd/gpk passes Companion).
package kernels

import (
	"embed"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device/kernels"
)

//go:embed *.cu *.cuh *.h
var files embed.FS

// Companion returns the library of package quantum's kernels, for setup.Options.
func Companion() cutlass.Companion {
	c := cutlass.Companion{
		Name:    "quantum",
		Sources: map[string]string{"gpk_kernels.h": kernels.Header},
		WGMMA:   map[string]int{"quantum_gram": 13}, // seven forms of gram_product.cuh, six of few_wires.cuh
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // they are embedded at build time
	}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err) // as above
		}
		c.Sources[e.Name()] = string(text)
	}
	return c
}
