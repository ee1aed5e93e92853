package bert

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist"
)

// EmbedRanks is Embed over the ranks of a Comm (data parallel). Each rank has an Encoder of the same model
// on its device. All ranks call EmbedRanks with the same texts, and all get the embeddings of all texts,
// in their order. A rank tokenizes a part of the texts. The batches are those of Embed, about 8,192
// tokens each, on a GPU 16,384, and each batch is computed by one rank. So on the CPU the bits are those
// of Embed. If there are fewer batches than ranks, some ranks wait.
//
// An error of one rank, such as a *TextError, is an error in all ranks: a *dist.RankError that names the rank. So
// are another number of texts, an Encoder that is not on the rank's device, and models of other sizes. The texts
// and the weights themselves are not compared.
func (e *Encoder) EmbedRanks(ctx context.Context, c *dist.Comm, texts []string) ([][]float32, error) {
	switch c.Size() {
	case 0:
		return nil, fmt.Errorf("%w: EmbedRanks over a nil Comm", gpk.ErrUnsupported)
	case 1:
		return e.Embed(ctx, texts)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &ranks{Encoder: e, c: c}
	if err := r.compare(len(texts)); err != nil {
		return nil, err
	}
	out := make([][]float32, 0, len(texts))
	rounds := r.rounds(len(texts))
	own := make([]span, len(rounds))
	for i, s := range rounds {
		own[i] = r.share(s, c.Rank())
	}
	done := 0
	for w := range e.windows(ctx, texts, own) {
		rows, err := r.round(ctx, w, rounds[done])
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		done++
	}
	if done < len(rounds) { // the context has ended, and the other ranks wait in the next round
		return nil, gathered(c, array.Failed(context.Cause(ctx))).Err()
	}
	return out, nil
}

// ranks is this rank's encoder, with the Comm of all ranks.
type ranks struct {
	*Encoder
	c *dist.Comm
}

// gathered returns the arrays of all ranks, concatenated.
func gathered(c *dist.Comm, a *gpk.Array) *gpk.Array {
	defer a.Free()
	return c.AllGather(a, 0)
}

// gather returns n numbers of every rank. If err is not nil on a rank, gather fails on all.
func gather[T gpk.Elem](r *ranks, own []T, n int, err error) ([]T, error) {
	a := array.Failed(err)
	if err == nil {
		a = gpk.FromSliceOn(r.c.Device(), append(make([]T, 0, n), own...)[:n])
	}
	all := gathered(r.c, a)
	defer all.Free()
	return gpk.ToSlice[T](all)
}

// compare returns an error if the encoders of the ranks would make different batches, or if their numbers of
// texts differ.
func (r *ranks) compare(texts int) error {
	var err error
	if r.dev != r.c.Device() {
		err = fmt.Errorf("%w: the encoder is on %v, the rank on %v", gpk.ErrDevice, r.dev, r.c.Device())
	}
	names := []string{"texts", "features", "positions", "words", "tokens in a batch", "texts in a window"}
	own := []int64{int64(texts), int64(r.hidden), int64(r.positions), int64(r.vocabulary), int64(r.batchTokens), int64(r.windowTexts)}
	all, err := gather(r, own, len(own), err)
	if err != nil {
		return err
	}
	for i, v := range all {
		if k := i % len(own); v != all[k] {
			cause := fmt.Errorf("%w: %d %s, but rank 0 has %d", gpk.ErrShape, v, names[k], all[k])
			return &dist.RankError{Rank: i / len(own), Err: cause}
		}
	}
	return nil
}

// rounds cuts n texts into rounds, in each of which every rank tokenizes one window.
func (r *ranks) rounds(n int) []span {
	var list []span
	for step := r.windowTexts * r.c.Size(); n > 0 && (len(list) == 0 || list[len(list)-1].end < n); {
		first := len(list) * step
		list = append(list, span{first, min(first+step, n)})
	}
	return list
}

// share returns the part of a round that a rank tokenizes.
func (r *ranks) share(s span, rank int) span {
	n, p := s.end-s.first, r.c.Size()
	return span{s.first + n*rank/p, s.first + n*(rank+1)/p}
}

// round embeds the texts of a round; w has the tokens of this rank's share.
func (r *ranks) round(ctx context.Context, w window, s span) ([][]float32, error) {
	ids, err := r.exchange(w, s)
	if err != nil {
		return nil, err
	}
	batches := r.deal(ids)
	rows := make([]int, r.c.Size())
	most := 0
	for _, b := range batches {
		rows[b.rank] += b.end - b.first
		most = max(most, rows[b.rank])
	}
	all := gathered(r.c, r.embedOwn(ctx, ids, batches, most, s.first))
	defer all.Free()
	data, err := gpk.ToSlice[float32](all)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(ids))
	next := make([]int, r.c.Size())
	for _, b := range batches {
		for i := b.first; i < b.end; i++ {
			at := (b.rank*most + next[b.rank]) * r.hidden
			out[i] = data[at : at+r.hidden : at+r.hidden]
			next[b.rank]++
		}
	}
	return out, nil
}

