package cutlass

import "github.com/gpk-go/gpk/dtype"

// EmbedTables is the maximum number of tables of an EmbedNorm: GPK_EMBED_TABLES.
const EmbedTables = 4

// EmbedTable is a table of Library.EmbedNorm.
type EmbedTable struct {
	Data, IDs   uint64 // IDs 0: row 0 for every line
	Rows, Pitch int    // Pitch counts elements
	Wide        bool   // IDs are int64, otherwise int32
}

// EmbedNorm is a problem for Library.EmbedNorm. src/gpk_layers.h describes each field.
type EmbedNorm struct {
	Type                    dtype.DType
	Tables                  [EmbedTables]EmbedTable // up to the first with Data 0
	Gamma, Beta, Dst, Flags uint64
	Lines, N                int
	Eps                     float64
}

// Pool is a problem for Library.Pool. src/gpk_layers.h describes each field.
type Pool struct {
	Type                   dtype.DType
	X, Offsets, Dst, Flags uint64
	Pitch, Rows, N, Batch  int
	First, Normalize       bool
}

// RoPEPairs is the maximum number of pairs of features per line that Library.RoPE rotates:
// GPK_ROPE_PAIRS.
const RoPEPairs = 128

// RoPE is a problem for Library.RoPE. src/gpk_layers.h describes each field. Strides are
// those of batch, heads, rows and dim.
type RoPE struct {
	Type                       dtype.DType
	X, Out, Positions          uint64
	XStrides, OutStrides       [4]int
	PositionBatch, PositionRow int
	Batch, Heads, Rows, Dim    int
	Interleaved, WidePositions bool
	Frequencies                []float64 // one per pair
}

// NormResidual is a problem for Library.NormResidual. src/gpk_layers.h describes each
// field.
type NormResidual struct {
	Type                            dtype.DType
	X, Residual, Gamma, Sum, Normed uint64
	XPitch, ResidualPitch, Lines, N int
	Eps                             float64
}
