package bert

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
)

// batchTokens is how many tokens are computed at once, unless one text is longer.
const batchTokens = 8192

// EmbedTokens returns the embeddings of texts that are tokenized, as Float32 [len(ids),
// Size], in the order of ids. Token ids outside the vocabulary, and a text of no tokens or
// of more than there are positions, are ErrShape.
func (e *Encoder) EmbedTokens(ctx context.Context, ids [][]int32) (*gpk.Array, error) {
	if err := e.check(ids); err != nil {
		return nil, err
	}
	out := gpk.Zeros(gpk.Float32, len(ids), e.hidden).To(e.dev)
	if len(ids) == 0 {
		return out, out.Err()
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
		end := batchEnd(ids, order, first)
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
	out = gpk.Take(sorted, upload(e, place), 0)
	return out, gpk.Eval(out)
}

// check is why texts cannot be embedded.
func (e *Encoder) check(ids [][]int32) error {
	for i, text := range ids {
		if len(text) == 0 || len(text) > e.positions {
			return fmt.Errorf("%w: text %d has %d tokens; there are %d positions, and one token at least", gpk.ErrShape, i, len(text), e.positions)
		}
		for _, id := range text {
			if id < 0 || int(id) >= e.vocabulary {
				return fmt.Errorf("%w: text %d has token %d, outside the vocabulary of %d", gpk.ErrShape, i, id, e.vocabulary)
			}
		}
	}
	return nil
}

// batchEnd returns where the batch that begins with the text at first ends.
func batchEnd(ids [][]int32, order []int, first int) int {
	total := 0
	for i, text := range order[first:] {
		if total += len(ids[text]); total > batchTokens && i > 0 {
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
		own := func(v []int32) *gpk.Array { return s.Own(upload(e, v)) }
		x := e.model.forward(own(tokens), own(places), own(offsets)).Cast(gpk.Float32)
		out = s.Keep(e.pool(s, x, offsets))
		return out.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func upload(e *Encoder, v []int32) *gpk.Array { return gpk.FromSlice(v).To(e.dev) }

// pool returns a vector a text of those of its tokens, in float32.
func (e *Encoder) pool(s *gpk.Scope, x *gpk.Array, offsets []int32) *gpk.Array {
	n := len(offsets) - 1
	var y *gpk.Array
	if e.pooling == clsPooling {
		y = gpk.Take(x, s.Own(upload(e, offsets[:n])), 0)
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
	zeros := s.Own(gpk.Zeros(gpk.Float32, 1, e.hidden).To(e.dev))
	padded := gpk.Take(gpk.Concat(0, x, zeros), s.Own(upload(e, rows)), 0).Reshape(n, longest, e.hidden)
	return padded.Sum(1).Div(s.Own(gpk.FromSlice(weights).To(e.dev)).Unsqueeze(1))
}
