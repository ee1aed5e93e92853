// Package quantum writes the amd64 assembly of gpk's package quantum.
package quantum

import "github.com/gpk-go/gpk/internal/asm"

// Files are the files of assembly of package quantum.
var Files = []asm.File{
	{Name: "simulate_amd64.s", Write: simulate},
	{Name: "sincos_amd64.s", Write: sincos},
	{Name: "tile_amd64.s", Write: tile},
}
