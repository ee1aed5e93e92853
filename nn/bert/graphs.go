package bert

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
)

// graphs holds the encoder's captured forward passes. On a GPU the launches of a pass over few tokens take
// longer than the kernels, and a graph needs only one launch. A graph has fixed shapes, so there is one graph
// for each class of shapes. The numbers of tokens and texts are rounded up to those of a class, by padding
// texts whose embeddings are not used. The number of graphs and their memory are bounded. The least recently
// used graph is dropped first.
type graphs struct {
	mu    sync.Mutex
	on    bool
	most  int   // maximum number of graphs
	bytes int64 // maximum of the estimated memory of all graphs together
	made  map[class]*recorded
	seen  map[class]struct{} // classes that were used once
	clock uint64
}

// class is the shape of a graph's input.
type class struct {
	tokens, texts int
	long          bool // a text has more than shortText tokens
}

// shortText is the maximum number of tokens of a text for which attention does not need its kernel for
// long texts.
const shortText = 255

// longest returns a bound on the number of tokens of a text of the class, or 0 if there is none.
func (c class) longest() int {
	if c.long {
		return 0
	}
	return shortText
}

// recorded is one graph. A caller holds the mutex from writing the input until the output is read.
type recorded struct {
	mu      sync.Mutex
	in      *gpk.Array // the data of packed
	data    []int32
	graph   *gpk.Graph // nil: not recorded yet
	dropped bool       // it was removed from graphs.made

	used uint64 // guarded by the mutex of graphs
}

// The bounds of an encoder's graphs: at most maxGraphs, in at most 1/graphShare of the device's memory.
const (
	maxGraphs  = 64
	graphShare = 32
)

// maxSeen is the maximum length of graphs.seen.
const maxSeen = 1024

// padding is about the maximum number of tokens of a padding text. It is small because the work of
// attention grows with the square of it.
const padding = 64

// classOf rounds a shape up. Tokens become a multiple of an eighth of the power of two below them, so
// padding adds less than an eighth of the work. They are a multiple of 8, because tensor cores compute
// 8 rows at once.
func classOf(p *packed) class {
	tokens, texts := p.tokens, p.texts
	step := max(8, 1<<max(bits.Len(uint(tokens))-4, 0))
	c := class{tokens: (tokens + step - 1) / step * step, long: p.longest > shortText}
	added := max(1, (c.tokens-tokens+padding-1)/padding)
	c.texts = 1 << bits.Len(uint(texts+added-1))
	return c
}

// pad writes the texts of p into the data of a class, followed by padding texts, over which it spreads the
// remaining tokens.
func (c class) pad(data []int32, p *packed) {
	clear(data)
	to := packed{tokens: c.tokens, texts: c.texts, data: data}
	ids, places, offsets := to.parts()
	fromIDs, fromPlaces, fromOffsets := p.parts()
	copy(ids, fromIDs)
	copy(places, fromPlaces)
	copy(offsets, fromOffsets)
	left, added := c.tokens-p.tokens, c.texts-p.texts
	for i := range added {
		offsets[p.texts+1+i] = int32(p.tokens + left*(i+1)/added)
	}
}

// run computes the embeddings of texts by a graph. done is false if there is no graph: at the first use of
// a class, because capturing takes longer than a pass, and if the pass cannot be captured.
func (g *graphs) run(e *Encoder, p packed) (out *gpk.Array, done bool, err error) {
	c := classOf(&p)
	r := g.find(e, c)
	if r == nil {
		return nil, false, nil
	}
	defer r.mu.Unlock()
	if r.graph == nil {
		if err := r.record(e, c); err != nil {
			r.dropped = true
			g.failed(c, err)
			return nil, false, nil
		}
	}
	c.pad(r.data, &p)
	if err := gpk.FromSliceInto(r.in, r.data); err != nil {
		return nil, true, err
	}
	if err := r.graph.Replay(); err != nil {
		return nil, true, err
	}
	out = r.graph.Outputs()[0].Slice(0, 0, p.texts).Clone()
	if err := gpk.Eval(out); err != nil {
		out.Free()
		return nil, true, err
	}
	return out, true, nil
}

