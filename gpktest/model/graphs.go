package model

import (
	"errors"
	"fmt"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// graph is a captured sequence and its model.
type graph struct {
	name  string
	g     *gpk.Graph
	kind  int
	c     float64
	x, y  *handle // the inputs, or y is written
	out   *handle
	fixed []*store
}

// Kinds of sequences.
const (
	scaled      = iota // out = x*c + y
	accumulated        // y += x, out = y*c
	partly             // the first row of y = c, out = x + y
	kinds
)

func (p *program) capture() {
	p.restore()
	if len(p.graphs) >= 2 {
		return
	}
	fits := func(h *handle) bool {
		return h.st.dt != gpk.Bool && !h.st.bad && !h.st.shared && !h.repeats() && len(h.at) > 0 && len(h.shape) > 0
	}
	x := p.pick(fits)
	if x == nil {
		return
	}
	y := p.pick(func(h *handle) bool {
		return fits(h) && h.st.dt == x.st.dt && h.st.dev == x.st.dev && slices.Equal(h.shape, x.shape)
	})
	if y == nil {
		return
	}
	g := &graph{name: fmt.Sprintf("g%d", p.step), kind: p.rng.IntN(kinds), c: float64(1 + p.rng.IntN(2)), x: x, y: y}
	c := constant(x.st.dt, g.c)
	p.say("%s := capture of kind %d, %v, of %v, %v", g.name, g.kind, c, x, y)
	var err error
	g.g, err = gpk.Capture([]*gpk.Array{x.a}, func(in []*gpk.Array) []*gpk.Array {
		switch g.kind {
		case accumulated:
			if err := y.a.AddInPlace(in[0]); err != nil {
				p.fail("captured AddInPlace: %v", err)
			}
			return []*gpk.Array{in[0].Sub(in[0]).Add(y.a).Mul(c)}
		case partly:
			if err := y.a.Slice(0, 0, 1).CopyFrom(in[0].Slice(0, 0, 1).Sub(in[0].Slice(0, 0, 1)).Add(c)); err != nil {
				p.fail("captured CopyFrom: %v", err)
			}
			return []*gpk.Array{in[0].Add(y.a)}
		}
		return []*gpk.Array{in[0].Mul(c).Add(y.a)}
	})
	if err != nil {
		p.fail("%s: %v", g.name, err)
	}
	for _, h := range []*handle{x, y} {
		h.st.keepsMemory()
		h.st.fixed++
		g.fixed = append(g.fixed, h.st)
	}
	p.checkStored()
	out := g.g.Outputs()[0]
	if _, err := fetch(out); !errors.Is(err, gpk.ErrUnsupported) {
		p.fail("an output before Replay: %v", err)
	}
	if !p.runs(g) {
		g.g.Free()
		p.unfix(g)
		return
	}
	p.graphs = append(p.graphs, g)
	y2, result := g.results()
	rounded(x.st.dt, result)
	p.replays(g, y2)
	p.say("%s := %s.Outputs()[0]", p.nextName(), g.name)
	st := &store{id: p.step<<8 | p.made, dt: x.st.dt, dev: x.st.dev, data: result, stored: true, fixed: 2}
	at := make([]int, len(result))
	for i := range at {
		at[i] = i
	}
	g.out = p.newHandle(out, st, x.shape, at, nil)
	p.check(g.out)
	g.fixed = append(g.fixed, st)
}

// results returns the expected elements of y after a Replay, and those of the output.
func (g *graph) results() (y, out []float64) {
	x := g.x.values()
	y = g.y.values()
	row := size(g.y.shape[1:])
	for i := range y {
		switch {
		case g.kind == accumulated:
			y[i] += x[i]
		case g.kind == partly && i < row:
			y[i] = g.c
		}
	}
	if g.x.st == g.y.st && g.kind != scaled { // x is a view of the written storage, too
		old := slices.Clone(g.x.st.data)
		for i, k := range g.y.at {
			g.y.st.data[k] = y[i]
		}
		x, y = g.x.values(), g.y.values()
		copy(g.x.st.data, old)
	}
	rounded(g.y.st.dt, y)
	out = make([]float64, len(y))
	for i := range out {
		switch g.kind {
		case scaled:
			out[i] = x[i]*g.c + y[i]
		case accumulated:
			out[i] = y[i] * g.c
		default:
			out[i] = x[i] + y[i]
		}
	}
	return y, out
}

// runs reports whether the results of a Replay are exact.
func (p *program) runs(g *graph) bool {
	y, out := g.results()
	ok := rounded(g.x.st.dt, y) && rounded(g.x.st.dt, out)
	for _, v := range g.x.values() {
		ok = ok && rounded(g.x.st.dt, []float64{v * g.c})
	}
	return ok
}

// replays calls Replay, after which y must have these elements.
func (p *program) replays(g *graph, y []float64) {
	p.say("%s.Replay()", g.name)
	p.counts.replays.Add(1)
	if err := p.try(g.g.Replay); err != nil {
		p.fail("Replay of %s: %v", g.name, err)
	}
	if g.kind != scaled {
		for i, k := range g.y.at {
			g.y.st.data[k] = y[i]
		}
	}
}

func (st *store) usable() bool { return !st.dead && (st.scope == nil || !st.scope.closed) }

func (p *program) replay() {
	if len(p.graphs) == 0 {
		return
	}
	g := p.graphs[p.rng.IntN(len(p.graphs))]
	if slices.ContainsFunc(g.fixed, func(st *store) bool { return !st.usable() }) {
		p.restore()
		p.say("%s.Replay() // of what was freed", g.name)
		if err := g.g.Replay(); !errors.Is(err, gpk.ErrFreed) {
			p.fail("Replay of %s, of what was freed: %v", g.name, err)
		}
		return
	}
	if !p.runs(g) {
		return
	}
	y, out := g.results()
	rounded(g.x.st.dt, out)
	p.replays(g, y)
	copy(g.out.st.data, out)
}

func (p *program) freeGraph() {
	if len(p.graphs) == 0 {
		return
	}
	i := p.rng.IntN(len(p.graphs))
	g := p.graphs[i]
	p.graphs = slices.Delete(p.graphs, i, i+1)
	p.say("%s.Free()", g.name)
	g.g.Free()
	p.unfix(g)
	if err := g.g.Replay(); !errors.Is(err, gpk.ErrFreed) {
		p.fail("Replay of the freed %s: %v", g.name, err)
	}
}

func (p *program) unfix(g *graph) {
	for _, st := range g.fixed {
		st.fixed--
	}
}
