package quantum

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// ownTile allocates a tile of a rank that keeps its part on the GPU. The tile has no mirror.
func (g *cudaGram) ownTile(s *device.Stream, at bounds) (t target, err error) {
	buf, err := g.dev.Alloc(int64(at.r)*int64(at.c)*int64(g.dt.Size()), s)
	if err != nil {
		return t, err
	}
	g.job.tiles = append(g.job.tiles, Tile{Row: g.part.at(0, at.i), Col: g.part.at(g.part.ySet(), at.j), K: array.FromBuffer(buf, g.dt, at.r, at.c)})
	t.view = device.View{Buffer: buf, DType: g.dt, Layout: layout.Dense([]int{at.r, at.c})}
	return t, nil
}

// compactArray returns the rows of a compact set as an array on the GPU. If they are all rows of x in order, it
// returns x itself.
func (p *share) compactArray(x *gpk.Array, set int) (*gpk.Array, error) {
	n := [2]int{p.n, p.m}[set]
	if len(p.sets[set]) == (n+p.side-1)/p.side {
		return x, nil
	}
	var parts []*gpk.Array
	for _, t := range p.sets[set] {
		parts = append(parts, x.Slice(0, t*p.side, t*p.side+p.extent(t, n)))
	}
	out := x.Slice(0, 0, 0).Clone() // not a view: the caller frees it
	if len(parts) > 0 {
		out = gpk.Concat(0, parts...)
	}
	if err := gpk.Eval(out); err != nil {
		return nil, fmt.Errorf("the samples of a rank: %w", err)
	}
	return out, nil
}
