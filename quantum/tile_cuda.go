package quantum

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// fusedTile computes a tile of K by one kernel with its whole postprocessing: mirror, diagonal,
// normalization and the sums of the report. So K is written once and not read. It returns
// false, with nothing started, if there is no such kernel: on a device other than Hopper,
// for float64, for several factors, or if a closed form is normalized.
func (g *cudaGram) fusedTile(s *device.Stream, a, b stateBlock, t target, at bounds) (bool, error) {
	if g.dt != gpk.Float32 {
		return false, nil
	}
	single := len(g.codes) == 0 && g.points[0] != nil
	switch {
	case single && (g.options.Normalize || !g.dot && (at.i%4 != 0 || at.j%4 != 0)): // TMA reads from multiples of 16 bytes
		return false, nil
	case single:
		return g.closed(s, t, at)
	case len(g.codes) != 1 || g.points[0] != nil:
		return false, nil
	}
	q := gramArgs{
		Triangle: flagOf(at.triangle), K: t.view.Addr(), Ld: int64(t.view.Layout.Strides[0]),
		Mirror: t.mirrorAt, LdMirror: int64(t.ldMirror), Total: g.notes.Addr() + uint64(8*g.tileNotes(g.tiles)),
	}
	norms := g.normalization(&q.One, &q.NormX, &q.NormY, &q.Jitter, at)
	reads, writes := g.uses(t, norms, nil)
	return g.gramKernel(s, q, a, b, t.view, 0, at, reads, writes)
}

// gramKernel multiplies the states of a tile in one block of the kernel, with a single launch. It sets the fields of q
// that describe the states. It returns false, with nothing started, if there is no such kernel.
func (g *cudaGram) gramKernel(s *device.Stream, q gramArgs, a, b stateBlock, to device.View, block int, t bounds, reads, writes []*device.Buffer) (bool, error) {
	if g.dt != gpk.Float32 || !g.gpu.hopper {
		return false, nil
	}
	code, x, y := g.codes[block], g.blocks[a.slot][block], g.blocks[b.slot][block]
	row := uint64(code.states().Size()) << code.qubits
	q.Real, q.Split, q.Width, q.Rows, q.Cols = flagOf(code.real), flagOf(g.kernel.split(g.options.Precision)), 1<<code.qubits, int64(t.r), int64(t.c)
	q.X, q.Y = x.Addr()+uint64(t.i-a.lo)*row, y.Addr()+uint64(t.j-b.lo)*row
	if err := g.gpu.gramWorkspace.Query(&q); err != nil { // sets WorkspaceBytes
		return false, err
	}
	work, err := g.room(s, q.WorkspaceBytes)
	if err != nil {
		return false, err
	}
	q.Workspace = work.Addr()
	g.launches += gramKernels(q)
	return true, g.gpu.gram.Launch(s, append(reads, x, y), append(writes, work), q)
}

// uses adds the buffers, other than its workspace, that a tile's kernel writes. Tiles of
// several streams write disjoint parts of K and of the notes, and run concurrently: nothing
// reads these before all streams have ended.
func (g *cudaGram) uses(t target, reads, writes []*device.Buffer) ([]*device.Buffer, []*device.Buffer) {
	switch {
	case g.out != nil:
	case g.part != nil:
		return append(reads, g.notes), append(writes, t.view.Buffer)
	default:
		return append(reads, g.result, g.notes), writes
	}
	return reads, append(writes, t.view.Buffer, g.notes, t.mirror)
}

// closed computes a tile for single wires, like fusedTile.
func (g *cudaGram) closed(s *device.Stream, t target, at bounds) (bool, error) {
	if !g.gpu.hopper {
		return false, nil
	}
	need := g.kernel.closedWorkspace(at.r, at.c)
	work, err := g.room(s, need)
	if err != nil {
		return false, err
	}
	q := closedGramArgs{
		Points: g.tilePoints(at), Dot: flagOf(g.dot), K: t.view.Addr(), Ld: int64(t.view.Layout.Strides[0]), Mirror: t.mirrorAt, LdMirror: int64(t.ldMirror),
		Triangle: flagOf(at.triangle), One: 1 + g.options.Jitter, Total: g.notes.Addr() + uint64(8*g.tileNotes(g.tiles)),
		Workspace: work.Addr(), WorkspaceBytes: need,
	}
	reads, writes := g.uses(t, []*device.Buffer{g.points[0], g.points[g.set(g.y)]}, []*device.Buffer{work})
	g.launches += closedKernels(q)
	return true, g.gpu.closedGram.Launch(s, reads, writes, q)
}

// gramKernels returns the number of kernels for a tile of states: for the planes of x, for those of y if it differs,
// for the tile, and, unless it is a factor, for its sums.
func gramKernels(q gramArgs) int64 {
	n := int64(4)
	if q.Triangle != 0 {
		n--
	}
	if q.Factor != 0 {
		n--
	}
	return n
}

// fewWires reports whether the kernels of few_wires.cuh, which store K from registers, support the wires.
func fewWires(planar, full int) bool { return (planar+7)/8+(full+3)/4 <= 4 }

// closedKernels returns the number of kernels for a tile of single wires. Many wires need no planes. The kernels for
// few wires compute their sums themselves, if the rows of K and its mirror allow vector stores.
func closedKernels(q closedGramArgs) int64 {
	if q.Dot == 0 {
		return 2
	}
	n := gramKernels(gramArgs{Triangle: q.Triangle})
	vectors := func(at uint64, ld, n int64) bool { return at%16 == 0 && ld%4 == 0 && n%4 == 0 }
	if fewWires(int(q.Points.Planar), int(q.Points.Full)) && vectors(q.K, q.Ld, q.Points.Cols) && (q.Mirror == 0 || vectors(q.Mirror, q.LdMirror, q.Points.Rows)) {
		n--
	}
	return n
}

// room returns the workspace of a stream, which its tiles reuse.
func (g *cudaGram) room(s *device.Stream, need int64) (*device.Buffer, error) {
	if g.rooms == nil {
		g.rooms = make([]*device.Buffer, len(g.streams))
	}
	room := &g.rooms[slices.Index(g.streams, s)]
	if *room != nil && (*room).Size() >= need {
		return *room, nil
	}
	(*room).Free()
	var err error
	*room, err = g.dev.Alloc(need, s)
	return *room, err
}

// closedWorkspace returns the workspace of quantum_closed_gram for r rows and c columns: the sums of every tile.
// For few wires it also has two planes of 16 numbers for each group of four planar wires or two others, in lines of
// two such groups, padded to whole tiles.
func (k *kernel) closedWorkspace(r, c int) int64 {
	const side, sums, line = 128, 48, 128
	down, across := int64((r+side-1)/side), int64((c+side-1)/side)
	need := sums * down * across
	if w := k.encoded(); w.dot {
		need += line * int64((w.planar+7)/8+(w.full+3)/4) * side * (down + across)
	}
	return need
}
