package quantum

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync/atomic"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Plan is how a Gram matrix will be computed.
type Plan struct {
	Path      Path      // Product or General
	Precision Precision // as asked for
	Keep      Keep      // KeepAll or Recompute
	Tile      int       // states of a pair of blocks: with Recompute, those that memory holds at once
	PeakBytes int64     // at most the budget
	Reason    string    // what the compiler found and why the states are kept or not

	Budget    int64 // bytes that may be used
	States    int64 // bytes of states in memory at once
	Result    int64 // bytes of K in the device's memory; 0 where it is written out or kept on the host
	Workspace int64 // bytes of everything else
	OnHost    bool  // K does not fit beside the states: it is collected in the host's memory
	Builds    int   // each state is built at most so many times
	Qubits    int   // of the circuit
	Samples   [2]int

	symmetric bool
	side      int   // rows and columns of a product on a GPU; 0: half a tile
	streams   int   // of a GPU's products
	workers   int   // goroutines that build states and multiply on the CPU
	slots     int64 // bytes of angles and slots at once
	spare     int64 // of the workspace: how much larger the blocks of a pool are that states and K lie in, and points of single wires
}

// String explains the plan, a fact a line.
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
	return b.String()
}

// PlanGram says how Gram would compute the kernel of n samples, or of n
// against m where m is not 0, on the device d. It touches no device. What
// cannot be done within the budget is an error that says what it needs.
func PlanGram(c *Circuit, n, m int, d device.Info, o Options) (Plan, error) {
	s := callsite.Here()
	p, err := planCircuit(c, n, m, d, o)
	if err != nil {
		return Plan{}, fail(s, fmt.Sprintf("PlanGram(%d, %d)", n, m), err)
	}
	return p, nil
}

// maxSamples bounds what is planned, so that numbers of bytes are int64.
const maxSamples = min(1<<40, math.MaxInt/2)

func planCircuit(c *Circuit, n, m int, d device.Info, o Options) (Plan, error) {
	if err := o.check(); err != nil {
		return Plan{}, err
	}
	if n > maxSamples || m > maxSamples {
		return Plan{}, fmt.Errorf("%w: %d against %d samples, and more than %d have no plan", gpk.ErrShape, n, m, int64(maxSamples))
	}
	k, err := compileGram(c, o.Path)
	if err != nil {
		return Plan{}, err
	}
	return k.plan(n, m, d, o)
}

