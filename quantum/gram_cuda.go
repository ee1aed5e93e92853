package quantum

import (
	"context"
	"errors"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// cudaGram is a Gram matrix in progress.
type cudaGram struct {
	tileDriver
	ctx context.Context
	gpu *gpuKernels
	s   *device.Stream
	dt  gpk.DType // type of K

	sources [2]source // sources of x and y
	codes   []*deviceCode
	wires   *deviceCode
	planar  int // number of wires with two coordinates
	full    int // number of wires with three coordinates
	dot     bool
	points  [2]*device.Buffer
	blocks  [2][]*device.Buffer // per slot: the states in every block of the kernel, as rows
	norms   [2]*device.Buffer   // for Normalize
	received

	unfused bool           // do not use fusedSmallGram
	small   bool           // fusedSmallGram has computed K
	planes  *device.Buffer // planes of fusedSmallGram

	side        int // maximum rows and columns of a tile
	streams     []*device.Stream
	firstStream int              // index of the first stream for tiles
	rooms       []*device.Buffer // workspaces, one per stream
	notes       *device.Buffer   // notes, followed by the codes
	noteBytes   int              // bytes of the notes without the codes
	tiles       int              // number of tiles started
	result      *device.Buffer
	out         *tileWriter // used if K is not on the device

	building  []timed
	uploads   []timed
	started   []timed // events of the tiles
	waited    int     // number of tiles that are known to be complete
	accounted int     // number of tiles whose time is in the report
	entries   []int64
	done      int64
	launches  int64
	apart     bool             // some tile was computed by a separate product, followed by kernels for its postprocessing
	events    [][]device.Event // in the groups in which they were made
	unused    []device.Event   // unused events of the newest group
	edge      *device.Event    // the last event on s, unless measured work followed it
	owned     []*device.Buffer
}

func (e cudaEngine) gram(ctx context.Context, j *job) error {
	g := &cudaGram{tileDriver: tileDriver{job: j}, ctx: ctx, dt: j.options.Precision.dtype(), unfused: e.unfused}
	err := g.run(e.poison)
	g.free()
	if g.small && errors.Is(err, gpk.ErrNonFinite) { // the general path finds the element
		g.k.Free()
		g.k = nil
		again := &cudaGram{tileDriver: tileDriver{job: j}, ctx: ctx, dt: g.dt, unfused: true}
		if more := again.run(e.poison); errors.Is(more, gpk.ErrNonFinite) || more != nil && ctx.Err() != nil {
			err = more
		}
		again.free()
	}
	return err
}

func (g *cudaGram) run(poison bool) error {
	var err error
	if g.gpu, err = kernelsOf(g.dev); err != nil {
		return err
	}
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
	if g.small, err = g.fusedSmallGram(poison); g.small || err != nil {
		return err
	}
	if err := g.allocate(poison); err != nil {
		return err
	}
	if g.x.n == 0 || g.y.n == 0 {
		return g.finish()
	}
	if g.options.Normalize || g.needsFiniteCheck() || g.wires != nil && g.wires.nSlots > 0 {
		if err := g.timed(&g.building, g.s, g.begin); err != nil {
			return err
		}
	}
	compute := func() error { return g.computeTiles(g) }
	if g.plan.exchange {
		compute = g.computePaired
	}
	if err := compute(); err != nil {
		return err
	}
	return g.finish()
}

// needsFiniteCheck reports whether a separate kernel has to check x and y for NaN and Inf, because no
// later kernel reads all of them.
func (g *cudaGram) needsFiniteCheck() bool {
	return len(g.codes) == 0 && (g.wires == nil || g.wires.nSlots == 0)
}

// begin checks x and y if needed, and computes the points of single wires.
func (g *cudaGram) begin() error {
	sets := 1
	if !g.symmetric() {
		sets = 2
	}
	for set := range sets {
		if g.needsFiniteCheck() { // otherwise the kernels for angles check x
			if err := finite(g.gpu, g.s, g.sources[set], g.notes, g.noteAt(set, 0)); err != nil {
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
		angles, err := g.wires.prepare(g.s, x, 0, x.n, g.notes, g.noteAt(set, len(g.codes)), g.points[set], 1, pitch)
		if err != nil {
			return err
		}
		angles.Free()
	}
	return nil
}

// pointPitch returns the distance between the coordinates of n samples: quantum_closed_gram reads
// units of 16 bytes.
func pointPitch(n int) int { return (n + 3) / 4 * 4 }

// maxDot is the number of wires up to which 1/2 + r.s is accurate enough: each wire loses
// about a unit in the last place, where 1 - |r-s|^2/4 loses one for all wires together.
const maxDot = 24

// buildStates implements tileEngine. Single wires have points instead of states.
func (g *cudaGram) buildStates(b stateBlock) error {
	if len(g.codes) == 0 {
		return nil
	}
	if g.blocks[b.slot] == nil {
		g.blocks[b.slot] = make([]*device.Buffer, len(g.codes))
	}
	set, states := g.set(b.of), g.blocks[b.slot]
	return g.timed(&g.building, g.s, func() error {
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
				if err := d.norms(g.s, b.hi-b.lo, states[i], states[i].Addr(), norms, 8*b.lo, i == 0); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// cuts implements tileEngine.
func (g *cudaGram) cuts(_ *samples, lo, hi int) []int {
	return cut(lo, hi, g.side)
}

// scalarOf converts a number to an operand.
func scalarOf(v float64, dt gpk.DType) ops.Scalar {
	if dt == gpk.Float64 {
		return ops.Scalar{math.Float64bits(v)}
	}
	return ops.Scalar{uint64(math.Float32bits(float32(v)))}
}
