package quantum

import (
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// alloc allocates memory that is freed at the end.
func (g *cudaGram) alloc(n int64) (*device.Buffer, error) {
	b, err := g.dev.Alloc(n, g.s)
	if err == nil {
		g.owned = append(g.owned, b)
	}
	return b, err
}

// noteAt returns the address of the notes of the code with an index, for a set of samples.
// The wires' code follows the blocks'.
func (g *cudaGram) noteAt(set, code int) uint64 {
	return g.notes.Addr() + uint64(8*noteWords*(set*(len(g.kernel.blocks)+1)+code))
}

// tileNotes returns the offset of a tile's notes, in words. If there are more than
// maxNotes tiles, they share notes: kernels add to the existing values, and tiles that
// share run on one stream, in order.
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
		d := newDeviceCode(g.dev, g.gpu, c, g.dt, &p.codes[i], &g.launches)
		d.most = g.plan.slots
		g.codes = append(g.codes, d)
	}
	if codes.wires != nil {
		g.planar, g.full, g.dot = codes.planar, codes.full, codes.dot
		g.wires = newDeviceCode(g.dev, g.gpu, codes.wires, g.dt, &p.codes[len(codes.blocks)], &g.launches)
	}
	return p
}

// upload copies the notes and the code to the device.
func (g *cudaGram) upload(p *packed) error {
	var err error
	if g.notes, err = g.alloc(int64(len(p.bytes))); err != nil {
		return err
	}
	for _, d := range g.codes {
		d.buf = g.notes
		if err := d.allocTables(g.s); err != nil {
			return err
		}
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
	if err := deviceapi.CopyFromHostUntil(g.dev, g.notes, 0, p.bytes, g.s, t.to); err != nil {
		return err
	}
	g.uploads, g.edge = append(g.uploads, t), t.to
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
	if j.plan.exchange {
		g.firstStream = 1
	}
	for len(g.streams) < j.plan.streams+g.firstStream {
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

// release frees memory that no work still to be started needs.
func (g *cudaGram) release() {
	for _, b := range g.rooms {
		b.Free()
	}
	for _, b := range g.owned {
		b.Free()
	}
	if g.received.states != nil {
		g.received.free()
		g.blocks[1] = nil
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

// peak lists the known memory in use, by name.
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
