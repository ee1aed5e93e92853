package bert

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
)

// EmbedTokens returns the embeddings of texts that are tokenized, as Float32 [len(ids),
// Size] on the model's device, in the order of ids. The caller frees them. A token id
// outside the vocabulary, and a text of no tokens or of more than there are positions, are
// a *TextError that is ErrShape.
func (e *Encoder) EmbedTokens(ctx context.Context, ids [][]int32) (*gpk.Array, error) {
	if err := e.check(ids); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		none := gpk.FromSliceOn(e.dev, []float32{}, 0, e.hidden)
		return none, none.Err()
	}
	order := make([]int, len(ids)) // the shortest first: texts of one length share a batch
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(ids[a]), len(ids[b])) })
	var parts []*gpk.Array
	free := func() {
		for _, p := range parts {
			p.Free()
		}
	}
	for first := 0; first < len(order); {
		end := e.batchEnd(ids, order, first)
		if err := ctx.Err(); err != nil {
			free()
			return nil, err
		}
		part, err := e.batch(ids, order[first:end])
		if err != nil {
			free()
			return nil, err
		}
		parts = append(parts, part)
		first = end
	}
	defer free()
	place := make([]int32, len(order)) // where each text's embedding lies among the sorted
	for i, text := range order {
		place[text] = int32(i)
	}
	sorted := parts[0]
	if len(parts) > 1 {
		sorted = gpk.Concat(0, parts...)
		defer sorted.Free()
	}
	at := gpk.FromSliceOn(e.dev, place)
	defer at.Free()
	out := gpk.Take(sorted, at, 0)
	if err := gpk.Eval(out); err != nil {
		out.Free()
		return nil, err
	}
	return out, nil
}

// check is why texts cannot be embedded.
func (e *Encoder) check(ids [][]int32) error {
	for i, text := range ids {
		if len(text) == 0 || len(text) > e.positions {
			return &TextError{i, fmt.Errorf("%w: %d tokens; a text has one at least, and at most %d, the number of positions", gpk.ErrShape, len(text), e.positions)}
		}
		for _, id := range text {
			if id < 0 || int(id) >= e.vocabulary {
				return &TextError{i, fmt.Errorf("%w: token %d is outside the vocabulary of %d", gpk.ErrShape, id, e.vocabulary)}
			}
		}
	}
	return nil
}

// batchEnd returns where the batch that begins with the text at first ends. Texts are
// sorted by length. The mean of each is taken in rows of the longest one's length, which
// are to hold at most twice as many tokens.
func (e *Encoder) batchEnd(ids [][]int32, order []int, first int) int {
	total := 0
	for i, text := range order[first:] {
		n := len(ids[text])
		if total += n; i > 0 && (total > e.batchTokens || (i+1)*n > 2*e.batchTokens) {
			return first + i
		}
	}
	return len(order)
}

// batch returns the embeddings of some texts.
func (e *Encoder) batch(ids [][]int32, texts []int) (out *gpk.Array, err error) {
	var tokens, places []int32
	offsets := []int32{0}
	for _, text := range texts {
		tokens = append(tokens, ids[text]...)
		for i := range ids[text] {
			places = append(places, int32(i))
		}
		offsets = append(offsets, int32(len(tokens)))
	}
	err = gpk.Scoped(func(s *gpk.Scope) error {
		own := func(v []int32) *gpk.Array { return s.Own(gpk.FromSliceOn(e.dev, v)) }
		x := e.model.forward(own(tokens), own(places), own(offsets)).Cast(gpk.Float32)
		out = s.Keep(e.pool(s, x, offsets))
		return out.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// pool returns a vector a text of those of its tokens, in float32.
func (e *Encoder) pool(s *gpk.Scope, x *gpk.Array, offsets []int32) *gpk.Array {
	n := len(offsets) - 1
	var y *gpk.Array
	if e.pooling == clsPooling {
		y = gpk.Take(x, s.Own(gpk.FromSliceOn(e.dev, offsets[:n])), 0)
	} else {
		y = e.means(s, x, offsets)
	}
	if !e.normalize {
		return y
	}
	length := y.Square().Sum(1).Sqrt().Maximum(1e-12).Unsqueeze(1)
	return y.Div(length)
}

// means returns the mean of each text's vectors. Texts are read as rows of the longest
// one's length, where what is missing is a row of zeros.
func (e *Encoder) means(s *gpk.Scope, x *gpk.Array, offsets []int32) *gpk.Array {
	n, longest := len(offsets)-1, 0
	for i := range n {
		longest = max(longest, int(offsets[i+1]-offsets[i]))
	}
	rows, weights := make([]int32, n*longest), make([]float32, n)
	for i := range n {
		length := int(offsets[i+1] - offsets[i])
		for j := range longest {
			rows[i*longest+j] = offsets[n] // the row of zeros
			if j < length {
				rows[i*longest+j] = offsets[i] + int32(j)
			}
		}
		weights[i] = float32(length)
	}
	zeros := s.Own(gpk.FromSliceOn(e.dev, make([]float32, e.hidden), 1, e.hidden))
	padded := gpk.Take(gpk.Concat(0, x, zeros), s.Own(gpk.FromSliceOn(e.dev, rows)), 0).Reshape(n, longest, e.hidden)
	return padded.Sum(1).Div(s.Own(gpk.FromSliceOn(e.dev, weights)).Unsqueeze(1))
}
