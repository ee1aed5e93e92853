package quantum

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/cpu"
)

// cpuGram is a Gram matrix in progress.
type cpuGram[T number] struct {
	tileDriver
	ctx    context.Context
	dt     gpk.DType
	arrays [2][]*gpk.Array // per slot: the states in every block of the kernel
	states [2][][]T        // a row of width numbers per sample: first the real parts, then the imaginary parts
	bloch  *bloch[T]       // for single wires
	norms  [2][]float64    // <psi|psi>^2 of x and of y, for Normalize
	side   int

	tile []T // used if K is not in memory

	out  sink[T]
	done int64
}

func gramCPU[T number](ctx context.Context, j *job, poison bool) (err error) {
	g := &cpuGram[T]{tileDriver: tileDriver{job: j}, ctx: ctx, dt: j.options.Precision.dtype()}
	defer g.free()
	if err := g.allocate(poison); err != nil {
		return err
	}
	begun := time.Now()
	if g.bloch, err = newBloch[T](ctx, j.kernel, j.x, j.y); err != nil {
		return err
	}
	j.report.States += time.Since(begun)
	if err := g.computeTiles(g); err != nil {
		return err
	}
	return g.finish()
}

// allocate allocates all memory except that of states.
func (g *cpuGram[T]) allocate(poison bool) error {
	j, k := g.job, g.kernel
	g.side = max(min(j.plan.Tile/2, k.side(j.options.Precision, j.plan.Workspace-j.plan.roundingWaste, j.plan.workers)), 1)
	g.side = min(g.side, max(j.x.n, j.y.n, 1))
	var err error
	g.out = sink[T]{job: j, ctx: g.ctx}
	if j.part != nil {
		g.side = j.part.side
	}
	if j.options.Output != nil {
		if err := g.out.header(g.dt); err != nil {
			return err
		}
	}
	if !j.whole() {
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
	for _, arrays := range g.arrays {
		for _, a := range arrays {
			a.Free()
		}
	}
}

// buildStates implements tileEngine.
func (g *cpuGram[T]) buildStates(b stateBlock) error {
	begun := time.Now()
	defer func() { g.report.States += time.Since(begun) }()
	set := g.set(b.of)
	if g.options.Normalize {
		if g.norms[set] == nil {
			g.norms[set] = make([]float64, b.of.n)
		}
		for i := b.lo; i < b.hi; i++ {
			g.norms[set][i] = 1
		}
	}
	arrays, states, norms := &g.arrays[b.slot], &g.states[b.slot], g.norms[set]
	if *arrays == nil {
		*arrays, *states = make([]*gpk.Array, len(g.kernel.blocks)), make([][]T, len(g.kernel.blocks))
	}
	for i, p := range g.kernel.blocks {
		w, d := p.width(), 1<<p.qubits
		if len((*states)[i]) < (b.hi-b.lo)*w {
			(*arrays)[i].Free()
			var err error
			if (*arrays)[i], (*states)[i], err = hostArray[T](g.dev, g.dt, b.hi-b.lo, w); err != nil {
				return err
			}
		}
		data, dither := (*states)[i], newDither(w)
		// Computed in float64 for every type of K, and rounded once: the errors of float32
		// gates accumulate if one angle is used in many of them.
		err := build(g.ctx, p, b.of, b.lo, b.hi, func(i int, re, im []float64) {
			dither.rotate(re, im)
			if norms != nil {
				n := sumSquares(re) + sumSquares(im)
				norms[i] *= n * n
			}
			row := data[(i-b.lo)*w : (i-b.lo+1)*w]
			narrow(row[:d], re)
			narrow(row[d:], im)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func sumSquares[T number](v []T) float64 {
	var sums laneSums
	addMoments(v, len(v), 1, len(v), 0, &sums)
	_, squares := sums.total()
	return squares
}

// cuts implements tileEngine. The first tile of a range may be smaller than the others. The first panel of the closed
// form may be short too. So the other tiles have whole panels if their side is a multiple of a panel's width.
func (g *cpuGram[T]) cuts(_ *samples, lo, hi int) []int {
	if g.part != nil {
		return cut(lo, hi, g.side)
	}
	step := g.side
	if len(g.kernel.blocks) > 0 { // as few tiles as the side allows, of similar sizes
		const whole = 96 // a multiple of every micro-kernel's tile
		parts := (hi - lo + step - 1) / step
		step = min(step, ((hi-lo+parts-1)/parts+whole-1)/whole*whole)
	}
	return append([]int{lo}, cut(lo+(hi-lo-1)%step+1, hi, step)...)
}

// computeTile implements tileEngine.
func (g *cpuGram[T]) computeTile(a, b stateBlock, t bounds) error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	tile, ld := g.out.place(t.i, t.j)
	if tile == nil {
		tile, ld = g.tile, g.side
	}
	post := g.postprocessing(tile, ld, t)
	written := g.bloch.tile(tile, ld, t, post)
	for i, p := range g.kernel.blocks {
		g.multiplyBlock(p, i, a, b, tile, ld, t, !written)
		written = true
	}
	if !written { // no factor depends on the sample
		for y := range t.r {
			for x := range tile[y*ld:][:t.c] {
				tile[y*ld+x] = 1
			}
		}
	}
	if t.triangle {
		if err := g.check(tile, ld, t); err != nil {
			return err
		}
	}
	g.scale(tile, ld, t)
	computed := time.Now()
	g.report.Product += computed.Sub(begun)
	n, err := g.out.put(t, tile, ld, post)
	if err != nil {
		return err
	}
	g.done += n
	g.report.Copy += time.Since(computed)
	g.progress(g.done)
	return nil
}

// postprocessing returns the postprocessing that the closed form can apply to the blocks of a
// tile, or nil if the tile needs more than the closed form.
func (g *cpuGram[T]) postprocessing(tile []T, ld int, t bounds) *postprocessing[T] {
	if len(g.kernel.blocks) > 0 || g.bloch.width == 0 || g.options.Normalize {
		return nil
	}
	s := &postprocessing[T]{}
	switch {
	case t.triangle:
		s.mirror, s.ld = tile, ld
	case g.symmetric():
		s.mirror, s.ld = g.out.reflection(t)
	}
	if off := &g.out.off; off.n == 0 && (t.r > 1 || !t.triangle) {
		off.shift = g.bloch.typical(t)
	}
	s.shift, s.sums = g.out.off.shift, g.out.strips(g.bloch.strips(t.i, t.r))
	return s
}

// multiplyBlock multiplies a tile, or its part on and above the diagonal, by
// |<psi_i|psi_j>|^2 of a block; the first block is written instead.
func (g *cpuGram[T]) multiplyBlock(p *program, i int, a, b stateBlock, tile []T, ld int, t bounds, first bool) {
	w, d := p.width(), 1<<p.qubits
	vectors := func(s stateBlock, at int) cpu.Vectors[T] {
		row := g.states[s.slot][i][(at-s.lo)*w:]
		v := cpu.Vectors[T]{Re: &row[0], LD: w}
		if !p.real {
			v.Im = &row[d]
		}
		return v
	}
	// The errors of the factors add up. Summing a few dozen products at a time halves these errors.
	chain := 0
	if len(g.kernel.blocks) > 1 {
		chain = 64
	}
	g.report.Launches++
	cpu.Overlaps(t.r, t.c, d, vectors(a, t.i), vectors(b, t.j), t.triangle, chain, func(o cpu.OverlapPart[T]) {
		at := tile[o.Row*ld+o.Col:]
		if p.real {
			square1(at, ld, o.P[0], o.LD, o.Rows, o.Cols, first)
		} else {
			combine3(at, ld, o.P[0], o.P[1], o.P[2], o.LD, o.Rows, o.Cols, first)
		}
	})
}

// diagonalBound bounds the error of the computed diagonal.
func (p Precision) diagonalBound() float64 { return [...]float64{5e-6, 2e-3, 1e-12}[p] }

// check compares the diagonal of a tile with 1, its exact value.
func (g *cpuGram[T]) check(tile []T, ld int, t bounds) error {
	bound := g.options.Precision.diagonalBound()
	for i := range t.r {
		v := float64(tile[i*ld+i])
		d := math.Abs(v - 1)
		if d > g.report.MaxDiagonalError {
			g.report.MaxDiagonalError = d
		}
		if !(d <= bound) {
			return fmt.Errorf("%w: K[%d, %d] came out as %v instead of 1: a fault of gpk or of the machine", gpk.ErrNonFinite, g.x.origin(t.i+i), g.x.origin(t.i+i), v)
		}
	}
	return nil
}

// scale divides by the norms if Normalize is set.
func (g *cpuGram[T]) scale(tile []T, ld int, t bounds) {
	if !g.options.Normalize {
		return
	}
	inverse := func(v float64) float64 { return 1 / math.Sqrt(max(v+g.options.Jitter, leastDiagonal)) }
	x, y := g.norms[0], g.norms[g.set(g.y)]
	for i := range t.r {
		row, s := tile[i*ld:][:t.c], inverse(x[t.i+i])
		from := 0
		if t.triangle {
			from = i
		}
		for k := from; k < t.c; k++ {
			row[k] *= T(s * inverse(y[t.j+k]))
		}
	}
}

// finish fills in the report.
func (g *cpuGram[T]) finish() error {
	r := g.report
	r.OffDiagonalMean, r.OffDiagonalStd = g.out.off.mean(), g.out.off.std()
	r.MaxBuilds, g.job.off = g.maxBuilds(), g.out.off
	sum := func(arrays []*gpk.Array) (n int64) {
		for _, a := range arrays {
			n += int64(a.NBytes())
		}
		return n
	}
	// The first two are in the pool; finish subtracts them from its peak. The rest is in
	// Go's heap.
	r.Peak = []Bytes{{"states", sum(g.arrays[0]) + sum(g.arrays[1])}, {"K", int64(g.k.NBytes()) + tileBytes(g.tiles)}}
	if n := g.bloch.bytes(); n > 0 {
		r.Peak = append(r.Peak, Bytes{"points of single qubits", n})
	}
	if n := int64((len(g.tile) + len(g.out.mirror)) * g.dt.Size()); n > 0 {
		r.Peak = append(r.Peak, Bytes{"tiles on the way", n})
	}
	return nil
}
