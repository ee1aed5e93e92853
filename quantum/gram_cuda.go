package quantum

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// Kinds of measured time.
const (
	statesTime = iota
	productTime
)

// timed is the work between two events.
type timed struct{ from, to *device.Event }

// cudaGram is a Gram matrix in progress.
type cudaGram struct {
	tileDriver
	ctx context.Context
	s   *device.Stream
	dt  gpk.DType // of K

	sources [2]source // of x and y
	codes   []*deviceCode
	wires   *deviceCode
	planar  int // number of wires with two coordinates
	full    int // number of wires with three coordinates
	dot     bool
	points  [2]*device.Buffer
	blocks  [2][]*device.Buffer // per slot: the states in every block of the kernel, as rows
	norms   [2]*device.Buffer   // for Normalize

	long   bool           // do not use fusedSmallGram
	short  bool           // fusedSmallGram has computed K
	planes *device.Buffer // planes of fusedSmallGram

	side      int // maximum rows and columns of a tile
	streams   []*device.Stream
	rooms     []*device.Buffer // workspaces, one per stream
	notes     *device.Buffer   // notes, followed by the codes
	noteBytes int              // bytes of the notes alone
	tiles     int              // number of tiles started
	result    *device.Buffer
	out       *tileWriter // used if K is not on the device

	building  []timed
	uploads   []timed
	started   []timed // of the tiles
	waited    int     // number of tiles that are known to be complete
	accounted int     // number of tiles whose time is in the report
	entries   []int64
	done      int64
	launches  int64
	apart     bool             // some tile was a separate product, followed by kernels for its postprocessing
	events    [][]device.Event // in the groups in which they were made
	unused    []device.Event   // of the newest group
	edge      *device.Event    // the last event on s, if no measured work followed it
	owned     []*device.Buffer
	work      closedWork // reused for each tile
}

func (e cudaEngine) gram(ctx context.Context, j *job) error {
	g := &cudaGram{tileDriver: tileDriver{job: j}, ctx: ctx, dt: j.options.Precision.dtype(), long: e.long}
	err := g.run(e.poison)
	g.free()
	if g.short && errors.Is(err, gpk.ErrNonFinite) { // the general path finds the element
		g.k.Free()
		g.k = nil
		again := &cudaGram{tileDriver: tileDriver{job: j}, ctx: ctx, dt: g.dt, long: true}
		if more := again.run(e.poison); errors.Is(more, gpk.ErrNonFinite) || more != nil && ctx.Err() != nil {
			err = more
		}
		again.free()
	}
	return err
}

func (g *cudaGram) run(poison bool) error {
	var err error
	if g.sources[0], err = g.x.source(); err != nil {
		return err
	}
	g.sources[1] = g.sources[0]
	if !g.symmetric() {
		if g.sources[1], err = g.y.source(); err != nil {
			return err
		}
	}
	g.s = g.sources[0].stream
	if g.short, err = g.fusedSmallGram(poison); g.short || err != nil {
		return err
	}
	if err := g.allocate(poison); err != nil {
		return err
	}
	if g.x.n == 0 || g.y.n == 0 {
		return g.finish()
	}
	if g.begins() {
		if err := g.timed(statesTime, g.s, g.begin); err != nil {
			return err
		}
	}
	if err := g.computeTiles(g); err != nil {
		return err
	}
	return g.finish()
}

// alloc allocates memory that is freed at the end.
func (g *cudaGram) alloc(n int64) (*device.Buffer, error) {
	b, err := g.dev.Alloc(n, g.s)
	if err == nil {
		g.owned = append(g.owned, b)
	}
	return b, err
}

// noteAt is the address of the notes for a set of samples by the code with that index; the
// wires' code follows the blocks'.
func (g *cudaGram) noteAt(set, code int) uint64 {
	return g.notes.Addr() + uint64(8*noteWords*(set*(len(g.kernel.blocks)+1)+code))
}

// tileNotes is the offset of a tile's notes, in words. If there are more than maxNotes
// tiles, they share notes: kernels add to the existing values, and tiles that share run on
// one stream, in order.
func (g *cudaGram) tileNotes(tile int) int {
	return 2*noteWords*(len(g.kernel.blocks)+1) + tileWords*(tile%maxNotes)
}

// maxStreams bounds Options.Streams; it exceeds the number of products that a GPU runs at
// once.
const maxStreams = 32

