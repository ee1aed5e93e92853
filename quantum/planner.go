package quantum

import (
	"fmt"
	"math/bits"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// planner makes a plan in steps. Each step depends on the results of the earlier ones.
type planner struct {
	k          *kernel
	o          Options
	device     device.Info
	gpu        bool
	n, columns int // rows and columns of K
	samples    int // number of samples of x and y together

	p       Plan
	notes   []string
	state   int64 // bytes of one sample's states
	all     int64 // bytes of the states of all samples
	result  int64 // bytes of K in the device's memory
	reserve int64 // bytes that are not for states
	usable  int64 // bytes for states
	single  int64 // bytes of the points of single wires that stay in memory
	slots   []int // for each buffer of states, the number of states in it
}

func newPlanner(k *kernel, n, m int, d device.Info, o Options) *planner {
	l := &planner{k: k, o: o, device: d, gpu: d.Kind == device.CUDA, n: n, columns: m, samples: n + m, slots: []int{n, m}}
	if m == 0 {
		l.columns, l.slots = n, []int{n}
	}
	l.p = Plan{Path: k.path, Precision: o.Precision, Budget: o.MemoryBudget, Qubits: k.qubits, Samples: [2]int{n, l.columns}, symmetric: m == 0, workers: 1}
	l.notes = append(l.notes, k.notes...)
	l.state = max(k.stateBytes(o.Precision), 1)
	l.all = saturated(int64(l.samples), l.state)
	if o.Output == nil {
		l.result = saturated(saturated(int64(n), int64(l.columns)), int64(o.Precision.dtype().Size()))
	}
	return l
}

// insufficient returns the error of a plan that needs more memory than the budget.
func (l *planner) insufficient(need int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s, which needs %s (%d bytes) of memory; the budget is %s", gpk.ErrOutOfMemory, fmt.Sprintf(format, args...), bytesize.Format(need), need, bytesize.Format(l.p.Budget))
}

// roundingWaste returns the number of bytes that the pool's block sizes add to the state slots and
// to K.
func (l *planner) roundingWaste(slots []int, result int64) int64 {
	n := deviceapi.BlockSize(result) - result
	for _, rows := range slots {
		for _, b := range l.k.blocks {
			one := saturated(saturated(int64(b.width()), int64(l.o.Precision.dtype().Size())), int64(rows))
			n += deviceapi.BlockSize(one) - one
		}
	}
	return max(n, 0)
}

// halves returns the slots of a tile: two blocks of states.
func halves(tile int) []int { return []int{tile / 2, tile / 2} }

// budget divides the budget into a part for states and a reserve for all else.
func (l *planner) budget() error {
	if l.p.Budget == 0 {
		if l.device.TotalMemory <= 0 {
			return fmt.Errorf("%w: the device's memory is not known; set Options.MemoryBudget", gpk.ErrUnsupported)
		}
		l.p.Budget = int64(budgetShare * float64(l.device.TotalMemory))
	}
	var least int64
	if l.gpu {
		least = l.k.leastUse(l.p, l.n, l.columns, l.o)
	} else {
		l.p.workers = max(l.device.MultiProcessors, 1)
		least = l.k.workspace(l.o.Precision, 1, l.p.workers)
	}
	l.reserve = max(min(maxWorkspace, l.p.Budget/workspacePart), least)
	l.usable = l.p.Budget - l.reserve
	l.p.roundingWaste = l.roundingWaste(l.slots, 0)
	if two := saturated(2, l.state); two > l.usable {
		return l.insufficient(two+l.reserve, "one tile is two states of %s and workspace", bytesize.Format(l.state))
	}
	return nil
}

// keep decides whether all states are kept, or built again for each pair of blocks.
func (l *planner) keep() error {
	l.p.Keep = l.o.Keep
	if l.p.Keep != KeepAuto {
		return nil
	}
	l.p.Keep = Recompute
	statesFit := l.all+l.p.roundingWaste <= l.usable
	resultFits := l.gpu || l.all+l.roundingWaste(l.slots, l.result)+l.result <= l.usable
	if statesFit && resultFits || l.k.path == Product {
		l.p.Keep = KeepAll
	}
	return nil
}

// points subtracts the memory for the points of single wires from that for states. On the CPU the
// points of all samples are in memory, even if states are built again.
func (l *planner) points() error {
	if l.p.Keep != Recompute || l.gpu {
		return nil
	}
	l.single = saturated(int64(l.samples), saturated(3*int64(len(l.k.wires)), int64(l.o.Precision.dtype().Size())))
	if two := saturated(2, l.state); l.single+two > l.usable {
		return l.insufficient(l.single+two+l.reserve, "one tile is two states of %s and workspace, besides the single qubits of %d samples", bytesize.Format(l.state), l.samples)
	}
	l.usable, l.reserve = l.usable-l.single, l.reserve+l.single
	return nil
}

// states chooses the number of states in memory.
func (l *planner) states() error {
	p := &l.p
	p.Builds = 1
	if p.Keep == KeepAll {
		if l.all+p.roundingWaste > l.usable {
			return l.insufficient(l.all+p.roundingWaste+l.reserve, "to keep the states of %d samples (Keep: Recompute does without)", l.samples)
		}
		p.States = l.all
		p.Tile = 2 * l.k.side(l.o.Precision, l.reserve, p.workers)
		l.notes = append(l.notes, "all states fit")
		return nil
	}
	// On the CPU K must fit beside the states. If it does not, fewer states are in memory at a
	// time, and they are built more often.
	beside := l.result
	if l.gpu {
		beside = 0
	}
	p.Tile = min(floorPower(l.usable/l.state), 2<<bits.Len(uint(max(l.samples-1, 1))))
	for p.Tile > 2 && saturated(int64(p.Tile), l.state)+l.roundingWaste(halves(p.Tile), beside)+beside > l.usable {
		p.Tile /= 2
	}
	return nil
}

// requestedTile sets the size of a tile to Options.Tile.
func (l *planner) requestedTile() error {
	p := &l.p
	if l.o.Tile <= 0 {
		return nil
	}
	p.Tile = max(min(l.o.Tile, maxSamples)+l.o.Tile&1, 2)
	need := saturated(int64(p.Tile), l.state) + l.roundingWaste(halves(p.Tile), 0)
	if p.Keep == Recompute && need > l.usable {
		return l.insufficient(need+l.reserve, "a tile of %d states of %s", p.Tile, bytesize.Format(l.state))
	}
	return nil
}

// blocks counts how often states are built if they are not kept.
func (l *planner) blocks() error {
	p := &l.p
	if p.Keep != Recompute {
		return nil
	}
	p.States = saturated(int64(p.Tile), l.state)
	l.slots = halves(p.Tile)
	block := p.Tile / 2
	p.Builds = max((l.n+block-1)/block, (l.columns+block-1)/block, 1)
	l.notes = append(l.notes, fmt.Sprintf("states of %s each are built again for each pair of blocks", bytesize.Format(l.state)))
	return nil
}

// placeResult places K beside the states, or in the host's memory if the GPU has no room.
func (l *planner) placeResult() error {
	p := &l.p
	if p.roundingWaste = l.roundingWaste(l.slots, l.result); p.States+p.roundingWaste+l.result > l.usable {
		if !l.gpu {
			return l.insufficient(p.States+p.roundingWaste+l.result+l.reserve, "K of %d x %d takes %s besides the states (Options.Output writes it to a file instead)", l.n, l.columns, bytesize.Format(l.result))
		}
		p.OnHost, l.result, p.roundingWaste = true, 0, l.roundingWaste(l.slots, 0)
	}
	p.Result = l.result
	return nil
}

// products chooses the size of products, and plans the memory for all but states and K.
func (l *planner) products() error {
	p := &l.p
	if l.gpu {
		if least, ok := l.k.planTiles(p, l.n, l.columns, l.o); !ok {
			return l.insufficient(p.States+p.Result+least, "products take %s besides the states", bytesize.Format(least))
		}
		return nil
	}
	rest := p.Budget - p.States - p.Result
	if p.Keep == KeepAll && l.o.Tile == 0 {
		p.Tile = 2 * l.k.side(l.o.Precision, rest-p.roundingWaste, p.workers)
	}
	p.roundingWaste += l.single
	p.Workspace = min(rest, l.k.workspace(l.o.Precision, p.Tile/2, p.workers)+p.roundingWaste)
	return nil
}
