package quantum

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gpk-go/gpk"
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

	// Of each block with complex states: X + Y of the rows X + iY and U - V of
	// the columns U + iV, [side, 2^qubits].
	left, right         []*gpk.Array
	leftData, rightData [][]T
	product             *gpk.Array // room for [3, side, side]
	parts               []T
	tile                []T // where K is not in memory

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
	g.side = max(min(j.plan.Tile/2, k.side(j.options.Precision, j.plan.Workspace)), 1)
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
	for _, b := range k.blocks {
		var left, right *gpk.Array
		var l, r []T
		if !b.real {
			if left, l, err = hostArray[T](j.dev, g.dt, g.side, 1<<b.qubits); err != nil {
				return err
			}
			g.left = append(g.left, left)
			if right, r, err = hostArray[T](j.dev, g.dt, g.side, 1<<b.qubits); err != nil {
				return err
			}
			g.right = append(g.right, right)
		} else {
			g.left, g.right = append(g.left, nil), append(g.right, nil)
		}
		g.leftData, g.rightData = append(g.leftData, l), append(g.rightData, r)
	}
	if len(k.blocks) > 0 {
		g.product, g.parts, err = hostArray[T](j.dev, g.dt, 3*g.side*g.side)
	}
	return err
}

func (g *cpuGram[T]) free() {
	for _, arrays := range [][]*gpk.Array{g.left, g.right, {g.product}, g.slots[0].arrays, g.slots[1].arrays} {
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
	norms := g.norms[of]
	for i := lo; i < hi; i++ {
		g.builds[of][i]++
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
		data := s.data[i]
		err := build(g.ctx, p, of, lo, hi, func(i int) (re, im []T) {
			row := data[(i-lo)*w : (i-lo+1)*w]
			if p.real {
				return row, nil
			}
			return row[:d], row[d:]
		}, func(i int, re, im []T) {
			if norms != nil {
				n := sumSquares(re) + sumSquares(im)
				norms[i] *= n * n
			}
		})
		if err != nil {
			return nil, err
		}
	}
	s.of, s.lo, s.hi = of, lo, hi
	return s, nil
}

func sumSquares[T number](v []T) float64 {
	var sums [2]float64
	addMoments(v, 0, &sums)
	return sums[1]
}

// smallTile is the side below which a tile on the diagonal is computed whole.
const smallTile = 128

// multiply computes the tiles of a pair of blocks.
func (g *cpuGram[T]) multiply(a, b *stateBlock[T]) error {
	same := g.symmetric() && a.lo == b.lo
	for j0 := b.lo; j0 < b.hi; j0 += g.side {
		cols := min(g.side, b.hi-j0)
		begun := time.Now()
		g.columns(b, j0, cols)
		g.report.Product += time.Since(begun)
		last := a.hi
		if same {
			last = j0
		}
		for i0 := a.lo; i0 < last; i0 += g.side {
			if err := g.one(a, b, i0, min(g.side, last-i0), j0, 0, cols); err != nil {
				return err
			}
		}
		if same {
			if err := g.triangle(a, j0, 0, cols); err != nil {
				return err
			}
		}
	}
	return nil
}

// triangle computes what lies on and above the diagonal of n rows and columns
// from j0 + off on: two triangles of half the side, and the square between.
func (g *cpuGram[T]) triangle(a *stateBlock[T], j0, off, n int) error {
	if n <= smallTile {
		return g.one(a, a, j0+off, n, j0, off, n)
	}
	h := (n/2 + smallTile - 1) / smallTile * smallTile
	if err := g.triangle(a, j0, off, h); err != nil {
		return err
	}
	if err := g.one(a, a, j0+off, h, j0, off+h, n-h); err != nil {
		return err
	}
	return g.triangle(a, j0, off+h, n-h)
}

// columns prepares the columns j0 … j0+cols-1.
func (g *cpuGram[T]) columns(b *stateBlock[T], j0, cols int) {
	g.bloch.columns(j0, cols)
	for i, p := range g.kernel.blocks {
		if !p.real {
			sums(g.rightData[i], b.data[i], j0-b.lo, cols, 1<<p.qubits, -1)
		}
	}
}

// sums writes re + sign im of n states from at on.
func sums[T number](dst, states []T, at, n, d int, sign T) {
	rows(n, n*d, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			re, im := states[(at+r)*2*d:][:d], states[(at+r)*2*d+d:][:d]
			sum := dst[r*d:][:d]
			for k, v := range re {
				sum[k] = v + sign*im[k]
			}
		}
	})
}