// pack assembles the notes and the code for the device.
func (g *cudaGram) pack() *packed {
	p := g.kernel.packed(int(min(tilesOf(g.x.n, g.y.n, g.block(), g.side, g.symmetric()), maxNotes)))
	g.noteBytes = p.notes
	codes := g.kernel.encoded()
	for i, c := range codes.blocks {
		d := newDeviceCode(g.dev, c, g.dt, &p.codes[i], &g.launches)
		d.most = g.plan.slots
		g.codes = append(g.codes, d)
	}
	if codes.wires != nil {
		g.planar, g.full, g.dot = codes.planar, codes.full, codes.dot
		g.wires = newDeviceCode(g.dev, codes.wires, g.dt, &p.codes[len(codes.blocks)], &g.launches)
	}
	return p
}

// upload copies them to the device.
func (g *cudaGram) upload(p *packed) error {
	var err error
	if g.notes, err = g.alloc(int64(len(p.bytes))); err != nil {
		return err
	}
	for _, d := range g.codes {
		d.buf = g.notes
	}
	if g.wires != nil {
		g.wires.buf = g.notes
	}
	var t timed
	if t.from, err = g.event(g.s); err != nil {
		return err
	}
	if t.to, err = g.newEvent(); err != nil {
		return err
	}
	g.report.ToDevice += g.notes.Size()
	if !p.tables {
		err = deviceapi.CopyFromHostUntil(g.dev, g.notes, 0, p.bytes, g.s, t.to)
	} else if err = g.dev.CopyFromHost(g.notes, 0, p.bytes, g.s); err == nil {
		if err = g.loadTables(); err == nil {
			err = g.s.Record(t.to)
		}
	}
	if err != nil {
		return err
	}
	g.uploads, g.edge = append(g.uploads, t), t.to
	return nil
}

// loadTables copies the tables of the codes to the device.
func (g *cudaGram) loadTables() error {
	for _, d := range append(g.codes[:len(g.codes):len(g.codes)], g.wires) {
		if d == nil {
			continue
		}
		n, err := d.loadTables(g.s)
		g.report.ToDevice += n
		if err != nil {
			return err
		}
	}
	return nil
}

// allocate allocates all memory except that of states, and uploads the code.
func (g *cudaGram) allocate(poison bool) error {
	j := g.job
	g.side = max(min(j.plan.side, g.block()), 1)
	if j.part != nil {
		g.side = j.part.side
	}
	p := g.pack()
	var err error
	switch {
	case j.options.Output != nil || j.part == nil && j.plan.OnHost:
		if g.out, err = newTileWriter(g); err != nil {
			return err
		}
	case j.part == nil:
		if g.result, err = g.dev.Alloc(int64(j.x.n)*int64(j.y.n)*int64(g.dt.Size()), g.s); err != nil {
			return err
		}
		if poison && j.x.n*j.y.n > 0 {
			if err := g.poison(); err != nil {
				return err
			}
		}
	}
	g.streams = []*device.Stream{g.s}
	for len(g.streams) < j.plan.streams {
		s, err := g.dev.NewStream()
		if err != nil {
			return err
		}
		g.streams = append(g.streams, s)
	}
	// Last, so that the host's time for allocations is not measured between events.
	return g.upload(p)
}

// poison fills K with NaN.
func (g *cudaGram) poison() error {
	view := device.View{Buffer: g.result, DType: g.dt, Layout: layout.Dense([]int{g.x.n, g.y.n})}
	return ops.Fill(g.s, view, scalarOf(math.NaN(), g.dt))
}

// begins reports whether begin has any work.
func (g *cudaGram) begins() bool {
	return g.options.Normalize || g.looks() || g.wires != nil && g.wires.nSlots > 0
}

// looks reports whether a separate kernel has to check x and y for NaN and Inf, because no
// later kernel reads all of them.
func (g *cudaGram) looks() bool {
	return len(g.codes) == 0 && (g.wires == nil || g.wires.nSlots == 0)
}