// find returns the graph of a class, locked, or nil if the class has none. It may make the graph, and drops
// others if the bounds require it.
func (g *graphs) find(e *Encoder, c class) *recorded {
	g.mu.Lock()
	r := g.admit(e, c)
	g.mu.Unlock()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if r.dropped { // it was dropped while this call waited for the lock
		r.mu.Unlock()
		return nil
	}
	return r
}

// admit finds the graph like find, but does not lock the graph. g.mu is held.
func (g *graphs) admit(e *Encoder, c class) *recorded {
	size := e.passBytes(c)
	if !g.on || size > g.bytes/2 {
		return nil
	}
	g.clock++
	r := g.made[c]
	if r == nil {
		if _, again := g.seen[c]; !again {
			if len(g.seen) >= maxSeen {
				clear(g.seen)
			}
			g.seen[c] = struct{}{}
			return nil
		}
		g.makeRoom(e, size)
		r = &recorded{}
		g.made[c] = r
	}
	r.used = g.clock
	return r
}

// makeRoom drops graphs until one more of size bytes fits. It keeps graphs that are in use, so each
// concurrent call may exceed the bounds by one graph. g.mu is held.
func (g *graphs) makeRoom(e *Encoder, size int64) {
	total := size
	for c := range g.made {
		total += e.passBytes(c)
	}
	kept := map[*recorded]bool{}
	for len(g.made) > len(kept) && (len(g.made) >= g.most || total > g.bytes) {
		var oldest *recorded
		var of class
		for c, r := range g.made {
			if !kept[r] && (oldest == nil || r.used < oldest.used) {
				oldest, of = r, c
			}
		}
		if !oldest.mu.TryLock() {
			kept[oldest] = true
			continue
		}
		oldest.free()
		oldest.mu.Unlock()
		delete(g.made, of)
		total -= e.passBytes(of)
	}
}

// passBytes estimates the memory of a pass over a class: the inputs and results of half a layer.
func (e *Encoder) passBytes(c class) int64 {
	features := 2*e.hidden + max(5*e.hidden, e.intermediate+2*e.hidden)
	return int64(c.tokens) * int64(e.dtype().Size()) * int64(features)
}

// failed removes a graph that could not be captured. If err is ErrUnsupported, no graph is tried again.
func (g *graphs) failed(c class, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.made, c)
	delete(g.seen, c)
	if errors.Is(err, gpk.ErrUnsupported) {
		g.on = false
	}
}

// record captures the pass over a class.
func (r *recorded) record(e *Encoder, c class) (err error) {
	r.data = make([]int32, 2*c.tokens+c.texts+1)
	r.in = gpk.FromSliceOn(e.dev, r.data)
	r.graph, err = gpk.Capture([]*gpk.Array{r.in}, func(in []*gpk.Array) []*gpk.Array {
		var out *gpk.Array
		err := gpk.Scoped(func(s *gpk.Scope) error {
			out = s.Keep(e.forward(s, s.In(in[0]), c.tokens, c.texts, c.longest()))
			return nil
		})
		if err != nil {
			out = array.Failed(err)
		}
		return []*gpk.Array{out}
	})
	if err != nil {
		r.free()
	}
	return err
}

// free frees the graph and its arrays. r.mu is held.
func (r *recorded) free() {
	r.dropped = true
	r.graph.Free()
	for _, a := range append(r.graph.Outputs(), r.in) {
		a.Free()
	}
	r.in, r.data, r.graph = nil, nil, nil
}

// close frees all graphs. Afterwards no graph is made.
func (g *graphs) close() {
	g.mu.Lock()
	made := g.made
	g.on, g.made = false, map[class]*recorded{}
	g.mu.Unlock()
	for _, r := range made {
		r.mu.Lock()
		r.free()
		r.mu.Unlock()
	}
}
