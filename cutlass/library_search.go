package cutlass

import "github.com/gpk-go/gpk/dtype"

// Search is a problem for Library.Search. src/gpk_search.h describes the fields.
type Search struct {
	Type              dtype.DType
	List, Values, Dst uint64
	N, Count          int
	Right             bool
}

// Count is a problem for Library.Count. src/gpk_search.h describes the fields.
type Count struct {
	X, Dst   uint64
	N, Count int
}

// MaskTile is the number of elements of a mask for each of its offsets, as GPK_MASK_TILE in src/gpk_search.h.
const MaskTile = 8192

// TrueOp is what Library.PlaceTrues writes for each true element of a mask.
type TrueOp int32

// The operations, as in src/gpk_search.h.
const (
	TrueIndices TrueOp = iota
	TrueCoordinates
	TrueElements
	TrueDistinct
)

// Trues is a problem for Library.CountTrues and Library.PlaceTrues. src/gpk_search.h describes the fields.
type Trues struct {
	Op                   TrueOp
	Type                 dtype.DType
	Mask, Offsets, Total uint64
	X, All, Firsts       uint64
	N, Count             int
	Dst                  []uint64
	Shape                []int
	Lead                 bool
}

// PutAlong is a problem for Library.PutAlong. src/gpk_search.h describes the fields.
type PutAlong struct {
	Bytes                   int // per element
	IndexType               dtype.DType
	X, Indices, Values, Dst uint64
	Workspace, Flags        uint64
	WorkspaceBytes          int64
	Outer, N, Count, Inner  int
	Splat                   bool // values is one element
}
