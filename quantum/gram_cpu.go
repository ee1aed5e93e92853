package quantum

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/cpu"
)

// stateBlock holds the states of the samples lo … hi-1 in every block of the
// kernel, a row of width a sample: real parts, then imaginary parts.
type stateBlock[T number] struct {
	of     *samples // nil: nothing yet
	lo, hi int
	arrays []*gpk.Array
	data   [][]T
}

// cpuGram is one Gram matrix under way.
type cpuGram[T number] struct {
	*job
	ctx    context.Context
	dt     gpk.DType
	slots  [2]stateBlock[T]
	bloch  *bloch[T]              // of the single wires
	norms  map[*samples][]float64 // <psi|psi>^2, for Normalize
	builds map[*samples][]int
	side   int

	tile []T // where K is not in memory

	out  sink[T]
	done int64
}

func gramCPU[T number](ctx context.Context, j *job, poison bool) (err error) {
	g := &cpuGram[T]{job: j, ctx: ctx, dt: j.options.Precision.dtype(), builds: map[*samples][]int{}, norms: map[*samples][]float64{}}
	defer g.free()
	if err := g.allocate(poison); err != nil {
		return err
	}
	begun := time.Now()
	if g.bloch, err = newBloch[T](ctx, j.kernel, j.x, j.y); err != nil {
		return err
	}
	j.report.States += time.Since(begun)
	// Blocks of states: all of them, or half a tile.
	block := max(j.x.n, j.y.n, 1)
	if j.plan.Keep == Recompute {
		block = j.plan.Tile / 2
	}
	for i := 0; i*block < j.x.n; i++ {
		first, last := 0, (j.y.n+block-1)/block-1
		if j.symmetric() {
			first = i
		}
		// To and fro, so that one block of each pair is there already.
		for s := range last - first + 1 {
			c := first + s
			if i%2 == 1 {
				c = last - s
			}
			a, err := g.states(j.x, i*block, min((i+1)*block, j.x.n), g.slot(j.y, c*block))
			if err != nil {
				return err
			}
			b, err := g.states(j.y, c*block, min((c+1)*block, j.y.n), g.slot(j.x, i*block))
			if err != nil {
				return err
			}
			if err := g.multiply(a, b); err != nil {
				return err
			}
		}
	}
	return g.finish()
}

// allocate gets the memory for everything but states.
func (g *cpuGram[T]) allocate(poison bool) error {
	j, k := g.job, g.kernel
	g.side = max(min(j.plan.Tile/2, k.side(j.options.Precision, j.plan.Workspace-j.plan.spare, j.plan.workers)), 1)
	g.side = min(g.side, max(j.x.n, j.y.n, 1))
	var err error
	g.out = sink[T]{job: j}
	if j.options.Output != nil {
		if err := g.out.header(g.dt); err != nil {
			return err
		}
		g.tile = make([]T, g.side*g.side)
	} else if j.k, g.out.k, err = hostArray[T](j.dev, g.dt, j.x.n, j.y.n); err != nil {
		return err
	}
	if poison {
		for i := range g.out.k {
			g.out.k[i] = T(math.NaN())
		}
	}
	return nil
}

func (g *cpuGram[T]) free() {
	if g.bloch != nil {
		g.bloch.free()
	}
	for _, arrays := range [][]*gpk.Array{g.slots[0].arrays, g.slots[1].arrays} {
		for _, a := range arrays {
			a.Free()
		}
	}
}

// slot returns the slot that has the states of these samples, or nil.
func (g *cpuGram[T]) slot(of *samples, lo int) *stateBlock[T] {
	for i := range g.slots {
		if s := &g.slots[i]; s.of == of && s.lo == lo {
			return s
		}
	}
	return nil
}

