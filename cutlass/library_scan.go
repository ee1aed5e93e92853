package cutlass

import "github.com/gpk-go/gpk/dtype"

// ScanOp is what a scan computes up to each index.
type ScanOp int32

// The operations, as in src/gpk_scan.h.
const (
	ScanSum ScanOp = iota
	ScanProduct
	ScanLargest
	ScanSmallest
)

// CumSum is a problem for Library.CumSum. src/gpk_scan.h describes the fields.
type CumSum struct {
	Op                          ScanOp
	Type                        dtype.DType
	Shape, XStrides, DstStrides []int
	X, Dst, Workspace           uint64
	WorkspaceBytes              int64
}
