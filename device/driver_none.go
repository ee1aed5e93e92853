//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package device

import "github.com/gpk-go/gpk/cutlass"

// loadDriver returns the reason why this program has no CUDA driver.
func loadDriver() (driver, error) { return nil, cutlass.Built() }
