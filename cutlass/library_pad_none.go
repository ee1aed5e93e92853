//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "github.com/gpk-go/gpk/dtype"

// Pad returns ErrNotBuilt.
func (*Library) Pad(device int, stream uint64, t dtype.DType, a, b Padded) error { return Built() }
