package bert

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/nn"
)

// model is BERT without its head. Names are those of published weights.
type model struct {
	words, positions, types *nn.Embedding
	norm                    *nn.LayerNorm
	layers                  []*layer
}

func newModel(c *config) *model {
	m := &model{
		words: nn.NewEmbedding(c.vocabulary, c.hidden), positions: nn.NewEmbedding(c.positions, c.hidden), types: nn.NewEmbedding(c.types, c.hidden),
		norm: nn.NewLayerNorm(c.hidden, c.eps),
	}
	for range c.layers {
		m.layers = append(m.layers, newLayer(c))
	}
	return m
}

// Parts implements nn.Module.
func (m *model) Parts() []nn.Part {
	parts := []nn.Part{
		{Name: "embeddings.word_embeddings", Module: m.words},
		{Name: "embeddings.position_embeddings", Module: m.positions},
		{Name: "embeddings.token_type_embeddings", Module: m.types},
		{Name: "embeddings.LayerNorm", Module: m.norm},
	}
	for i, l := range m.layers {
		parts = append(parts, nn.Part{Name: fmt.Sprintf("encoder.layer.%d", i), Module: l})
	}
	return parts
}

// forward returns the vectors, [total, hidden], of the tokens of packed texts. places holds the
// position of each token in its text, and offsets the first token of each text. No text is longer
// than longest. The caller frees the vectors.
func (m *model) forward(ids, places, offsets *gpk.Array, longest int) *gpk.Array {
	tables := []*gpk.Array{m.words.Weight.Array(), m.positions.Weight.Array(), m.types.Weight.Array()}
	x := gpk.EmbeddingNorm(tables, []*gpk.Array{ids, places, nil}, m.norm.Weight.Array(), m.norm.Bias.Array(), m.norm.Eps)
	for _, l := range m.layers {
		y := l.forward(x, gpk.AttentionOptions{Offsets: offsets, Longest: longest})
		x.Free()
		x = y
	}
	return x
}

// layer is one block of the encoder: attention, then an MLP. A residual sum and a LayerNorm
// follow each of them.
type layer struct {
	attention           *nn.MultiHeadAttention
	mlp                 *nn.MLP
	attended, perceived *nn.LayerNorm
}

func newLayer(c *config) *layer {
	l := &layer{
		attention: nn.NewMultiHeadAttention(c.hidden, c.heads, c.heads, c.hidden/c.heads, true),
		mlp:       nn.NewMLP(c.hidden, c.intermediate, c.activation, true),
		attended:  nn.NewLayerNorm(c.hidden, c.eps), perceived: nn.NewLayerNorm(c.hidden, c.eps),
	}
	l.attention.Names = [4]string{"self.query", "self.key", "self.value", "output.dense"}
	l.mlp.Names = [2]string{"intermediate.dense", "output.dense"}
	return l
}

// Parts implements nn.Module.
func (l *layer) Parts() []nn.Part {
	return []nn.Part{
		{Name: "attention", Module: l.attention},
		{Name: "attention.output.LayerNorm", Module: l.attended},
		{Module: l.mlp},
		{Name: "output.LayerNorm", Module: l.perceived},
	}
}

// forward returns an array of x's shape, which the caller frees. The intermediate results of each
// half are freed at its end, so that the next half reuses their memory while it is still in the
// cache.
func (l *layer) forward(x *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	attended := scoped(x, func(x *gpk.Array) *gpk.Array {
		return l.attended.Forward(l.attention.Forward(x, opts).Add(x))
	})
	defer attended.Free()
	return scoped(attended, func(x *gpk.Array) *gpk.Array { return l.perceived.Forward(l.mlp.Forward(x).Add(x)) })
}

// scoped computes f(x), and frees the intermediate results of f.
func scoped(x *gpk.Array, f func(x *gpk.Array) *gpk.Array) (y *gpk.Array) {
	err := gpk.Scoped(func(s *gpk.Scope) error {
		y = s.Keep(f(s.In(x)))
		return nil
	})
	if err != nil {
		y.Free()
		return array.Failed(err)
	}
	return y
}
