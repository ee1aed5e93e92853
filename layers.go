package gpk

import (
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/layers"
)

// LayerNorm returns (x - mean) / sqrt(var + eps) gamma + beta along the last axis; gamma and beta have
// the length of that axis; nil stands for 1 and 0.
func LayerNorm(x, gamma, beta *Array, eps float64) *Array {
	return array.Norm(expr.LayerNorm, x, gamma, beta, eps)
}

// RMSNorm returns x / sqrt(mean x^2 + eps) gamma along the last axis; gamma has the length of that
// axis; nil stands for 1.
func RMSNorm(x, gamma *Array, eps float64) *Array {
	return array.Norm(expr.RMSNorm, x, gamma, nil, eps)
}

// RMSNormResidual returns sum = x + residual and normed = RMSNorm(sum, gamma, eps). x and residual have
// one shape. The results have the same bits as with the two separate operations. The work starts
// immediately. The CPU makes one pass over the lines. A GPU runs one kernel if the bytes of a line are
// a multiple of 16.
func RMSNormResidual(x, residual, gamma *Array, eps float64) (sum, normed *Array) {
	return layers.RMSNormResidual(x, residual, gamma, eps)
}

// EmbeddingNorm returns LayerNorm(tables[0][ids[0]] + tables[1][ids[1]] + …, gamma, beta, eps), [...,
// width]. It is one kernel, and the result has the same bits as with separate operations. There are one
// to four tables, each [rows, width]. The ids are Int32 or Int64 [...], of one shape; nil ids select
// row 0 everywhere. gamma and beta may be nil. An id outside its table is ErrShape.
func EmbeddingNorm(tables, ids []*Array, gamma, beta *Array, eps float64) *Array {
	return layers.EmbeddingNorm(tables, ids, gamma, beta, eps)
}

// RaggedPoolOptions are the options of RaggedPool: First and Normalize.
type RaggedPoolOptions = layers.RaggedPoolOptions

// RaggedPool returns one row for each sequence of a ragged batch, [batch, width]: the mean of its rows,
// or with opts.First its first row. With opts.Normalize each result row is divided by its Euclidean
// length. x is [total, width], and offsets is Int32 [batch+1] as for Attention. The result is Float64
// if x is, else Float32.
func RaggedPool(x, offsets *Array, opts RaggedPoolOptions) *Array {
	return layers.RaggedPool(x, offsets, opts)
}

// SwiGLU returns SiLU(gate) up, broadcast, with the same bits as the two separate operations.
func SwiGLU(gate, up *Array) *Array { return layers.SwiGLU(gate, up) }

// GEGLU returns GELU(gate) up, broadcast, with GELU in the erf form and the same bits as the two
// separate operations.
func GEGLU(gate, up *Array) *Array { return layers.GEGLU(gate, up) }

// RoPEOptions are the options of RoPEWith: Base, Interleaved, Dim and Scaling. The zero value rotates
// all features, with pairs in halves and base 10,000.
type RoPEOptions = fused.RoPEOptions

// RoPEScaling is Llama 3's scaling of the frequencies.
type RoPEScaling = fused.RoPEScaling

// RoPE applies the rotary position embedding of Llama and GPT-NeoX to x. Pair i consists of the
// features i and i + dim/2. At position p it is rotated by p base^(-2i/dim) radians. x is [batch,
// heads, seq, dim] with positions [seq] or [batch, seq], or [heads, total, dim] with positions [total].
// Positions are Int32 or Int64, and may be negative; nil stands for 0, 1, … along seq or total. A base
// of 0 stands for 10,000. Angles are computed in float64.
func RoPE(x, positions *Array, base float64) *Array { return layers.RoPE(x, positions, base) }

// RoPEWith is RoPE with options, for example interleaved pairs, a part of the features, or scaled
// frequencies.
func RoPEWith(x, positions *Array, opts RoPEOptions) *Array {
	return layers.RoPEWith(x, positions, opts)
}

// AttentionOptions are the options of Attention: ragged Offsets, Causal, Scale, Mask, Precision,
// Longest and RowsFirst. The zero value has no mask and the scale 1/sqrt(dim).
// `go doc github.com/gpk-go/gpk/internal/layers AttentionOptions` prints the type and meaning of each field.
type AttentionOptions = layers.AttentionOptions

// Attention returns softmax(Scale q k^T + mask) v of every head. q is [batch, heads,
// queries, dim], k [batch, kvHeads, keys, dim] and v [batch, kvHeads, keys, valueDim];
// with Offsets they are [heads, total, dim]. heads is a multiple of kvHeads. The result is
// [batch, heads, queries, valueDim]. A query whose keys are all masked has the result 0.
func Attention(q, k, v *Array, opts AttentionOptions) *Array { return layers.Attention(q, k, v, opts) }
