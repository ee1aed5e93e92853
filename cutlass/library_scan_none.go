//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// CumSumWorkspace returns ErrNotBuilt.
func (*Library) CumSumWorkspace(device int, c *CumSum) (int64, error) { return 0, Built() }

// CumSum returns ErrNotBuilt.
func (*Library) CumSum(device int, stream uint64, c *CumSum) error { return Built() }