// states returns a block with these samples' states, and builds them if no slot
// has them: not in the slot keep, whose states are needed beside.
func (g *cpuGram[T]) states(of *samples, lo, hi int, keep *stateBlock[T]) (*stateBlock[T], error) {
	if s := g.slot(of, lo); s != nil {
		return s, nil
	}
	s := &g.slots[0]
	if keep == s {
		s = &g.slots[1]
	}
	begun := time.Now()
	defer func() { g.report.States += time.Since(begun) }()
	if g.builds[of] == nil {
		g.builds[of] = make([]int, of.n)
		if g.options.Normalize {
			g.norms[of] = make([]float64, of.n)
		}
	}
	builds, norms := g.builds[of], g.norms[of]
	for i := lo; i < hi; i++ {
		builds[i]++
		if norms != nil {
			norms[i] = 1
		}
	}
	s.of = nil
	if s.arrays == nil {
		s.arrays, s.data = make([]*gpk.Array, len(g.kernel.blocks)), make([][]T, len(g.kernel.blocks))
	}
	for i, p := range g.kernel.blocks {
		w, d := p.width(), 1<<p.qubits
		if len(s.data[i]) < (hi-lo)*w {
			s.arrays[i].Free()
			var err error
			if s.arrays[i], s.data[i], err = hostArray[T](g.dev, g.dt, hi-lo, w); err != nil {
				return nil, err
			}
		}
		data, dither := s.data[i], newDither(w)
		// In float64 whatever K is in, and rounded once: the errors of float32 gates add
		// up where one angle stands in many of them.
		err := build(g.ctx, p, of, lo, hi, nil, func(i int, re, im []float64) {
			dither.turn(re, im)
			if norms != nil {
				n := sumSquares(re) + sumSquares(im)
				norms[i] *= n * n
			}
			row := data[(i-lo)*w : (i-lo+1)*w]
			narrow(row[:d], re)
			narrow(row[d:], im)
		})
		if err != nil {
			return nil, err
		}
	}
	s.of, s.lo, s.hi = of, lo, hi
	return s, nil
}

func sumSquares[T number](v []T) float64 {
	var sums laneSums
	addMoments(v, len(v), 1, len(v), 0, &sums)
	_, squares := sums.total()
	return squares
}

// cuts returns where the tiles of samples lo … hi-1 of a set begin, and hi: as few of
// them as side allows and about alike. Those after the first are whole strips and panels.
func (g *cpuGram[T]) cuts(set, lo, hi int) []int {
	const whole = 96 // of every micro-kernel
	at := []int{lo}
	if len(g.kernel.blocks) == 0 {
		for lo += g.side; lo < hi; lo += g.side {
			if _, lane := g.bloch.panel(set, lo); lane < g.side {
				lo -= lane
			}
			at = append(at, lo)
		}
		return append(at, hi)
	}
	parts := (hi - lo + g.side - 1) / g.side
	step := min(g.side, ((hi-lo+parts-1)/parts+whole-1)/whole*whole)
	for k := parts - 1; k >= 0; k-- {
		at = append(at, hi-k*step)
	}
	return at
}