// one computes the tile of r rows from i0 on and of the prepared columns off …
// off+cols-1, which are the samples from j0+off on, and hands it on.
func (g *cpuGram[T]) one(a, b *stateBlock[T], i0, r, j0, off, cols int) error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	tile, ld := g.out.place(i0, j0+off)
	if tile == nil {
		tile, ld = g.tile, g.side
	}
	first := !g.bloch.tile(tile, ld, i0, r, off, cols)
	for i, p := range g.kernel.blocks {
		if err := g.multiplyBlock(p, i, a, b, tile, ld, i0, r, j0, off, cols, first); err != nil {
			return err
		}
		first = false
	}
	if first { // no sample changes anything
		for y := range r {
			for x := range tile[y*ld:][:cols] {
				tile[y*ld+x] = 1
			}
		}
	}
	if g.symmetric() && i0 == j0+off {
		if err := g.check(tile, ld, i0, r); err != nil {
			return err
		}
	}
	g.scale(tile, ld, i0, r, j0+off, cols)
	computed := time.Now()
	g.report.Product += computed.Sub(begun)
	n, err := g.out.put(i0, r, j0+off, cols, tile, ld)
	if err != nil {
		return err
	}
	g.report.Copy += time.Since(computed)
	g.done += n
	g.progress(g.done)
	return nil
}

// multiplyBlock multiplies a tile by |<psi_i|psi_j>|^2 of a block, or writes
// it.
func (g *cpuGram[T]) multiplyBlock(p *program, i int, a, b *stateBlock[T], tile []T, ld, i0, r, j0, off, cols int, first bool) error {
	n, d := r*cols, 1<<p.qubits
	left, right := a.arrays[i].Slice(0, i0-a.lo, i0-a.lo+r), b.arrays[i].Slice(0, j0-b.lo+off, j0-b.lo+off+cols)
	multiply := func(at int, left, right *gpk.Array) error {
		g.report.Launches++
		product := left.MatMul(right.T(), gpk.FullPrecision)
		return gpk.Into(g.product.Slice(0, at, at+product.Size()).Reshape(product.Shape()...), product)
	}
	var err error
	if p.real {
		err = multiply(0, left, right)
	} else {
		parts := func(a *gpk.Array) *gpk.Array { return a.Reshape(a.Shape()[0], 2, d).Transpose(1, 0, 2) }
		sums(g.leftData[i], a.data[i], i0-a.lo, r, d, 1)
		if err = multiply(0, parts(left), parts(right)); err == nil {
			err = multiply(2*n, g.left[i].Slice(0, 0, r), g.right[i].Slice(0, off, off+cols))
		}
	}
	if err != nil {
		return err
	}
	rows(r, r*cols, func(lo, hi int) {
		for y := lo; y < hi; y++ {
			out := tile[y*ld:][:cols]
			part := func(z int) []T { return g.parts[(z*r+y)*cols:][:cols] }
			if p.real {
				square1(out, part(0), first)
			} else {
				combine3(out, part(0), part(1), part(2), first)
			}
		}
	})
	return nil
}

// diagonalBound is how far the computed diagonal may be from 1.
func (p Precision) diagonalBound() float64 { return [...]float64{5e-6, 2e-3, 1e-12}[p] }

// check compares the diagonal of a tile with 1, which it is by construction.
func (g *cpuGram[T]) check(tile []T, ld, i0, n int) error {
	for i := range n {
		v := float64(tile[i*ld+i])
		d := math.Abs(v - 1)
		g.report.MaxDiagonalError = max(g.report.MaxDiagonalError, d)
		if !(d <= g.options.Precision.diagonalBound()) {
			return fmt.Errorf("%w: K[%d, %d] came out as %v instead of 1: a fault of gpk or of the machine", gpk.ErrNonFinite, i0+i, i0+i, v)
		}
	}
	return nil
}

// scale divides by the norms where that was asked for.
func (g *cpuGram[T]) scale(tile []T, ld, i0, r, j0, cols int) {
	if !g.options.Normalize {
		return
	}
	inverse := func(v float64) float64 { return 1 / math.Sqrt(max(v+g.options.Jitter, leastDiagonal)) }
	x, y := g.norms[g.x], g.norms[g.y]
	for i := range r {
		row, s := tile[i*ld:][:cols], inverse(x[i0+i])
		for k := range row {
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
	states := sum(g.slots[0].arrays) + sum(g.slots[1].arrays) + g.bloch.bytes()
	work := sum(g.left) + sum(g.right) + sum([]*gpk.Array{g.product}) + int64(len(g.tile)*g.dt.Size())
	r.Peak = []Bytes{{"states", states}, {"K", int64(g.k.NBytes())}, {"workspace", work}}
	return nil
}
