package bert

import (
	"errors"
	"math/bits"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
)

// graphs are the encoder's recorded passes. On a GPU the launches of a pass over few tokens take
// longer than their work, and a graph has one. A graph is of fixed shapes, so there is one for each
// class of shapes: numbers of tokens and of texts are rounded up to those of a class, and what is
// added are texts whose embeddings nobody reads. The number of graphs and their memory are bounded: the graph
// that was not used for the longest time goes first.
type graphs struct {
	mu    sync.Mutex
	on    bool
	most  int   // graphs
	bytes int64 // of all graphs together, about
	made  map[class]*recorded
	seen  map[class]struct{} // classes that were used once
	clock uint64
}

// class is the shape of a graph's input.
type class struct {
	tokens, texts int
	long          bool // a text has more than shortText tokens
}

// shortText is the most tokens of a text that attention computes without its kernel for long ones.
const shortText = 255

// longest is a number of tokens that no text of the class exceeds, 0 where none is known.
func (c class) longest() int {
	if c.long {
		return 0
	}
	return shortText
}

// recorded is one graph. Its mutex is held from the writing of its input to the reading of its
// output.
type recorded struct {
	mu      sync.Mutex
	in      *gpk.Array // the data of packed
	data    []int32
	graph   *gpk.Graph // nil: not recorded yet
	dropped bool       // it is no longer among the graphs

	used uint64 // guarded by the mutex of graphs
}

// The bounds of an encoder's graphs: their number, and the share of the device's memory.
const (
	maxGraphs  = 64
	graphShare = 32
)

// maxSeen bounds the number of classes of shapes whose use is remembered.
const maxSeen = 1024

// padding is the most tokens of a text that a class adds, about: attention takes the square of it.
const padding = 64

// classOf rounds a shape up. Tokens are a multiple of an eighth of the power of two below them, so
// that less than an eighth of the work is added; multiples of 8 are what tensor cores take at once.
func classOf(p *packed) class {
	tokens, texts := p.tokens, p.texts
	step := max(8, 1<<max(bits.Len(uint(tokens))-4, 0))
	c := class{tokens: (tokens + step - 1) / step * step, long: p.longest > shortText}
	added := max(1, (c.tokens-tokens+padding-1)/padding)
	c.texts = 1 << bits.Len(uint(texts+added-1))
	return c
}

// pad writes p into the data of a class: its texts, and texts that share the tokens that are left.
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

// run computes the embeddings of texts by a graph. done is false where no graph is there: the first
// time that a class is used, because recording takes longer than a pass, and where one cannot be recorded.
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

// find returns the graph of a class, locked, and drops others that there is no room for beside it; nil
// where the class is not to have one.
func (g *graphs) find(e *Encoder, c class) *recorded {
	g.mu.Lock()
	r := g.admit(e, c)
	g.mu.Unlock()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if r.dropped { // meanwhile
		r.mu.Unlock()
		return nil
	}
	return r
}

// admit is find without the lock. g.mu is held.
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

// makeRoom drops graphs until one more of so many bytes fits. One that is in use stays, so that
// there are at most as many beyond the bound as there are calls at once. g.mu is held.
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

// passBytes is about how much memory a pass over a class takes: of half a layer, with what it reads.
func (e *Encoder) passBytes(c class) int64 {
	features := 2*e.hidden + max(5*e.hidden, e.intermediate+2*e.hidden)
	return int64(c.tokens) * int64(e.dtype().Size()) * int64(features)
}

// failed forgets a graph that could not be recorded. Where no graph can be, no other is tried.
func (g *graphs) failed(c class, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.made, c)
	delete(g.seen, c)
	if errors.Is(err, gpk.ErrUnsupported) {
		g.on = false
	}
}

// record records the pass over a class.
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

// free gives the memory back for good. r.mu is held.
func (r *recorded) free() {
	r.dropped = true
	r.graph.Free()
	for _, a := range append(r.graph.Outputs(), r.in) {
		a.Free()
	}
	r.in, r.data, r.graph = nil, nil, nil
}

// close frees all graphs, and makes no others.
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
