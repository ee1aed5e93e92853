package cutlass

import "github.com/gpk-go/gpk/dtype"

// ScatterAdd is a problem for Library.ScatterAdd. src/gpk_scatter.h describes the fields.
type ScatterAdd struct {
	Type, IndexType          dtype.DType
	N, Count, Width          int
	X, Places, Values, Flags uint64
	Dst, Workspace           uint64
	WorkspaceBytes           int64
	Splat                    bool // values is one row
}
