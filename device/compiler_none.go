//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package device

import "github.com/gpk-go/gpk/cutlass"

// loadCompiler returns the reason why this program has no run-time compiler.
func loadCompiler(string) (compiler, error) { return nil, cutlass.Built() }