// multiply computes the tiles of a pair of blocks.
func (g *cpuGram[T]) multiply(a, b *stateBlock[T]) error {
	if a.lo == a.hi || b.lo == b.hi {
		return nil
	}
	same := g.symmetric() && a.lo == b.lo
	down, across := g.cuts(0, a.lo, a.hi), g.cuts(g.bloch.y, b.lo, b.hi)
	for x, j0 := range across[:len(across)-1] {
		cols, last := across[x+1]-j0, len(down)-1
		if same {
			last = x
		}
		for y, i0 := range down[:last] {
			if err := g.one(a, b, i0, down[y+1]-i0, j0, cols, false); err != nil {
				return err
			}
		}
		if same {
			if err := g.one(a, a, j0, cols, j0, cols, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// one computes the tile of r rows from i0 on and cols columns from j0 on and hands
// it on: all of it, or what lies on and above the diagonal.
func (g *cpuGram[T]) one(a, b *stateBlock[T], i0, r, j0, cols int, diagonal bool) error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	tile, ld := g.out.place(i0, j0)
	if tile == nil {
		tile, ld = g.tile, g.side
	}
	settled := g.settling(tile, ld, i0, r, j0, cols, diagonal)
	written := g.bloch.tile(tile, ld, i0, r, j0, cols, diagonal, settled)
	for i, p := range g.kernel.blocks {
		g.multiplyBlock(p, i, a, b, tile, ld, i0, r, j0, cols, diagonal, !written)
		written = true
	}
	if !written { // no sample changes anything
		for y := range r {
			for x := range tile[y*ld:][:cols] {
				tile[y*ld+x] = 1
			}
		}
	}
	if diagonal {
		if err := g.check(tile, ld, i0, r); err != nil {
			return err
		}
	}
	g.scale(tile, ld, i0, r, j0, cols, diagonal)
	computed := time.Now()
	g.report.Product += computed.Sub(begun)
	n, err := g.out.put(i0, r, j0, cols, tile, ld, settled)
	if err != nil {
		return err
	}
	g.done += n
	g.report.Copy += time.Since(computed)
	g.progress(g.done)
	return nil
}

// settling returns how the closed form settles a tile, nil where more than that makes
// the tile.
func (g *cpuGram[T]) settling(tile []T, ld, i0, r, j0, cols int, diagonal bool) *settling[T] {
	if len(g.kernel.blocks) > 0 || g.bloch.width == 0 || g.options.Normalize {
		return nil
	}
	s := &settling[T]{}
	switch {
	case diagonal:
		s.mirror, s.ld = tile, ld
	case g.symmetric():
		s.mirror, s.ld = g.out.reflection(i0, r, j0, cols)
	}
	if off := &g.out.off; off.n == 0 && (r > 1 || !diagonal) {
		off.shift = g.bloch.typical(i0, r, j0, cols, diagonal)
	}
	s.shift, s.sums = g.out.off.shift, g.out.strips(g.bloch.strips(i0, r))
	return s
}

// multiplyBlock multiplies a tile, or what of it lies on and above the diagonal, by
// |<psi_i|psi_j>|^2 of a block, or writes it.
func (g *cpuGram[T]) multiplyBlock(p *program, i int, a, b *stateBlock[T], tile []T, ld, i0, r, j0, cols int, diagonal, first bool) {
	w, d := p.width(), 1<<p.qubits
	vectors := func(s *stateBlock[T], at int) cpu.Vectors[T] {
		row := s.data[i][(at-s.lo)*w:]
		v := cpu.Vectors[T]{Re: &row[0], LD: w}
		if !p.real {
			v.Im = &row[d]
		}
		return v
	}
	// The errors of factors add up: sums of a few dozen products halve them.
	chain := 0
	if len(g.kernel.blocks) > 1 {
		chain = 64
	}
	g.report.Launches++
	cpu.Overlaps(r, cols, d, vectors(a, i0), vectors(b, j0), diagonal, chain, func(o cpu.OverlapPart[T]) {
		at := tile[o.Row*ld+o.Col:]
		if p.real {
			square1(at, ld, o.P[0], o.LD, o.Rows, o.Cols, first)
		} else {
			combine3(at, ld, o.P[0], o.P[1], o.P[2], o.LD, o.Rows, o.Cols, first)
		}
	})
}

// diagonalBound is how far the computed diagonal may be from 1.
func (p Precision) diagonalBound() float64 { return [...]float64{5e-6, 2e-3, 1e-12}[p] }

// check compares the diagonal of a tile with 1, which it is by construction.
func (g *cpuGram[T]) check(tile []T, ld, i0, n int) error {
	bound := g.options.Precision.diagonalBound()
	for i := range n {
		v := float64(tile[i*ld+i])
		d := math.Abs(v - 1)
		if d > g.report.MaxDiagonalError {
			g.report.MaxDiagonalError = d
		}
		if !(d <= bound) {
			return fmt.Errorf("%w: K[%d, %d] came out as %v instead of 1: a fault of gpk or of the machine", gpk.ErrNonFinite, i0+i, i0+i, v)
		}
	}
	return nil
}

// scale divides by the norms where that was asked for.
func (g *cpuGram[T]) scale(tile []T, ld, i0, r, j0, cols int, diagonal bool) {
	if !g.options.Normalize {
		return
	}
	inverse := func(v float64) float64 { return 1 / math.Sqrt(max(v+g.options.Jitter, leastDiagonal)) }
	x, y := g.norms[g.x], g.norms[g.y]
	for i := range r {
		row, s := tile[i*ld:][:cols], inverse(x[i0+i])
		from := 0
		if diagonal {
			from = i
		}
		for k := from; k < cols; k++ {
			row[k] *= T(s * inverse(y[j0+k]))
		}
	}
}

// finish fills in the report.
func (g *cpuGram[T]) finish() error {
	r := g.report
	r.OffDiagonalMean, r.OffDiagonalStd = g.out.off.mean(), g.out.off.std()
	for _, b := range g.builds {
		for _, n := range b {
			r.MaxBuilds = max(r.MaxBuilds, n)
		}
	}
	sum := func(arrays []*gpk.Array) (n int64) {
		for _, a := range arrays {
			n += int64(a.NBytes())
		}
		return n
	}
	// These two are the pool's, which finish takes them from; the rest is Go's.
	r.Peak = []Bytes{{"states", sum(g.slots[0].arrays) + sum(g.slots[1].arrays)}, {"K", int64(g.k.NBytes())}}
	if n := g.bloch.bytes(); n > 0 {
		r.Peak = append(r.Peak, Bytes{"points of single qubits", n})
	}
	if n := int64((len(g.tile) + len(g.out.mirror)) * g.dt.Size()); n > 0 {
		r.Peak = append(r.Peak, Bytes{"tiles on the way", n})
	}
	return nil
}