// begin checks x and y if needed, and computes the points of single wires.
func (g *cudaGram) begin() error {
	sets := 1
	if !g.symmetric() {
		sets = 2
	}
	for set := range sets {
		if g.looks() { // otherwise the kernels for angles check it
			if err := finite(g.s, g.sources[set], g.notes, g.noteAt(set, 0)); err != nil {
				return err
			}
		}
		if g.options.Normalize {
			n := g.sources[set].n
			var err error
			if g.norms[set], err = g.alloc(8 * int64(n)); err != nil {
				return err
			}
			ones := device.View{Buffer: g.norms[set], DType: gpk.Float64, Layout: layout.Dense([]int{n})}
			if err := ops.Fill(g.s, ones, scalarOf(1, gpk.Float64)); err != nil {
				return err
			}
		}
	}
	if g.wires == nil || g.wires.nSlots == 0 {
		return nil
	}
	for set := range sets {
		x := g.sources[set]
		pitch := pointPitch(x.n)
		var err error
		if g.points[set], err = g.alloc(int64(pitch) * int64(g.wires.stride) * int64(g.dt.Size())); err != nil {
			return err
		}
		if err := g.wires.points(g.s, x, g.notes, g.noteAt(set, len(g.codes)), g.points[set], pitch); err != nil {
			return err
		}
	}
	return nil
}

// pointPitch is the distance between the coordinates of n samples: gpk_quantum_closed_gram
// reads units of 16 bytes.
func pointPitch(n int) int { return (n + 3) / 4 * 4 }

// maxDot is the number of wires up to which 1/2 + r.s is accurate enough: each wire loses
// about a unit in the last place, where 1 - |r-s|^2/4 loses one for all wires together.
const maxDot = 24

// release frees memory that no work still to be started needs.
func (g *cudaGram) release() {
	for _, b := range g.rooms {
		b.Free()
	}
	for _, b := range g.owned {
		b.Free()
	}
	for i := range g.blocks {
		for _, b := range g.blocks[i] {
			if b != nil { // missing after a failed allocation
				b.Free()
			}
		}
		g.blocks[i] = nil
	}
	for _, d := range append(g.codes, g.wires) {
		d.free()
	}
	g.rooms, g.owned = nil, nil
}

func (g *cudaGram) free() {
	g.release()
	for _, s := range g.streams[min(1, len(g.streams)):] {
		_ = s.Close()
	}
	if g.out != nil {
		g.out.close()
	}
	for _, list := range g.events {
		for i := range list {
			list[i].Free()
		}
	}
	if g.k == nil { // not returned to the caller
		g.result.Free()
	}
}

// someEvents is the number of events that a small matrix needs.
const someEvents = 6

// newEvent returns an event that has not been recorded.
func (g *cudaGram) newEvent() (*device.Event, error) {
	if len(g.unused) == 0 {
		list, err := deviceapi.NewEvents(g.dev, someEvents)
		if err != nil {
			return nil, err
		}
		g.events, g.unused = append(g.events, list), list
	}
	e := &g.unused[0]
	g.unused = g.unused[1:]
	return e, nil
}

// event records an event on s.
func (g *cudaGram) event(s *device.Stream) (*device.Event, error) {
	e, err := g.newEvent()
	if err != nil {
		return nil, err
	}
	return e, s.Record(e)
}

// timed runs f between two events on s. Work that directly follows building or copying
// reuses the last event of that as its first. Tiles after the first one may have waited for
// other tiles.
func (g *cudaGram) timed(kind int, s *device.Stream, f func() error) (err error) {
	t := timed{from: g.edge}
	if t.from == nil || s != g.s || g.tiles > 0 {
		if t.from, err = g.event(s); err != nil {
			return err
		}
	}
	g.edge = nil
	if err := f(); err != nil {
		return err
	}
	if t.to, err = g.event(s); err != nil {
		return err
	}
	switch kind {
	case statesTime:
		g.building = append(g.building, t)
	case productTime:
		g.started = append(g.started, t)
	}
	if kind != productTime && s == g.s {
		g.edge = t.to
	}
	return nil
}