// MaxSamples returns the largest n whose symmetric Gram matrix Gram can compute
// within budget bytes, K in memory unless o.Output is set; 0 where not even one
// sample fits or the circuit is in error. Where only time limits n, it is
// math.MaxInt.
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
	const most = maxSamples
	if fits(most) {
		return math.MaxInt
	}
	lo, hi := 0, most // fits(lo) or lo is 0; not fits(hi)
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; fits(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Parts of the budget.
const (
	budgetShare   = 0.85    // of the memory, unless the user names a budget
	maxWorkspace  = 2 << 30 // bytes for what is neither states nor K …
	workspacePart = 8       // … or this part of a smaller budget
)

// saturated multiplies without overflow: what does not fit is a very large number.
func saturated(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > 1<<60 {
		return 1 << 60
	}
	return int64(lo)
}

// stateBytes is the memory of one sample's states.
func (k *kernel) stateBytes(p Precision) int64 {
	return saturated(int64(k.width()), int64(p.dtype().Size()))
}

// spare is how much larger the pool's blocks are that slots of so many states and K lie in.
func (k *kernel) spare(slots []int, result int64, p Precision) int64 {
	n := deviceapi.BlockSize(result) - result
	for _, rows := range slots {
		for _, b := range k.blocks {
			one := saturated(saturated(int64(b.width()), int64(p.dtype().Size())), int64(rows))
			n += deviceapi.BlockSize(one) - one
		}
	}
	return max(n, 0)
}

// planFor is all that a kernel's plan depends on.
type planFor struct {
	n, m      int
	device    device.Info
	precision Precision
	budget    int64 // what is free, where the user names none
	normalize bool
	jitter    float64
	path      Path
	tile      int
	keep      Keep
	streams   int
	autotune  bool
	output    bool
}

// lastPlan is the last plan of a kernel's Gram matrices: who computes many of one size
// plans once for as long as as much memory is free.
type lastPlan struct {
	atomic.Pointer[struct {
		planFor
		plan Plan
	}]
}

// planned is plan, and remembers it.
func (k *kernel) planned(n, m int, d device.Info, o Options) (Plan, error) {
	f := planFor{n, m, d, o.Precision, o.MemoryBudget, o.Normalize, o.Jitter, o.Path, o.Tile, o.Keep, o.Streams, o.Autotune, o.Output != nil}
	if last := k.plans.Load(); last != nil && last.planFor == f {
		return last.plan, nil
	}
	p, err := k.plan(n, m, d, o)
	if err == nil {
		k.plans.Store(&struct {
			planFor
			plan Plan
		}{f, p})
	}
	return p, err
}

func (k *kernel) plan(n, m int, d device.Info, o Options) (Plan, error) {
	if n < 0 || m < 0 {
		return Plan{}, fmt.Errorf("%w: %d and %d samples", gpk.ErrShape, n, m)
	}
	columns, samples := m, n+m
	if m == 0 {
		columns = n
	}
	p := Plan{Path: k.path, Precision: o.Precision, Budget: o.MemoryBudget, Qubits: k.qubits, Samples: [2]int{n, columns}, symmetric: m == 0}
	if p.Budget == 0 {
		if d.TotalMemory <= 0 {
			return p, fmt.Errorf("%w: the device's memory is not known; set Options.MemoryBudget", gpk.ErrUnsupported)
		}
		p.Budget = int64(budgetShare * float64(d.TotalMemory))
	}
	p.workers = 1
	if d.Kind == device.CPU {
		p.workers = max(d.MultiProcessors, 1)
	}
	state := max(k.stateBytes(o.Precision), 1)
	result := saturated(saturated(int64(n), int64(columns)), int64(o.Precision.dtype().Size()))
	if o.Output != nil {
		result = 0
	}
	least := k.workspace(o.Precision, 1, p.workers)
	if d.Kind == device.CUDA {
		least = k.leastUse(p, n, columns, o)
	}
	reserve := max(min(maxWorkspace, p.Budget/workspacePart), least)
	usable := p.Budget - reserve
	all := saturated(int64(samples), state)
	slots := []int{n} // of states that are kept
	if m != 0 {
		slots = append(slots, m)
	}
	half := func(tile int) []int { return []int{tile / 2, tile / 2} }
	p.spare = k.spare(slots, 0, o.Precision)
	short := func(need int64, what string) error {
		return fmt.Errorf("%w: %s, which needs %s (%d bytes) of memory; the budget is %s", gpk.ErrOutOfMemory, what, bytesize.Format(need), need, bytesize.Format(p.Budget))
	}
	if two := saturated(2, state); two > usable {
		return p, short(two+reserve, fmt.Sprintf("one tile is two states of %s and workspace", bytesize.Format(state)))
	}

	p.Keep = o.Keep
	if p.Keep == KeepAuto {
		p.Keep = Recompute
		if all+p.spare <= usable && (all+k.spare(slots, result, o.Precision)+result <= usable || d.Kind == device.CUDA) || k.path == Product {
			p.Keep = KeepAll
		}
	}
	single := int64(0)
	if p.Keep == Recompute && d.Kind == device.CPU { // points of single wires are there for all samples
		single = saturated(int64(samples), saturated(3*int64(len(k.wires)), int64(o.Precision.dtype().Size())))
		if two := saturated(2, state); single+two > usable {
			return p, short(single+two+reserve, fmt.Sprintf("one tile is two states of %s and workspace, beside the single qubits of %d samples", bytesize.Format(state), samples))
		}
		usable, reserve = usable-single, reserve+single
	}
	notes := append([]string{}, k.notes...)
	p.Builds = 1
	switch {
	case p.Keep == KeepAll && all+p.spare > usable:
		return p, short(all+p.spare+reserve, fmt.Sprintf("to keep the states of %d samples (Keep: Recompute does without)", samples))
	case p.Keep == KeepAll:
		p.States = all
		p.Tile = 2 * k.side(o.Precision, reserve, p.workers)
		notes = append(notes, "all states fit")
	default:
		p.Tile = floorPower(usable / state)
		p.Tile = min(p.Tile, 2<<bits.Len(uint(max(samples-1, 1))))
		// On the CPU K has to fit beside them: fewer states, built more often.
		for p.Tile > 2 {
			need := saturated(int64(p.Tile), state) + k.spare(half(p.Tile), 0, o.Precision)
			if d.Kind == device.CPU {
				need = saturated(int64(p.Tile), state) + k.spare(half(p.Tile), result, o.Precision) + result
			}
			if need <= usable {
				break
			}
			p.Tile /= 2
		}
	}
	if o.Tile > 0 {
		p.Tile = max(min(o.Tile, maxSamples)+o.Tile&1, 2)
		if need := saturated(int64(p.Tile), state) + k.spare(half(p.Tile), 0, o.Precision); p.Keep == Recompute && need > usable {
			return p, short(need+reserve, fmt.Sprintf("a tile of %d states of %s", p.Tile, bytesize.Format(state)))
		}
	}
	if p.Keep == Recompute {
		p.States = saturated(int64(p.Tile), state)
		block := p.Tile / 2
		slots = half(p.Tile)
		p.Builds = max((n+block-1)/block, (columns+block-1)/block, 1)
		notes = append(notes, fmt.Sprintf("states of %s each are built again for each pair of blocks", bytesize.Format(state)))
	}
	if p.spare = k.spare(slots, result, o.Precision); p.States+p.spare+result > usable {
		if d.Kind == device.CPU {
			return p, short(p.States+p.spare+result+reserve, fmt.Sprintf("K of %d x %d is %s beside the states (Options.Output writes it to a file instead)", n, columns, bytesize.Format(result)))
		}
		p.OnHost, result, p.spare = true, 0, k.spare(slots, 0, o.Precision)
	}
	p.Result = result
	if d.Kind == device.CUDA {
		if least, ok := k.planTiles(&p, n, columns, o); !ok {
			return p, short(p.States+p.Result+least, fmt.Sprintf("products take %s beside the states", bytesize.Format(least)))
		}
	} else {
		rest := p.Budget - p.States - p.Result
		if p.Keep == KeepAll && o.Tile == 0 {
			p.Tile = 2 * k.side(o.Precision, rest-p.spare, p.workers)
		}
		p.spare += single
		p.Workspace = min(rest, k.workspace(o.Precision, p.Tile/2, p.workers)+p.spare)
	}
	p.PeakBytes = p.States + p.Result + p.Workspace
	p.Reason = strings.Join(notes, "; ")
	switch {
	case o.Precision == Fast && d.Kind == device.CPU:
		p.Reason += "; Fast is Standard on the CPU"
	case o.Precision == Fast && k.split(Fast):
		p.Reason += "; Fast is Standard for several blocks"
	}
	return p, nil
}

// floorPower returns the largest power of two that is at most n, which is at
// least 1, as far as an int goes.
func floorPower(n int64) int { return 1 << min(63-bits.LeadingZeros64(uint64(n)), 40) }

// Sizes of the products that are multiplied at once.
const (
	maxSide     = 1024
	productSide = 512   // of the closed form, whose blocks are done while they are in the first-level cache
	tileFlops   = 2.2e9 // of one product: it cannot be cancelled, and 200 ms are long enough
)

// side is the number of rows and columns of one product where the plan has
// the choice: bounded in flops, and in what so many goroutines have as workspace.
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

// workspace bounds the memory of a product of s by s: operands as they are packed
// (internal/cpu's Overlaps), the sums of a strip, the tile and its mirror, and what builds
// states.
func (k *kernel) workspace(p Precision, s, workers int) int64 {
	const (
		step    = 256      // elements of a vector that are multiplied before the next
		strip   = 12       // rows of a strip
		panel   = 32       // columns of a panel
		packed  = 64 << 20 // longer vectors are taken in parts
		strips  = 1 << 20  // strips are in the second-level cache
		rounded = 2        // buffers are powers of two
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

// scratch is what the goroutines need to build states.
func (k *kernel) scratch(workers int) int64 {
	most := int64(0)
	for _, b := range k.blocks {
		one := saturated(7<<b.qubits, 8) // a state, phases and room for linear steps, in float64
		if b.qubits < sharedQubits {
			one *= int64(workers)
		}
		most = max(most, one+saturated(b.sharedPlanes()<<b.qubits, 8))
	}
	return most
}
