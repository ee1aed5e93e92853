package cutlass

import "github.com/gpk-go/gpk/dtype"

// EmbedTables is the most tables of one EmbedNorm: GPK_EMBED_TABLES.
const EmbedTables = 4

// EmbedTable is a table of Library.EmbedNorm.
type EmbedTable struct {
	Data, IDs   uint64 // IDs of 0: row 0 for every line
	Rows, Pitch int    // Pitch counts elements
	Wide        bool   // IDs are int64, else int32
}

// EmbedNorm is a problem for Library.EmbedNorm. src/gpk_layers.h says what each field means.
type EmbedNorm struct {
	Type                    dtype.DType
	Tables                  [EmbedTables]EmbedTable // the first with a Data of 0 ends the list
	Gamma, Beta, Dst, Flags uint64
	Lines, N                int
	Eps                     float64
}

// Pool is a problem for Library.Pool. src/gpk_layers.h says what each field means.
type Pool struct {
	Type                   dtype.DType
	X, Offsets, Dst, Flags uint64
	Pitch, Rows, N, Batch  int
	First, Normalize       bool
}

// RoPEPairs is the most pairs of features of a line that Library.RoPE turns: GPK_ROPE_PAIRS.
const RoPEPairs = 128

// RoPE is a problem for Library.RoPE. src/gpk_layers.h says what each field means. Strides are those
// of batch, heads, rows and dim.
type RoPE struct {
	Type                       dtype.DType
	X, Out, Positions          uint64
	XStrides, OutStrides       [4]int
	PositionBatch, PositionRow int
	Batch, Heads, Rows, Dim    int
	Interleaved, WidePositions bool
	Frequencies                []float64 // one a pair
}

// NormResidual is a problem for Library.NormResidual. src/gpk_layers.h says what each field
// means.
type NormResidual struct {
	Type                            dtype.DType
	X, Residual, Gamma, Sum, Normed uint64
	XPitch, ResidualPitch, Lines, N int
	Eps                             float64
}
