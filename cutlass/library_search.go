package cutlass

import "github.com/gpk-go/gpk/dtype"

// Search is a problem for Library.Search. src/gpk_search.h describes the fields.
type Search struct {
	Type              dtype.DType
	List, Values, Dst uint64
	N, Count          int
	Right             bool
}

// Count is a problem for Library.Count and Library.Last. src/gpk_search.h describes the fields.
type Count struct {
	X, Dst   uint64
	N, Count int
}
