package quantum

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/callsite"
)

// Plan describes how a Gram matrix will be computed.
type Plan struct {
	Path      Path      // Product or General
	Precision Precision // as requested
	Keep      Keep      // KeepAll or Recompute
	Tile      int       // number of states in a pair of blocks; with Recompute, the states in memory at the same time
	PeakBytes int64     // at most the budget
	Reason    string    // the compiler's findings, and why the states are kept or built again

	Budget    int64 // bytes that may be used
	States    int64 // bytes of states in memory at the same time; on a GPU with the points of single qubits
	Result    int64 // bytes of K in the device's memory; 0 if K is written out or kept on the host
	Workspace int64 // bytes of all other memory
	OnHost    bool  // K does not fit into the GPU's memory with the states, and is collected in host memory
	Builds    int   // the maximum number of times that a state is built
	Qubits    int   // qubits of the circuit
	Samples   [2]int
	Ranks     RankPlan // with Options.Group or Shard

	symmetric     bool
	side          int   // rows and columns of a product on a GPU; 0: half a tile
	exchange      bool  // two ranks on GPUs exchange states
	streams       int   // number of streams for products on a GPU
	workers       int   // goroutines that build states and multiply on the CPU
	slots         int64 // bytes of angles and slots in memory at the same time
	roundingWaste int64 // part of the workspace: the bytes that the pool's block sizes add to states, K and points of single wires
}

// String explains the plan, one fact per line.
func (p Plan) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("K is %d x %d %v: path %v, precision %v", p.Samples[0], p.Samples[1], p.Precision.dtype(), p.Path, p.Precision)
	line("%s", p.Reason)
	side := p.side
	if side == 0 {
		side = p.Tile / 2
	}
	if p.Keep == KeepAll {
		line("all states are kept, multiplied %d by %d", side, side)
	} else {
		line("%d states at a time, in two blocks, multiplied %d by %d; each is built at most %d times", p.Tile, side, side, p.Builds)
	}
	result := bytesize.Format(p.Result)
	if p.Result == 0 {
		result = "elsewhere"
	}
	if p.streams > 1 {
		line("%d products are under way at once, on streams of their own", p.streams)
	}
	line("memory: states %s, K %s, workspace %s; %s of %s", bytesize.Format(p.States), result, bytesize.Format(p.Workspace),
		bytesize.Format(p.PeakBytes), bytesize.Format(p.Budget))
	if p.OnHost {
		line("K does not fit beside them and goes to the host's memory tile by tile")
	}
	if p.Ranks.Ranks > 0 {
		line("%v", p.Ranks)
	}
	return b.String()
}

// PlanGram returns the plan by which Gram would compute the kernel of n samples, or of n
// against m if m is not 0, on the device d. It does not access a device. If the budget is
// too small, the error says how much is needed.
func PlanGram(c *Circuit, n, m int, d device.Info, o Options) (p Plan, err error) {
	s := callsite.Here()
	defer func() {
		if err != nil {
			p, err = Plan{}, fail(s, fmt.Sprintf("PlanGram(%d, %d)", n, m), err)
		}
	}()
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	if n > maxSamples || m > maxSamples {
		return Plan{}, fmt.Errorf("%w: %d against %d samples; at most %d can be planned", gpk.ErrShape, n, m, int64(maxSamples))
	}
	k, err := compileGram(c, o.Path)
	if err != nil {
		return Plan{}, err
	}
	if o.ranked() {
		_, p, err := k.plannedPart(n, m, d, o)
		return p, err
	}
	return k.plan(n, m, d, o)
}

// maxSamples is the largest number of samples. Byte counts up to it fit into an int64.
const maxSamples = min(1<<40, math.MaxInt/2)

// MaxSamples returns the largest n whose symmetric Gram matrix Gram can compute within budget
// bytes, with K in memory unless o.Output is set. It is 0 if not even one sample fits or if
// the circuit has an error, and math.MaxInt if only time limits n. It is the limit of one
// process, so o.Group, Shard and File have no effect.
func MaxSamples(c *Circuit, budget int64, o Options) int {
	if o.check() != nil || budget <= 0 {
		return 0
	}
	k, err := compileGram(c, o.Path)
	if err != nil {
		return 0
	}
	o.MemoryBudget = budget
	fits := func(n int) bool {
		p, err := k.plan(n, 0, device.Info{}, o)
		return err == nil && !p.OnHost
	}
	if fits(maxSamples) {
		return math.MaxInt
	}
	return sort.Search(maxSamples-1, func(n int) bool { return !fits(n + 1) })
}

