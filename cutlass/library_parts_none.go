//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "github.com/gpk-go/gpk/dtype"

// GemmParts returns ErrNotBuilt.
func (*Library) GemmParts(device int, stream uint64, typ dtype.DType, parts int, at uint64, pitch int, g Gemm) error {
	return Built()
}
