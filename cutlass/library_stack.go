package cutlass

// Triangle is a problem for Library.Triangle. src/gpk_stack.h describes the fields.
type Triangle struct {
	Bytes                       int // per element
	X, Dst                      uint64
	Batch, Rows, Cols, Diagonal int
	Upper                       bool
}
