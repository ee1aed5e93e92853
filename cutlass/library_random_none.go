//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "github.com/gpk-go/gpk/dtype"

// Uniform returns ErrNotBuilt.
func (*Library) Uniform(device int, stream uint64, typ dtype.DType, n int, seed, block uint64, p [3]uint64, dst uint64) error {
	return Built()
}

// Normal returns ErrNotBuilt.
func (*Library) Normal(device int, stream uint64, typ dtype.DType, n int, seed, block uint64, mean, std float64, dst uint64) error {
	return Built()
}
