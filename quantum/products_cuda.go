package quantum

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// target is the destination of a tile of K on the device.
type target struct {
	view     device.View // [rows, cols]
	mirror   *device.Buffer
	mirrorAt uint64 // 0: no mirror
	ldMirror int
}

// target returns the destination of a tile that is computed on s: in K, in a buffer for the host, or in memory of its
// own as a tile of a rank.
func (g *cudaGram) target(s *device.Stream, at bounds) (t target, err error) {
	if g.part != nil && g.out == nil {
		return g.ownTile(s, at)
	}
	mirrored := g.symmetric() && !at.triangle
	t.view = device.View{Buffer: g.result, DType: g.dt, Layout: layout.Layout{Shape: []int{at.r, at.c}, Strides: []int{g.y.n, 1}, Offset: at.i*g.y.n + at.j}}
	if g.out != nil {
		if t.view.Buffer, t.mirror, err = g.out.room(); err != nil {
			return t, err
		}
		t.view.Layout.Strides[0], t.view.Layout.Offset, t.ldMirror = at.c, 0, at.r
		if mirrored {
			t.mirrorAt = t.mirror.Addr()
		}
		return t, nil
	}
	t.mirror, t.ldMirror = g.result, g.y.n
	if mirrored {
		t.mirrorAt = g.result.Addr() + uint64((at.j*g.y.n+at.i)*g.dt.Size())
	}
	return t, nil
}

// ahead is the number of tiles that may be in progress. It is small because started work cannot be cancelled.
const ahead = 2

// computeTile implements tileEngine.
func (g *cudaGram) computeTile(a, b stateBlock, at bounds) error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	if err := g.waitFor(g.tiles - max(ahead, len(g.streams))); err != nil {
		return err
	}
	streams := g.streams[g.firstStream:]
	s := streams[g.tiles%maxNotes%len(streams)]
	t, err := g.target(s, at)
	if err != nil {
		return err
	}
	err = g.timed(&g.started, s, func() error {
		whole := t
		if at.triangle {
			whole.mirror, whole.mirrorAt, whole.ldMirror = t.view.Buffer, t.view.Addr(), t.view.Layout.Strides[0]
		}
		if done, err := g.fusedTile(s, a, b, whole, at); done || err != nil {
			return err
		}
		g.apart = true
		square, err := g.products(s, a, b, t.view, at)
		if err != nil {
			return err
		}
		return g.complete(s, whole, at, square)
	})
	if err != nil {
		return err
	}
	n, off := at.pairs() // entries on the diagonal do not count
	g.off.n += off
	g.entries = append(g.entries, n)
	g.tiles++
	if g.out != nil {
		return g.out.put(t, at)
	}
	return nil
}

// products computes the product of the kernels of the blocks and wires; square means that
// its entries are still amplitudes.
func (g *cudaGram) products(s *device.Stream, a, b stateBlock, d device.View, at bounds) (square bool, err error) {
	square = len(g.codes) == 1 && g.points[0] == nil && g.codes[0].real
	for k, code := range g.codes {
		to := d
		if k > 0 {
			buf, err := g.dev.Alloc(d.NBytes(), s)
			if err != nil {
				return false, err
			}
			defer buf.Free()
			to = device.View{Buffer: buf, DType: g.dt, Layout: layout.Dense(d.Layout.Shape)}
		}
		width := 1 << code.qubits
		rows := device.View{Buffer: g.blocks[a.slot][k], DType: code.states(), Layout: layout.Layout{
			Shape: []int{d.Layout.Shape[0], width}, Strides: []int{width, 1}, Offset: (at.i - a.lo) * width,
		}}
		cols := device.View{Buffer: g.blocks[b.slot][k], DType: code.states(), Layout: layout.Layout{
			Shape: []int{width, d.Layout.Shape[1]}, Strides: []int{1, width}, Offset: (at.j - b.lo) * width,
		}}
		p := matmul.Product{
			D: to, A: rows, B: cols, Precision: g.precision(), ConjB: !code.real, AbsSquare: !square,
			Symmetric: at.triangle, Upper: true, Normwise: true, Measure: g.options.Autotune,
		}
		done := false
		if !square {
			q := gramArgs{Factor: 1, Triangle: flagOf(at.triangle), K: to.Addr(), Ld: int64(to.Layout.Strides[0])} // it leaves the diagonal unchanged
			done, err = g.gramKernel(s, q, a, b, to, k, at, nil, []*device.Buffer{to.Buffer})
		}
		switch {
		case done || err != nil:
		case inPieces(g.dt, width):
			err = g.pieces(s, p)
		default:
			g.launches++
			err = p.Run(s)
		}
		if err != nil {
			return false, err
		}
		if k > 0 {
			if err := ops.Apply2(s, expr.Mul, d, d, to); err != nil {
				return false, err
			}
		}
	}
	if g.points[0] == nil {
		if len(g.codes) == 0 { // no factor depends on the sample
			err = ops.Fill(s, d, scalarOf(1, g.dt))
		}
		return square, err
	}
	g.launches++
	return square, g.gpu.closedForm.Launch(s, []*device.Buffer{g.points[0], g.points[g.set(g.y)]}, []*device.Buffer{d.Buffer}, closedFormArgs{
		Points: g.tilePoints(at), Type: int32(g.dt), Dot: flagOf(g.dot), Upper: flagOf(at.triangle),
		Times: flagOf(len(g.codes) > 0), K: d.Addr(), Ld: int64(d.Layout.Strides[0]),
	})
}

