package bert

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk"
)

// EmbedTokens returns the embeddings of tokenized texts, as Float32 [len(ids), Size] on the
// model's device, in the order of ids. The caller frees them. A *TextError, which is ErrShape,
// reports a token id outside the vocabulary, a text without tokens, or a text with more tokens
// than the model has positions.
func (e *Encoder) EmbedTokens(ctx context.Context, ids [][]int32) (*gpk.Array, error) {
	if err := e.check(ids); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		none := gpk.FromSliceOn(e.dev, []float32{}, 0, e.hidden)
		return none, none.Err()
	}
	var parts []*gpk.Array
	free := func() {
		for _, p := range parts {
			p.Free()
		}
	}
	for first := 0; first < len(ids); {
		end := e.batchEnd(ids, first)
		err := ctx.Err()
		if err == nil {
			var part *gpk.Array
			part, err = e.batch(ids[first:end])
			parts = append(parts, part)
		}
		if err != nil {
			free()
			return nil, err
		}
		first = end
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	defer free()
	out := gpk.Concat(0, parts...)
	if err := gpk.Eval(out); err != nil {
		out.Free()
		return nil, err
	}
	return out, nil
}

// check returns a TextError for the first text that cannot be embedded, or nil.
func (e *Encoder) check(ids [][]int32) error {
	for i, text := range ids {
		if len(text) == 0 || len(text) > e.positions {
			return &TextError{i, fmt.Errorf("%w: %d tokens; a text must have 1 to %d, the model's number of positions", gpk.ErrShape, len(text), e.positions)}
		}
		for _, id := range text {
			if id < 0 || int(id) >= e.vocabulary {
				return &TextError{i, fmt.Errorf("%w: token %d is outside the vocabulary of %d", gpk.ErrShape, id, e.vocabulary)}
			}
		}
	}
	return nil
}

// batchEnd returns the end (exclusive) of the batch that begins with the text at index first.
func (e *Encoder) batchEnd(ids [][]int32, first int) int {
	total := 0
	for i, text := range ids[first:] {
		if total += len(text); i > 0 && total > e.batchTokens {
			return first + i
		}
	}
	return len(ids)
}

// batch returns the embeddings of some texts. It computes them together.
func (e *Encoder) batch(texts [][]int32) (*gpk.Array, error) {
	p := newPacked(texts)
	if out, done, err := e.graphs.run(e, p); done {
		return out, err
	}
	return e.embed(&p)
}

// embed computes the embeddings of packed texts.
func (e *Encoder) embed(p *packed) (out *gpk.Array, err error) {
	err = gpk.Scoped(func(s *gpk.Scope) error {
		out = s.Keep(e.forward(s, s.Own(gpk.FromSliceOn(e.dev, p.data)), p.tokens, p.texts, p.longest))
		return out.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// forward returns the embeddings of packed texts, Float32 [texts, hidden], which belong to a
// scope. in holds packed.data.
func (e *Encoder) forward(s *gpk.Scope, in *gpk.Array, tokens, texts, longest int) *gpk.Array {
	part := func(from, n int) *gpk.Array { return in.Slice(0, from, from+n) }
	offsets := part(2*tokens, texts+1)
	x := s.Own(e.model.forward(part(0, tokens), part(tokens, tokens), offsets, longest))
	return gpk.RaggedPool(x, offsets, gpk.RaggedPoolOptions{First: e.pooling == clsPooling, Normalize: e.normalize})
}

// packed holds some texts, concatenated without padding.
type packed struct {
	tokens, texts int
	longest       int     // tokens of a text
	data          []int32 // the ids of the tokens, their positions in the texts, and the first token of each text
}

func newPacked(texts [][]int32) packed {
	p := packed{texts: len(texts)}
	for _, text := range texts {
		p.tokens += len(text)
		p.longest = max(p.longest, len(text))
	}
	p.data = make([]int32, 2*p.tokens+p.texts+1)
	ids, places, offsets := p.parts()
	at := 0
	for i, text := range texts {
		copy(ids[at:], text)
		for j := range text {
			places[at+j] = int32(j)
		}
		at += len(text)
		offsets[i+1] = int32(at)
	}
	return p
}

// parts divides the data into its three parts.
func (p *packed) parts() (ids, places, offsets []int32) {
	return p.data[:p.tokens], p.data[p.tokens : 2*p.tokens], p.data[2*p.tokens:]
}
