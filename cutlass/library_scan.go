package cutlass

import "github.com/gpk-go/gpk/dtype"

// CumSum is a problem for Library.CumSum. src/gpk_scan.h describes the fields.
type CumSum struct {
	Type                        dtype.DType
	Shape, XStrides, DstStrides []int
	X, Dst, Workspace           uint64
	WorkspaceBytes              int64
}
