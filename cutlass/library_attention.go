package cutlass

import "github.com/gpk-go/gpk/dtype"

// AttentionRows is the layout of an operand of Library.Attention. Strides count elements,
// and the elements of a row are contiguous. A ragged operand has no batch.
type AttentionRows struct {
	Data             uint64
	Batch, Head, Row int
}

// Attention is a problem for Library.Attention. src/gpk_attention.h describes each field.
// An address of 0 means no mask, no offsets or no flags.
type Attention struct {
	Type           dtype.DType
	Q, K, V, Out   AttentionRows
	Mask           uint64
	MaskType       dtype.DType
	MaskStrides    [4]int
	Offsets, Flags uint64
	Batch, Heads   int
	KVHeads        int
	Queries, Keys  int
	Dim, ValueDim  int
	Scale          float64
	Causal, Full   bool
	Workspace      uint64
	WorkspaceBytes int64
	Longest        int // upper bound of the rows per sequence of a ragged batch; 0: unknown
}

// The results of a check of offsets, in the first of the two flags: GPK_OFFSETS_*.
const (
	OffsetsFine = iota
	OffsetsBegin
	OffsetsFall
	OffsetsEnd
)
