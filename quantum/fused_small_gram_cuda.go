package quantum

import (
	"errors"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// fusedSmallGram computes a symmetric K of few single wires by only two kernels: one
// converts samples to planes, the other computes K and the report's sums from the planes.
// The code is a parameter of the first kernel, so that no copy precedes them. If an element
// of the samples is not finite, K's diagonal is NaN, and the general path then finds the
// element.
//
// It handles one tile of float32 that stays on a Hopper GPU. Otherwise it returns false and
// starts nothing.
func (g *cudaGram) fusedSmallGram(poison bool) (bool, error) {
	n := g.x.n
	if !g.isSmallGram() {
		return false, nil
	}
	if err := g.ctx.Err(); err != nil {
		return false, err
	}
	codes := g.kernel.encoded()
	if w := codes.wires; w == nil || w.nSlots == 0 || !codes.dot || !w.direct {
		return false, nil
	}
	if !g.gpu.hopper {
		return false, nil
	}
	p := g.kernel.packed(1)
	if !fewWires(codes.planar, codes.full) || len(p.bytes)-p.notes > maxParameter {
		return false, nil
	}
	g.side = n
	g.noteBytes = p.notes
	g.streams = []*device.Stream{g.s}
	if err := g.allocSmallGram(); err != nil {
		return false, err
	}
	if poison {
		if err := g.poison(); err != nil {
			return false, err
		}
	}
	x, at := &g.sources[0], &p.codes[0]
	words := p.notes / 8
	offset := func(place uint64) int32 { return int32(place - uint64(p.notes)) }
	args := sampleGramArgs{
		XType: int32(x.dt), N: int64(n), Features: int64(x.features), X: x.addr, Row: int64(x.row), Col: int64(x.col),
		Planar: int32(codes.planar), Full: int32(codes.full), K: g.result.Addr(), Ld: int64(n), One: 1 + g.options.Jitter,
		Notes: g.notes.Addr(), Found: int32(words - tileWords), Words: int32(words), Workspace: g.planes.Addr(), WorkspaceBytes: g.planes.Size(),
		Code: parameterCode{Coefs: offset(at.coefs), Fixed: offset(at.fixed), Angles: offset(at.angles), Slots: offset(at.slots)},
	}
	copy(args.Code.Bytes[:], p.bytes[p.notes:])
	done := false
	err := g.timed(&g.started, g.s, func() error {
		err := g.gpu.sampleGram.Launch(g.s, []*device.Buffer{x.buf}, []*device.Buffer{g.result, g.notes, g.planes}, args)
		if done = !errors.Is(err, gpk.ErrUnsupported); !done {
			return nil
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if !done { // the kernels do not support the arguments
		g.started, g.edge = nil, nil
		g.result.Free()
		g.release()
		g.result, g.notes, g.planes = nil, nil, nil
		return false, nil
	}
	g.launches += 2
	g.entries, g.off.n = append(g.entries, int64(n)*int64(n+1)/2), int64(n)*int64(n-1)/2
	g.tiles, g.builds[0] = 1, []int{1}
	return true, g.finish()
}

// isSmallGram reports whether K is a symmetric float32 matrix of single wires in one tile
// that stays on the device.
func (g *cudaGram) isSmallGram() bool {
	n := g.x.n
	return g.part == nil && !(g.unfused || !g.symmetric() || n == 0 || n%4 != 0 || g.dt != gpk.Float32 || g.options.Normalize || g.options.Output != nil || g.plan.OnHost ||
		g.plan.streams > 1 || len(g.kernel.blocks) > 0 || min(g.plan.side, g.block()) < n)
}

// allocSmallGram allocates the notes, the planes and K.
func (g *cudaGram) allocSmallGram() (err error) {
	n := g.x.n
	if g.notes, err = g.alloc(int64(g.noteBytes)); err != nil {
		return err
	}
	if g.planes, err = g.alloc(g.kernel.closedWorkspace(n, n)); err != nil {
		return err
	}
	g.result, err = g.dev.Alloc(int64(n)*int64(n)*int64(g.dt.Size()), g.s)
	return err
}
