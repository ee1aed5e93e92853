//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package dynlib

import "github.com/gpk-go/gpk/cutlass"

// Open returns the reason why this program opens no libraries.
func Open(string) (handle uintptr, err error) { return 0, cutlass.Built() }

// Loaded returns 0: this program opens no libraries.
func Loaded(string) (handle uintptr) { return 0 }

func retain(uintptr, int) (context uintptr, err error) { return 0, cutlass.Built() }
