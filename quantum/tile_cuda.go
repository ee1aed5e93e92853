package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// joint has one kernel compute a tile of K with all that follows a product, its
// mirror, the diagonal, what normalizes it and the sums of the report, so that K is
// written once and not read. It reports false, and starts nothing, where there is no
// such kernel: on another device than a Hopper, for float64, for several factors, or
// where a closed form is normalized.
func (g *cudaGram) joint(s *device.Stream, a, b *deviceBlock, t target, i, j int, triangle bool) (bool, error) {
	if g.dt != gpk.Float32 {
		return false, nil
	}
	r, c := t.view.Layout.Shape[0], t.view.Layout.Shape[1]
	q := cutlass.QuantumGram{
		Rows: r, Cols: c, Width: 1, Triangle: triangle, K: t.view.Addr(), LD: t.view.Layout.Strides[0], Mirror: t.mirrorAt, LDMirror: t.ldMirror,
		One: 1, Total: g.notes.Addr() + uint64(8*g.tileNotes(g.tiles)),
	}
	var reads []*device.Buffer
	single := len(g.codes) == 0 && g.points[0] != nil
	switch {
	case single && (g.options.Normalize || !g.dot && (i%4 != 0 || j%4 != 0)): // TMA reads from multiples of 16 bytes on
		return false, nil
	case single:
		reads = []*device.Buffer{g.points[0], g.points[g.set(g.y)]}
	case len(g.codes) == 1 && g.points[0] == nil:
		g.ofStates(&q, a, b, 0, i, j)
		reads = []*device.Buffer{a.states[0], b.states[0]}
	default:
		return false, nil
	}
	if g.options.Normalize {
		y := g.norms[g.set(g.y)]
		q.NormX, q.NormY, q.Jitter = g.norms[0].Addr()+uint64(8*i), y.Addr()+uint64(8*j), g.options.Jitter
		reads = append(reads, g.norms[0], y)
	} else {
		q.One += g.options.Jitter
	}
	need, err := g.dev.Library().QuantumGramWorkspace(g.dev.Info().Index, q)
	if err != nil || need == 0 {
		return false, err
	}
	if single {
		need = g.kernel.closedWorkspace(r, c, triangle)
	}
	work, err := g.room(s, need)
	if err != nil {
		return false, err
	}
	q.Workspace, q.WorkspaceBytes = work.Addr(), need
	writes := []*device.Buffer{work}
	if g.out == nil {
		// Tiles of several streams write parts of K and of the notes that are apart, and run
		// beside each other. Nothing reads either before all streams have ended.
		reads = append(reads, g.result, g.notes)
	} else {
		writes = append(writes, t.view.Buffer, g.notes, t.mirror)
	}
	g.launches += 2
	return true, launchOn(g.dev, s, reads, writes, func(lib *cutlass.Library, ordinal int, stream uint64) error {
		if !single {
			return lib.QuantumGram(ordinal, stream, q)
		}
		const size = 4
		return lib.QuantumClosedGram(ordinal, stream, cutlass.QuantumClosedGram{
			Rows: r, Cols: c, X: reads[0].Addr() + uint64(i)*size, LDX: pointPitch(g.x.n), Y: reads[1].Addr() + uint64(j)*size, LDY: pointPitch(g.y.n),
			Planar: g.planar, Full: g.full, Dot: g.dot, K: q.K, LD: q.LD, Mirror: q.Mirror, LDMirror: q.LDMirror, Triangle: triangle,
			One: q.One, Total: q.Total, Workspace: q.Workspace, WorkspaceBytes: need,
		})
	})
}

// ofStates fills in which states of the block's kernel of that number a tile is made of.
func (g *cudaGram) ofStates(q *cutlass.QuantumGram, a, b *deviceBlock, kernel, i, j int) {
	code := g.codes[kernel]
	q.Real, q.Split, q.Width = code.real, g.kernel.split(g.options.Precision), 1<<code.qubits
	row := uint64(code.states().Size()) << code.qubits
	q.X, q.Y = a.states[kernel].Addr()+uint64(i-a.lo)*row, b.states[kernel].Addr()+uint64(j-b.lo)*row
}

// factor has that kernel compute one factor of a tile alone, and leaves the diagonal as
// it comes out. It reports false, and starts nothing, where there is no such kernel.
func (g *cudaGram) factor(s *device.Stream, a, b *deviceBlock, to device.View, kernel, i, j int, triangle bool) (bool, error) {
	if g.dt != gpk.Float32 {
		return false, nil
	}
	q := cutlass.QuantumGram{
		Factor: true, Rows: to.Layout.Shape[0], Cols: to.Layout.Shape[1], Triangle: triangle, K: to.Addr(), LD: to.Layout.Strides[0],
	}
	g.ofStates(&q, a, b, kernel, i, j)
	need, err := g.dev.Library().QuantumGramWorkspace(g.dev.Info().Index, q)
	if err != nil || need == 0 {
		return false, err
	}
	work, err := g.dev.Alloc(need, s)
	if err != nil {
		return false, err
	}
	defer work.Free()
	q.Workspace, q.WorkspaceBytes = work.Addr(), need
	g.launches++
	reads, writes := []*device.Buffer{a.states[kernel], b.states[kernel]}, []*device.Buffer{to.Buffer, work}
	return true, launchOn(g.dev, s, reads, writes, func(lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.QuantumGram(ordinal, stream, q)
	})
}

// room returns the workspace of a stream, which its tiles use one after the other.
func (g *cudaGram) room(s *device.Stream, need int64) (*device.Buffer, error) {
	b := g.rooms[s]
	if b != nil && b.Size() >= need {
		return b, nil
	}
	if b != nil {
		b.Free()
		delete(g.rooms, s)
	}
	b, err := g.dev.Alloc(need, s)
	if err != nil {
		return nil, err
	}
	if g.rooms == nil {
		g.rooms = map[*device.Stream]*device.Buffer{}
	}
	g.rooms[s] = b
	return b, nil
}

// closedWorkspace is what gpk_quantum_closed_gram needs for r rows and c columns: sums of
// every tile, and where there are few wires two planes of 16 numbers for four planar wires or
// two others, in lines of two such groups.
func (k *kernel) closedWorkspace(r, c int, triangle bool) int64 {
	const side, sums, line = 128, 48, 128
	need := sums * int64((r+side-1)/side) * int64((c+side-1)/side)
	w := k.encoded()
	if !w.dot {
		return need
	}
	lines := int64((w.planar+7)/8 + (w.full+3)/4)
	if need += line * lines * int64(r); !triangle {
		need += line * lines * int64(c)
	}
	return need
}