// buildStates implements tileEngine. Single wires have points instead of states.
func (g *cudaGram) buildStates(b stateBlock) error {
	if len(g.codes) == 0 {
		return nil
	}
	if g.blocks[b.slot] == nil {
		g.blocks[b.slot] = make([]*device.Buffer, len(g.codes))
	}
	set, states := g.set(b.of), g.blocks[b.slot]
	return g.timed(statesTime, g.s, func() error {
		for i, d := range g.codes {
			need := int64(b.hi-b.lo) * (int64(d.states().Size()) << d.qubits)
			if states[i] != nil && states[i].Size() < need {
				states[i].Free()
				states[i] = nil
			}
			if states[i] == nil {
				var err error
				if states[i], err = g.dev.Alloc(need, g.s); err != nil {
					return err
				}
			}
			if err := d.build(g.ctx, g.s, g.sources[set], b.lo, b.hi, g.notes, g.noteAt(set, i), states[i]); err != nil {
				return err
			}
			if norms := g.norms[set]; norms != nil {
				if err := d.launch(g.s, []*device.Buffer{states[i]}, []*device.Buffer{norms}, func(lib *cutlass.Library, ordinal int, stream uint64) error {
					width := 1 << d.qubits
					if !d.real {
						width *= 2
					}
					return lib.QuantumNorms(ordinal, stream, cutlass.QuantumNorms{
						Type: d.dt, N: b.hi - b.lo, Width: width, State: states[i].Addr(), Out: norms.Addr() + uint64(8*b.lo), First: i == 0,
					})
				}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// cuts implements tileEngine.
func (g *cudaGram) cuts(_ *samples, lo, hi int) []int {
	if g.part != nil {
		return g.part.cuts(lo, hi)
	}
	var at []int
	for ; lo < hi; lo += g.side {
		at = append(at, lo)
	}
	return append(at, hi)
}

// target is the destination of a tile of K on the device.
type target struct {
	view     device.View // [rows, cols]
	mirror   *device.Buffer
	mirrorAt uint64 // 0: no mirror
	ldMirror int
}

// target returns the destination of a tile that is computed on s: in K, in a buffer for the host, or in memory of its
// own as a tile of a rank.
func (g *cudaGram) target(s *device.Stream, i, r, j, c int) (t target, err error) {
	if g.part != nil && g.out == nil {
		return g.ownTile(s, i, r, j, c)
	}
	mirrored := g.symmetric() && i != j
	t.view = device.View{Buffer: g.result, DType: g.dt, Layout: layout.Layout{Shape: []int{r, c}, Strides: []int{g.y.n, 1}, Offset: i*g.y.n + j}}
	if g.out != nil {
		if t.view.Buffer, t.mirror, err = g.out.room(); err != nil {
			return t, err
		}
		t.view.Layout.Strides[0], t.view.Layout.Offset, t.ldMirror = c, 0, r
		if mirrored {
			t.mirrorAt = t.mirror.Addr()
		}
		return t, nil
	}
	t.mirror, t.ldMirror = g.result, g.y.n
	if mirrored {
		t.mirrorAt = g.result.Addr() + uint64((j*g.y.n+i)*g.dt.Size())
	}
	return t, nil
}

// ahead is the number of tiles that may be in progress: started work cannot be cancelled.
const ahead = 2

// computeTile implements tileEngine.
func (g *cudaGram) computeTile(a, b stateBlock, i, r, j, c int, triangle bool) error {
	if err := g.ctx.Err(); err != nil {
		return err
	}
	if err := g.waitFor(g.tiles - max(ahead, len(g.streams))); err != nil {
		return err
	}
	s := g.streams[g.tiles%maxNotes%len(g.streams)]
	t, err := g.target(s, i, r, j, c)
	if err != nil {
		return err
	}
	err = g.timed(productTime, s, func() error {
		whole := t
		if triangle {
			whole.mirror, whole.mirrorAt, whole.ldMirror = t.view.Buffer, t.view.Addr(), t.view.Layout.Strides[0]
		}
		if done, err := g.joint(s, a, b, whole, i, j, triangle); done || err != nil {
			return err
		}
		g.apart = true
		square, err := g.products(s, a, b, t.view, i, j, triangle)
		if err != nil {
			return err
		}
		return g.complete(s, whole, i, j, triangle, square)
	})
	if err != nil {
		return err
	}
	n := int64(r) * int64(c)
	if triangle {
		n = int64(r) * int64(r+1) / 2
	}
	g.off.n += n
	if triangle {
		g.off.n -= int64(r) // the diagonal does not count
	}
	g.entries = append(g.entries, n)
	g.tiles++
	if g.out != nil {
		return g.out.put(s, t, i, r, j, c, g.symmetric() && !triangle)
	}
	return nil
}

// products computes the product of the kernels of the blocks and wires; square means that
// its entries are still amplitudes.
func (g *cudaGram) products(s *device.Stream, a, b stateBlock, d device.View, i, j int, triangle bool) (square bool, err error) {
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
			Shape: []int{d.Layout.Shape[0], width}, Strides: []int{width, 1}, Offset: (i - a.lo) * width,
		}}
		cols := device.View{Buffer: g.blocks[b.slot][k], DType: code.states(), Layout: layout.Layout{
			Shape: []int{width, d.Layout.Shape[1]}, Strides: []int{1, width}, Offset: (j - b.lo) * width,
		}}
		p := matmul.Product{
			D: to, A: rows, B: cols, Precision: g.precision(), ConjB: !code.real, AbsSquare: !square,
			Symmetric: triangle, Upper: true, Normwise: true, Measure: g.options.Autotune,
		}
		done := false
		if !square {
			done, err = g.factor(s, a, b, to, k, i, j, triangle)
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
		if len(g.codes) == 0 { // nothing depends on the sample
			err = ops.Fill(s, d, scalarOf(1, g.dt))
		}
		return square, err
	}
	y := g.points[g.set(g.y)]
	size := uint64(g.dt.Size())
	g.launches++
	return square, launchOn(g.dev, s, []*device.Buffer{g.points[0], y}, []*device.Buffer{d.Buffer}, func(lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.QuantumClosed(ordinal, stream, cutlass.QuantumClosed{
			Type: g.dt, Rows: d.Layout.Shape[0], Cols: d.Layout.Shape[1], X: g.points[0].Addr() + uint64(i)*size, LDX: pointPitch(g.x.n),
			Y: y.Addr() + uint64(j)*size, LDY: pointPitch(g.y.n), Planar: g.planar, Full: g.full, Dot: g.dot, Upper: triangle,
			Times: len(g.codes) > 0, K: d.Addr(), LD: d.Layout.Strides[0],
		})
	})
}

// precision is the precision for products of states. States have norm 1, so an error that
// is bounded by the norms of rows satisfies the guarantees.
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
func (g *cudaGram) complete(s *device.Stream, t target, i, j int, triangle, square bool) error {
	r, c := t.view.Layout.Shape[0], t.view.Layout.Shape[1]
	need, err := g.dev.Library().QuantumFinishWorkspace(r, c)
	if err != nil {
		return err
	}
	work, err := g.dev.Alloc(need, s)
	if err != nil {
		return err
	}
	defer work.Free()
	q := cutlass.QuantumFinish{
		Type: g.dt, Rows: r, Cols: c, K: t.view.Addr(), LD: t.view.Layout.Strides[0], Mirror: t.mirrorAt, LDMirror: t.ldMirror,
		Triangle: triangle, Square: square, One: 1, Total: g.notes.Addr() + uint64(8*g.tileNotes(g.tiles)),
		Workspace: work.Addr(), WorkspaceBytes: need,
	}
	reads := []*device.Buffer{}
	if g.options.Normalize {
		y := g.norms[g.set(g.y)]
		q.NormX, q.NormY, q.Jitter = g.norms[0].Addr()+uint64(8*i), y.Addr()+uint64(8*j), g.options.Jitter
		reads = append(reads, g.norms[0], y)
	} else {
		q.One += g.options.Jitter
	}
	writes := []*device.Buffer{t.view.Buffer, g.notes, work}
	if t.mirror != nil && t.mirror != t.view.Buffer {
		writes = append(writes, t.mirror)
	}
	g.launches += 2 // another kernel adds up the sums of patches
	return launchOn(g.dev, s, reads, writes, func(lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.QuantumFinish(ordinal, stream, q)
	})
}

// waitFor waits until the first n tiles are complete, and reports progress.
func (g *cudaGram) waitFor(n int) error {
	for ; g.waited < n; g.waited++ {
		if err := g.started[g.waited].to.Synchronize(g.ctx); err != nil {
			return err
		}
		g.done += g.entries[g.waited]
		g.progress(g.done)
	}
	return nil
}

// finish waits for all work, and reads the notes.
func (g *cudaGram) finish() error {
	if g.out != nil {
		if err := g.out.finish(); err != nil {
			return err
		}
		g.k = g.out.k
	}
	if err := g.waitForTiles(); err != nil {
		return err
	}
	t, err := g.notesTimed()
	if err != nil {
		return err
	}
	notes, err := deviceapi.FetchUntil(g.dev, g.notes, 0, g.noteBytes, g.s, t.to)
	if err != nil {
		return err
	}
	defer notes.Free()
	// This runs while the last tile is computed.
	if g.result != nil {
		g.k = array.FromBuffer(g.result, g.dt, g.x.n, g.y.n)
	}
	g.report.Peak = g.peak()
	g.release()
	if err := g.accountBegin(); err != nil {
		return err
	}
	if err := g.waitFor(g.tiles); err != nil {
		return err
	}
	if err := g.accountTiles(); err != nil { // while the notes are copied
		return err
	}
	b, err := notes.Wait(g.ctx)
	if err != nil {
		return err
	}
	words := wordsOf(b)
	if g.x.n > 0 && g.y.n > 0 {
		if err := g.read(words); err != nil {
			return err
		}
	}
	if err := g.accountNotes(t); err != nil {
		return err
	}
	return g.statistics(words)
}

// waitForTiles waits for all tiles, with a single stream for all but the last, and reports
// progress.
func (g *cudaGram) waitForTiles() error {
	if len(g.streams) > 1 { // otherwise nothing orders the notes after their tiles
		for _, s := range g.streams {
			if err := s.Synchronize(g.ctx); err != nil {
				return err
			}
		}
	}
	return g.waitFor(g.tiles - 1)
}

// notesTimed returns the events before and after the copy of the notes.
func (g *cudaGram) notesTimed() (t timed, err error) {
	if n := len(g.started); n > 0 && len(g.streams) == 1 && g.out == nil {
		t.from = g.started[n-1].to // nothing follows the last tile
	} else if t.from, err = g.event(g.s); err != nil {
		return t, err
	}
	t.to, err = g.newEvent()
	return t, err
}

// read returns the error that the notes report for the samples.
func (g *cudaGram) read(notes []uint64) error {
	codes := len(g.kernel.blocks) + 1
	for set, x := range []*samples{g.x, g.y} {
		if set == 1 && g.symmetric() {
			break
		}
		for code := range codes {
			angles := []Angle(nil)
			switch {
			case code < len(g.codes):
				angles = g.codes[code].all
			case g.wires != nil:
				angles = g.wires.all
			}
			if err := found(x, notes[noteWords*(set*codes+code):], angles); err != nil {
				return err
			}
		}
	}
	return nil
}

// faultBounds is the factor by which the computed diagonal, which is then set to 1, may
// exceed its bound before this counts as a fault, if products are separate kernels: a sum
// of 2^17 squares in float32 comes close to two bounds, and several factors add their
// errors.
const faultBounds = 4

func (g *cudaGram) statistics(notes []uint64) error {
	r := g.report
	var sum, squares float64
	most := g.options.Precision.diagonalBound()
	if g.apart {
		most *= faultBounds
	}
	for t := range min(g.tiles, maxNotes) {
		at := g.tileNotes(t)
		sum += math.Float64frombits(notes[at])
		squares += math.Float64frombits(notes[at+1])
		off := math.Float64frombits(notes[at+2])
		if !(off <= most) {
			why := "a fault of gpk or of the machine"
			if g.kernel.qubits > 12 && g.options.Precision != Double {
				why = fmt.Sprintf("sums over 2^%d amplitudes are not exact enough in float32; use Double", g.kernel.qubits)
			}
			return fmt.Errorf("%w: an entry of K's diagonal came out %v off 1: %s", gpk.ErrNonFinite, off, why)
		}
		r.MaxDiagonalError = max(r.MaxDiagonalError, off)
	}
	n := float64(g.x.n) * float64(g.y.n)
	switch {
	case g.part != nil:
		n = float64(g.off.n)
	case g.symmetric():
		n = float64(g.x.n) * float64(g.x.n-1) / 2
	}
	r.OffDiagonalMean, r.OffDiagonalStd = math.NaN(), math.NaN()
	if n > 0 {
		r.OffDiagonalMean = sum / n
		r.OffDiagonalStd = math.Sqrt(max(squares/n-r.OffDiagonalMean*r.OffDiagonalMean, 0))
	}
	r.MaxBuilds = g.maxBuilds()
	r.Launches = g.launches
	return nil
}

// peak lists the known memory in use by name.
func (g *cudaGram) peak() []Bytes {
	bytes := func(list ...*device.Buffer) (n int64) {
		for _, b := range list {
			if b != nil {
				n += b.Size()
			}
		}
		return n
	}
	states := bytes(g.blocks[0]...) + bytes(g.blocks[1]...) + bytes(g.points[:]...)
	list := []Bytes{{"states", states}, {"K", bytes(g.result)}}
	if g.out != nil && g.out.k != nil {
		list = append(list, Bytes{"K on the host", int64(g.out.k.NBytes())})
	}
	return list
}

// scalarOf converts a number to an operand.
func scalarOf(v float64, dt gpk.DType) ops.Scalar {
	if dt == gpk.Float64 {
		return ops.Scalar{math.Float64bits(v)}
	}
	return ops.Scalar{uint64(math.Float32bits(float32(v)))}
}