// Shares of the budget.
const (
	budgetShare   = 0.85    // fraction of the memory, unless the user sets a budget
	maxWorkspace  = 2 << 30 // bytes for everything but states and K …
	workspacePart = 8       // … or this fraction of a smaller budget
)

// saturated returns a b, or a very large number if that overflows.
func saturated(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > 1<<60 {
		return 1 << 60
	}
	return int64(lo)
}

// stateBytes returns the size of one sample's states in bytes.
func (k *kernel) stateBytes(p Precision) int64 {
	return saturated(int64(k.width()), int64(p.dtype().Size()))
}

func (k *kernel) plan(n, m int, d device.Info, o Options) (Plan, error) {
	if n < 0 || m < 0 {
		return Plan{}, fmt.Errorf("%w: %d and %d samples", gpk.ErrShape, n, m)
	}
	l := newPlanner(k, n, m, d, o)
	for _, step := range []func() error{l.budget, l.keep, l.points, l.states, l.requestedTile, l.blocks, l.placeResult, l.products} {
		if err := step(); err != nil {
			return l.p, err
		}
	}
	p := l.p
	p.PeakBytes = p.States + p.Result + p.Workspace
	p.Reason = strings.Join(l.notes, "; ")
	switch {
	case o.Precision == Fast && !l.gpu:
		p.Reason += "; Fast is Standard on the CPU"
	case o.Precision == Fast && k.split(Fast):
		p.Reason += "; Fast is Standard for several blocks"
	}
	return p, nil
}

// floorPower returns the largest power of two that is at most n and fits an int. n is at
// least 1.
func floorPower(n int64) int { return 1 << min(63-bits.LeadingZeros64(uint64(n)), 40) }

// Sizes of products.
const (
	maxSide     = 1024
	productSide = 512   // side of a product of the closed form, which postprocesses blocks while they are in the first-level cache
	tileFlops   = 2.2e9 // flops of a product on the CPU: it cannot be cancelled, and must not take longer than about 200 ms
)

// side returns the number of rows and columns of one product if the plan can choose it. The
// limits are the flops, and the workspace of all workers.
func (k *kernel) side(p Precision, workspace int64, workers int) int {
	widest := 1
	for _, b := range k.blocks {
		widest = max(widest, b.width())
	}
	most := maxSide
	if len(k.blocks) == 0 {
		most = productSide
	}
	s := min(int(math.Sqrt(tileFlops/4/float64(widest))), most)
	if s >= 16 {
		s -= s % 16
	}
	s = max(s, 1)
	for s > 1 && k.workspace(p, s, workers) > workspace {
		s /= 2
	}
	return s
}

// workspace returns an upper bound of the memory for a product of s by s: packed operands
// (internal/cpu's Overlaps), the sums of a strip, the tile and its mirror, and memory to
// build states.
func (k *kernel) workspace(p Precision, s, workers int) int64 {
	const (
		step    = 256      // elements of a vector that are multiplied before the next stretch
		strip   = 12       // rows per strip
		panel   = 32       // columns per panel
		packed  = 64 << 20 // longer vectors are processed in parts
		strips  = 1 << 20  // strips fit the second-level cache
		rounded = 2        // buffer sizes are powers of two
	)
	size := int64(p.dtype().Size())
	side := int64(min(s, maxSide))
	cols := (side + panel - 1) / panel * panel
	var operands int64
	for _, b := range k.blocks {
		d, number := int64(1)<<b.qubits, 3*size
		if b.real {
			number = size
		}
		rows := side + strip
		if workers > 1 {
			rows = side/int64(4*workers) + 2*strip
		}
		rows = min(rows, strips/(min(d, step)*number)+strip)
		need := saturated(rows*min(d, step)*number, int64(workers)) // strips
		if d <= step {
			need += rows * panel * number * int64(workers)
		} else {
			need += saturated(rows*cols*number, int64(workers))
		}
		columns := saturated(cols*number, d)
		if columns > packed {
			columns = max(packed, cols*number*step) + (side+strip)*cols*number
		}
		operands = max(operands, rounded*(need+columns))
	}
	return operands + 5*side*side*size + saturated(max(side, 2*maxLanes)*3*int64(len(k.wires)), size) + k.scratch(workers)
}

// scratch returns the memory that the workers need to build states.
func (k *kernel) scratch(workers int) int64 {
	most := int64(0)
	for _, b := range k.blocks {
		one := saturated(7<<b.qubits, 8) // a state, phases and room for linear steps, in float64
		if b.qubits < sharedQubits {
			one *= int64(workers)
		}
		most = max(most, one+saturated(2*int64(len(b.fixedDiagonals()))<<b.qubits, 8))
	}
	return most
}