// exchange returns the tokens of all texts of a round.
func (r *ranks) exchange(w window, s span) ([][]int32, error) {
	p := r.c.Size()
	most := 0 // largest number of texts of a rank
	for k := range p {
		part := r.share(s, k)
		most = max(most, part.end-part.first)
	}
	lengths, flat := make([]int32, 0, most), []int32{}
	for _, text := range w.ids {
		lengths, flat = append(lengths, int32(len(text))), append(flat, text...)
	}
	all, err := gather(r, lengths, most, w.err)
	if err != nil {
		return nil, err
	}
	longest := 0 // largest number of tokens of a rank
	for k := range p {
		total := 0
		for _, n := range all[k*most : (k+1)*most] {
			if n < 0 || int(n) > r.positions {
				cause := fmt.Errorf("%w: a text of %d tokens; the model takes at most %d", gpk.ErrShape, n, r.positions)
				return nil, &dist.RankError{Rank: k, Err: cause} // all ranks get this error
			}
			total += int(n)
		}
		longest = max(longest, total)
	}
	tokens, err := gather(r, append(make([]int32, 0, longest), flat...), longest, nil)
	if err != nil {
		return nil, err
	}
	var ids [][]int32
	for k := range p {
		part := r.share(s, k)
		at := k * longest
		for _, n := range all[k*most:][:part.end-part.first] {
			ids = append(ids, tokens[at:at+int(n)])
			at += int(n)
		}
	}
	return ids, nil
}

// batch is a range of texts that one rank computes together.
type batch struct{ first, end, rank int }

// deal cuts texts into the batches that Embed makes, and gives each to the rank with the fewest tokens.
func (r *ranks) deal(ids [][]int32) []batch {
	var list []batch
	load := make([]int, r.c.Size())
	for _, s := range r.spans(len(ids)) {
		for first := s.first; first < s.end; {
			b := batch{first: first, end: s.first + r.batchEnd(ids[s.first:s.end], first-s.first)}
			tokens := 0
			for _, text := range ids[b.first:b.end] {
				tokens += len(text)
			}
			for k := range load {
				if load[k] < load[b.rank] {
					b.rank = k
				}
			}
			load[b.rank] += tokens
			list, first = append(list, b), b.end
		}
	}
	return list
}

// embedOwn returns the embeddings of this rank's batches, padded with zeros: an array of shape [rows, hidden].
// first is the number of texts before the round.
func (r *ranks) embedOwn(ctx context.Context, ids [][]int32, batches []batch, rows, first int) *gpk.Array {
	var parts []*gpk.Array
	defer func() {
		for _, p := range parts {
			p.Free()
		}
	}()
	for _, b := range batches {
		if b.rank != r.c.Rank() {
			continue
		}
		part, err := r.embedBatch(ctx, ids, b, first)
		if err != nil {
			return array.Failed(err)
		}
		parts = append(parts, part)
		rows -= b.end - b.first
	}
	parts = append(parts, gpk.FromSliceOn(r.dev, make([]float32, rows*r.hidden), rows, r.hidden))
	out := gpk.Concat(0, parts...)
	if err := gpk.Eval(out); err != nil {
		return array.Failed(err)
	}
	return out
}

// embedBatch returns the embeddings of a batch.
func (r *ranks) embedBatch(ctx context.Context, ids [][]int32, b batch, first int) (*gpk.Array, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.check(ids[b.first:b.end]); err != nil {
		return nil, moved(err, first+b.first)
	}
	return r.batch(ids[b.first:b.end])
}
