// Package fft writes the amd64 assembly of gpk's package fft.
package fft

import "github.com/gpk-go/gpk/internal/asm"

// Files are the files of assembly of package fft.
var Files = []asm.File{
	{Name: "fold_amd64.s", Write: fold},
	{Name: "radix4_amd64.s", Write: radix4},
	{Name: "stage_amd64.s", Write: stage},
}
