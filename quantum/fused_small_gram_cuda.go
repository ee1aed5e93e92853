package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// maxParameter is the largest code that can be a kernel parameter: max_code in
// quantum_direct.cuh.
const maxParameter = 3584

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
	if has, err := g.dev.Library().HasQuantumGram(g.dev.Info().Index); err != nil || !has {
		return false, err
	}
	p := g.kernel.packed(1)
	if !direct(codes.planar, codes.full) || len(p.bytes)-p.notes > maxParameter {
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
	done := false
	err := g.timed(&g.started, g.s, func() error {
		return g.dev.Launch(g.s, []*device.Buffer{x.buf}, []*device.Buffer{g.result, g.notes, g.planes}, func(ordinal int, stream uint64) error {
			var err error
			done, err = g.dev.Library().QuantumClosedWhole(ordinal, stream, cutlass.QuantumClosedWhole{
				XType: x.dt, N: n, Features: x.features, X: x.addr, Row: x.row, Col: x.col, Planar: codes.planar, Full: codes.full, Code: p.bytes[p.notes:],
				Coefs: at.coefs - uint64(p.notes), Fixed: at.fixed - uint64(p.notes), Angles: at.angles - uint64(p.notes), Slots: at.slots - uint64(p.notes),
				K: g.result.Addr(), LD: n, One: 1 + g.options.Jitter, Notes: g.notes.Addr(), Found: words - tileWords, Words: words,
				Workspace: g.planes.Addr(), WorkspaceBytes: g.planes.Size(),
			})
			return err
		})
	})
	if err != nil {
		return false, err
	}
	if !done { // the library does not support it
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