// tilePoints returns the points of the samples of a tile.
func (g *cudaGram) tilePoints(t bounds) wirePoints {
	x, y, size := g.points[0], g.points[g.set(g.y)], uint64(g.dt.Size())
	return wirePoints{
		Rows: int64(t.r), Cols: int64(t.c), X: x.Addr() + uint64(t.i)*size, LdX: int64(pointPitch(g.x.n)), Y: y.Addr() + uint64(t.j)*size, LdY: int64(pointPitch(g.y.n)),
		Planar: int32(g.planar), Full: int32(g.full),
	}
}

// normalization sets the diagonal and, with Normalize, the norms of a tile's samples
// in a kernel's arguments. It returns the buffers of the norms.
func (g *cudaGram) normalization(one *float64, normX, normY *uint64, jitter *float64, t bounds) []*device.Buffer {
	if !g.options.Normalize {
		*one = 1 + g.options.Jitter
		return nil
	}
	y := g.norms[g.set(g.y)]
	*one, *normX, *normY, *jitter = 1, g.norms[0].Addr()+uint64(8*t.i), y.Addr()+uint64(8*t.j), g.options.Jitter
	return []*device.Buffer{g.norms[0], y}
}

// precision returns the precision for products of states. States have norm 1, so an error that is bounded by the
// norms of rows satisfies the guarantees.
func (g *cudaGram) precision() matmul.Precision {
	switch {
	case g.options.Precision == Double:
		return matmul.Default
	case g.kernel.split(g.options.Precision):
		return matmul.FullPrecision
	}
	return matmul.TF32
}

// complete does the postprocessing of a product: the mirror, the diagonal, statistics.
func (g *cudaGram) complete(s *device.Stream, t target, at bounds, square bool) error {
	need := epilogueWorkspace(at.r, at.c)
	work, err := g.dev.Alloc(need, s)
	if err != nil {
		return err
	}
	defer work.Free()
	q := epilogueArgs{
		Type: int32(g.dt), Rows: int64(at.r), Cols: int64(at.c), K: t.view.Addr(), Ld: int64(t.view.Layout.Strides[0]), Mirror: t.mirrorAt, LdMirror: int64(t.ldMirror),
		Triangle: flagOf(at.triangle), Square: flagOf(square), Total: g.notes.Addr() + uint64(8*g.tileNotes(g.tiles)),
		Workspace: work.Addr(), WorkspaceBytes: need,
	}
	reads := g.normalization(&q.One, &q.NormX, &q.NormY, &q.Jitter, at)
	writes := []*device.Buffer{t.view.Buffer, g.notes, work}
	if t.mirror != nil && t.mirror != t.view.Buffer {
		writes = append(writes, t.mirror)
	}
	g.launches += 2 // another kernel sums the patches
	return g.gpu.epilogue.Launch(s, reads, writes, q)
}

// epilogueWorkspace returns the workspace of quantum_epilogue for r rows and c columns: the
// sums of every 64 x 64.
func epilogueWorkspace(r, c int) int64 {
	const side, sums = 64, 24
	return sums * int64((r+side-1)/side) * int64((c+side-1)/side)
}
