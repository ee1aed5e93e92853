//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "github.com/gpk-go/gpk/dtype"

// Take returns ErrNotBuilt.
func (*Library) Take(device int, stream uint64, typ, indexType dtype.DType, shape []int, x uint64, xStrides []int, length, step int,
	indices uint64, indexStrides []int, dst uint64, dstStrides []int, flags uint64,
) error {
	return Built()
}

// SortWorkspace returns ErrNotBuilt.
func (*Library) SortWorkspace(device int, typ dtype.DType, shape []int, k int) (int64, error) {
	return 0, Built()
}

// Sort returns ErrNotBuilt.
func (*Library) Sort(device int, stream uint64, typ dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int,
	descending bool, workspace uint64, workspaceBytes int64,
) error {
	return Built()
}

// TopK returns ErrNotBuilt.
func (*Library) TopK(device int, stream uint64, typ dtype.DType, shape []int, x uint64, xStrides []int, k int,
	values uint64, valueStrides []int, places uint64, placeStrides []int, workspace uint64, workspaceBytes int64,
) error {
	return Built()
}
