package nn

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist"
)

// ParallelMLP is an MLP whose hidden features are divided among the ranks of a Comm: Up is divided as in
// ColumnParallel, and Down as in RowParallel.
type ParallelMLP struct {
	*MLP              // the layer with the rank's features
	Down *RowParallel // replaces MLP.Down; adds the products of all ranks
}

// NewParallelMLP returns the rank's part of a layer. It is ErrShape if the number of ranks does not divide
// the hidden features.
func NewParallelMLP(c *dist.Comm, m *MLP) (*ParallelMLP, error) {
	part, err := parallelMLP(c, m)
	return part, array.NewOperation("nn.NewParallelMLP", nil).Wrap(err)
}

// parallelMLP is NewParallelMLP without the name and the line in its errors.
func parallelMLP(c *dist.Comm, m *MLP) (*ParallelMLP, error) {
	if err := checkParallel(c, m != nil); err != nil {
		return nil, err
	}
	cut := cutting{c: c}
	up, down := cut.columns(m.Names[0], m.Up), cut.rows(m.Names[1], m.Down)
	if cut.err != nil {
		return nil, cut.err
	}
	return &ParallelMLP{&MLP{up, down.Linear, m.Names}, down}, nil
}

// Forward returns an array of x's shape, [..., width]. All ranks call it and get the same result.
func (m *ParallelMLP) Forward(x *gpk.Array) *gpk.Array { return m.Down.Forward(m.Up.Forward(x)) }

// ParallelGatedMLP is a GatedMLP whose hidden features are divided among the ranks of a Comm.
type ParallelGatedMLP struct {
	*GatedMLP              // the layer with the rank's features
	Down      *RowParallel // replaces GatedMLP.Down; adds the products of all ranks
}

// NewParallelGatedMLP returns the rank's part of a layer. It is ErrShape if the number of ranks does not
// divide the hidden features.
func NewParallelGatedMLP(c *dist.Comm, m *GatedMLP) (*ParallelGatedMLP, error) {
	part, err := parallelGatedMLP(c, m)
	return part, array.NewOperation("nn.NewParallelGatedMLP", nil).Wrap(err)
}

// parallelGatedMLP is NewParallelGatedMLP without the name and the line in its errors.
func parallelGatedMLP(c *dist.Comm, m *GatedMLP) (*ParallelGatedMLP, error) {
	if err := checkParallel(c, m != nil); err != nil {
		return nil, err
	}
	cut := cutting{c: c}
	gate, up, down := cut.columns(m.Names[0], m.Gate), cut.columns(m.Names[1], m.Up), cut.rows(m.Names[2], m.Down)
	if cut.err != nil {
		return nil, cut.err
	}
	part := &GatedMLP{Gate: gate, Up: up, Down: down.Linear, Activation: m.Activation, Names: m.Names}
	return &ParallelGatedMLP{part, down}, nil
}

// Forward returns an array of x's shape, [..., width]. All ranks call it and get the same result.
func (m *ParallelGatedMLP) Forward(x *gpk.Array) *gpk.Array { return m.Down.Forward(m.inner(x)) }

// ParallelAttention is a MultiHeadAttention whose heads are divided among the ranks of a Comm: Query, Key
// and Value are divided as in ColumnParallel, and Output as in RowParallel. Heads and KVHeads are the
// rank's numbers.
type ParallelAttention struct {
	*MultiHeadAttention              // the layer with the rank's heads
	Output              *RowParallel // replaces MultiHeadAttention.Output; adds the products of all ranks
}

// NewParallelAttention returns the rank's part of a layer. It is ErrShape if the number of ranks does not
// divide Heads and KVHeads.
func NewParallelAttention(c *dist.Comm, m *MultiHeadAttention) (*ParallelAttention, error) {
	part, err := parallelAttention(c, m)
	return part, array.NewOperation("nn.NewParallelAttention", nil).Wrap(err)
}

// parallelAttention is NewParallelAttention without the name and the line in its errors.
func parallelAttention(c *dist.Comm, m *MultiHeadAttention) (*ParallelAttention, error) {
	if err := checkParallel(c, m != nil); err != nil {
		return nil, err
	}
	n := c.Size()
	for _, heads := range []int{m.Heads, m.KVHeads} {
		if heads%n != 0 {
			return nil, fmt.Errorf("%w: %d heads and %d heads of keys cannot be divided among %d ranks: %d does not divide %d", gpk.ErrShape, m.Heads, m.KVHeads, n, n, heads)
		}
	}
	cut := cutting{c: c}
	q, k, v := cut.columns(m.Names[0], m.Query), cut.columns(m.Names[1], m.Key), cut.columns(m.Names[2], m.Value)
	output := cut.rows(m.Names[3], m.Output)
	if cut.err != nil {
		return nil, cut.err
	}
	part := &MultiHeadAttention{
		Query: q, Key: k, Value: v, Output: output.Linear,
		Names: m.Names, Heads: m.Heads / n, KVHeads: m.KVHeads / n, Dim: m.Dim, Rotary: m.Rotary,
	}
	return &ParallelAttention{part, output}, nil
}

// Forward is MultiHeadAttention.Forward. All ranks call it and get the same result.
func (m *ParallelAttention) Forward(x *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	return m.ForwardAt(x, nil, opts)
}

// ForwardAt is MultiHeadAttention.ForwardAt. All ranks call it and get the same result.
func (m *ParallelAttention) ForwardAt(x, positions *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	return m.Output.Forward(m.attend(x, positions, opts))
}

// cutting makes the rank's parts of layers, and keeps the first error.
type cutting struct {
	c   *dist.Comm
	err error
}

func (k *cutting) columns(name string, l *Linear) *Linear {
	part, err := columnParallel(k.c, l)
	if err != nil {
		k.fail(name, err)
		return nil
	}
	return part.Linear
}

func (k *cutting) rows(name string, l *Linear) *RowParallel {
	part, err := rowParallel(k.c, l)
	if err != nil {
		k.fail(name, err)
		return nil
	}
	return part
}

func (k *cutting) fail(name string, err error) {
	if k.err == nil {
		k.err = fmt.Errorf("%s: %w", name, err)
	}
}
