package nn

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/matmul"
)

// MultiHeadAttention is multi-head attention with its four linear layers (Vaswani et al.,
// 2017). Query, Key and Value are computed as one product if all of them or none of them
// have a bias.
type MultiHeadAttention struct {
	Query, Key, Value, Output *Linear
	Names                     [4]string // names of the four layers, as Parts lists them
	Heads, KVHeads, Dim       int
	Rotary                    *gpk.RoPEOptions // rotates queries and keys; nil for no rotation

	weights, biases derived
}

// NewMultiHeadAttention returns a layer with the given number of heads of dim features each.
// Its parameters are not set. heads must be a multiple of kvHeads; consecutive heads share a
// KV head.
func NewMultiHeadAttention(width, heads, kvHeads, dim int, bias bool) *MultiHeadAttention {
	return &MultiHeadAttention{
		Query: NewLinear(width, heads*dim, bias), Key: NewLinear(width, kvHeads*dim, bias),
		Value: NewLinear(width, kvHeads*dim, bias), Output: NewLinear(heads*dim, width, bias),
		Names: [4]string{"query", "key", "value", "output"}, Heads: heads, KVHeads: kvHeads, Dim: dim,
	}
}

// Parts implements Module.
func (m *MultiHeadAttention) Parts() []Part {
	return []Part{
		{Name: m.Names[0], Module: m.Query},
		{Name: m.Names[1], Module: m.Key},
		{Name: m.Names[2], Module: m.Value},
		{Name: m.Names[3], Module: m.Output},
	}
}

// Forward returns an array of x's shape. x is [batch, seq, width], or [total, width] with
// opts.Offsets, which holds the first row of each sequence. With Rotary, the positions of
// each sequence are 0, 1, ….
func (m *MultiHeadAttention) Forward(x *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	return m.ForwardAt(x, nil, opts)
}

// ForwardAt is Forward with given positions for Rotary, Int32 or Int64: [seq] or [batch,
// seq], or [total] with opts.Offsets. Without Rotary they are not read.
func (m *MultiHeadAttention) ForwardAt(x, positions *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	return m.Output.Forward(m.attend(x, positions, opts))
}

// attend returns the input of Output, [..., Heads * Dim].
func (m *MultiHeadAttention) attend(x, positions *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	rank := 3
	if opts.Offsets != nil {
		rank = 2
	}
	if err := x.Err(); err != nil {
		return failed("nn.MultiHeadAttention", err, x)
	}
	if x.NDim() != rank {
		return failed("nn.MultiHeadAttention", fmt.Errorf("%w: %s", gpk.ErrShape, axesOf[rank]), x)
	}
	if opts.Precision == matmul.Default {
		opts.Precision = m.Query.Precision
	}
	q, k, v := m.project(x)
	q, k, v = m.split(q, m.Heads), m.split(k, m.KVHeads), m.split(v, m.KVHeads)
	if m.Rotary != nil {
		if positions == nil && opts.Offsets != nil {
			positions = Positions(opts.Offsets, x.Shape()[0])
		}
		q, k = gpk.RoPEWith(q, positions, *m.Rotary), gpk.RoPEWith(k, positions, *m.Rotary)
	}
	opts.RowsFirst = true // the layout that Output reads
	y := gpk.Attention(q, k, v, opts)
	shape := x.Shape()
	shape[rank-1] = m.Heads * m.Dim
	return y.Reshape(shape...)
}

// axesOf says by the number of axes that attention takes what they are.
var axesOf = map[int]string{
	2: "x must be [total, width], because opts.Offsets is set",
	3: "x must be [batch, seq, width]; set opts.Offsets if its rows are those of all sequences, [total, width]",
}

// project computes queries, keys and values.
func (m *MultiHeadAttention) project(x *gpk.Array) (q, k, v *gpk.Array) {
	list := []*Linear{m.Query, m.Key, m.Value}
	biased := 0
	for _, l := range list {
		if l.Bias != nil {
			biased++
		}
	}
	if biased%len(list) != 0 {
		return m.Query.Forward(x), m.Key.Forward(x), m.Value.Forward(x)
	}
	w := m.weights.packed(m.Query.Precision, m.Query.Weight, m.Key.Weight, m.Value.Weight)
	var bias *gpk.Array
	if biased > 0 {
		bias = m.biases.joined(m.Query.Bias, m.Key.Bias, m.Value.Bias)
	}
	all := linear(x, w, bias, Identity, m.Query.Precision)
	h, n := m.Heads*m.Dim, m.KVHeads*m.Dim
	return all.Slice(-1, 0, h), all.Slice(-1, h, h+n), all.Slice(-1, h+n, h+2*n)
}

// split returns [..., seq, heads * dim] as [..., heads, seq, dim].
func (m *MultiHeadAttention) split(x *gpk.Array, heads int) *gpk.Array {
	shape := append(x.Shape(), m.Dim)
	if len(shape) < 2 {
		return x // x carries an error
	}
	shape[len(shape)-2] = heads
	if len(shape) == 3 {
		return x.Reshape(shape...).Transpose(1, 0, 2)
	}
	return x.Reshape(shape...).Transpose(0, 2, 1, 3)
}

func (m *MultiHeadAttention) setPrecision(p matmul.Precision) {
	for _, l := range []*Linear{m.Query, m.Key, m.Value, m.Output} {
		l.setPrecision(p)
	}
}

func (m *MultiHeadAttention) free() {
	m.weights.free()
	m.biases.free()
}
