package quantum

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/callsite"
)

// RankPlan is one rank's share of a Gram matrix that several ranks compute.
type RankPlan struct {
	Rank, Ranks int
	Grid        [2]int // rows and columns of the grid of ranks
	Side        int    // rows and columns of a tile
	Tiles       int    // tiles of this rank
	Samples     int64  // samples whose states this rank builds
	Pairs       int64  // entries of K that this rank computes
	Written     int64  // bytes of K that this rank writes or keeps
	Rebuilt     int64  // states that this rank builds beyond its fair share, because other ranks build them too
	Exchanged   int64  // bytes that this rank would receive if other ranks sent it those states
	Received    int64  // bytes of states that this rank receives, because two GPUs exchange states instead of building all
	MostSamples int64  // the largest Samples of any rank
	MostPairs   int64  // the largest Pairs of any rank
}

// String describes the share in one line.
func (p RankPlan) String() string {
	s := fmt.Sprintf("rank %d of %d, in a grid of %d x %d: %d tiles of %d, %d pairs (at most %d a rank), %s of K; it builds %d states (at most %d a rank)",
		p.Rank, p.Ranks, p.Grid[0], p.Grid[1], p.Tiles, p.Side, p.Pairs, p.MostPairs, bytesize.Format(p.Written), p.Samples, p.MostSamples)
	if p.Received > 0 {
		return s + fmt.Sprintf(" and receives the others, %s", bytesize.Format(p.Received))
	}
	return s + fmt.Sprintf(", %d of them again; receiving those would move %s", p.Rebuilt, bytesize.Format(p.Exchanged))
}

// planPart plans the memory of a rank's part, and describes its share.
func (k *kernel) planPart(pt *share, d device.Info, o Options) (Plan, error) {
	n, m := pt.size(0), pt.size(1)
	mine, size := pt.samples(pt.rank), int64(o.Precision.dtype().Size())
	r := RankPlan{Rank: pt.rank, Ranks: pt.ranks, Grid: pt.grid, Side: pt.side, Tiles: len(pt.index), Samples: mine, Pairs: pt.loads[pt.rank].pairs, Written: pt.elements(o.File != "") * size}
	for rank, l := range pt.loads {
		r.MostSamples, r.MostPairs = max(r.MostSamples, pt.samples(rank)), max(r.MostPairs, l.pairs)
	}
	samples := int64(pt.n)
	if !pt.symmetric {
		samples += int64(pt.m)
	}
	r.Rebuilt = max(mine-samples/int64(pt.ranks), 0)
	r.Exchanged = saturated(r.Rebuilt, k.stateBytes(o.Precision))
	kept := int64(0)
	if o.File == "" {
		kept = r.Written
	}
	o.Output = discard{} // the plan does not count K's tiles
	asked := o.Tile
	o.Tile = 0
	p, err := k.plan(n, m, d, o)
	if err == nil {
		o.Tile = 2 * pt.side
		if p.Keep == Recompute {
			o.Tile *= max(p.Tile/o.Tile, 1)
		}
		p, err = k.plan(n, m, d, o)
	}
	p.Samples, p.symmetric, p.Ranks = [2]int{pt.n, pt.m}, pt.symmetric, r
	if err != nil {
		return p, err
	}
	p.Result, p.PeakBytes = kept, p.PeakBytes+kept
	need := int64(0) // on a GPU the plan has counted products
	switch {
	case d.Kind != device.CUDA:
		need = k.workspace(o.Precision, pt.side, p.workers)
	case p.side < pt.side:
		return p, fmt.Errorf("%w: products of %d by %d samples do not fit beside the states (Tile is %d; a smaller one takes less); the budget is %s",
			gpk.ErrOutOfMemory, pt.side, pt.side, asked, bytesize.Format(p.Budget))
	case o.File == "" && len(pt.index) > 1:
		k.overlap(&p, n, m, o)
	}
	if pt.paired != nil {
		k.planExchange(&p, pt, o)
	}
	if p.PeakBytes > p.Budget || need > p.Workspace {
		return p, fmt.Errorf("%w: its tiles take %s and products of %d by %d samples %s (Tile is %d; a smaller one takes less); the budget is %s",
			gpk.ErrOutOfMemory, bytesize.Format(kept), pt.side, pt.side, bytesize.Format(need), asked, bytesize.Format(p.Budget))
	}
	return p, nil
}

// discard stands in for K's file in a plan. It drops what is written to it.
type discard struct{}

func (discard) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

// Rates are the times of one rank in seconds, from which Plan.Seconds predicts the time of a run.
type Rates struct {
	State float64 // time to build a state
	Pair  float64 // time to compute an entry of K and to write it
}

// Seconds predicts how long Gram takes on ranks with these rates. It assumes that the rank with
// the most states is also the one with the most pairs. It does not count the start of processes
// or waiting for a file system that all ranks share.
func (p Plan) Seconds(r Rates) float64 {
	return float64(p.Ranks.MostSamples)*r.State + float64(p.Ranks.MostPairs)*r.Pair
}

// Link returns the bytes per second of a connection between ranks above which receiving states would take less time
// than building them again, as Gram does. It is NaN if no state is built again.
func (p Plan) Link(r Rates) float64 {
	return float64(p.Ranks.Exchanged) / (float64(p.Ranks.Rebuilt) * r.State)
}

// MeasureRates measures the rates of this process. It computes kernels of random samples on the device d several times,
// with tiles as large as those of p, and takes the shortest times. This takes a few tenths of a second, and up to about
// a second for long states on a GPU. It writes to o.Output if that is set. The errors are those of Gram.
func MeasureRates(ctx context.Context, c *Circuit, d *device.Device, p Plan, o Options) (least Rates, err error) {
	defer failed(&err, callsite.Here(), "MeasureRates")
	least = Rates{math.Inf(1), math.Inf(1)}
	if err := d.Err(); err != nil {
		return least, err
	}
	gpu := d.Kind() == device.CUDA
	n, passes := measuredSamples(p.Ranks.Side, c.Qubits(), gpu), 1
	if gpu {
		passes = 2 // the first pass loads kernels and allocates memory
	}
	x := gpk.NewRNG(1).Uniform(gpk.Float64, 0, 2*math.Pi, n, max(c.Features(), 1)).To(d)
	o.Tile, o.Group, o.Shard, o.File, o.Progress = 2*min(p.Ranks.Side, n), nil, Shard{}, "", nil
	for began := time.Now(); ; passes-- {
		r, err := Gram(ctx, c, x, nil, o)
		if err != nil {
			return least, err
		}
		r.K.Free()
		least.State = min(least.State, r.Report.States.Seconds()/float64(n))
		least.Pair = min(least.Pair, (r.Report.Product+r.Report.Copy).Seconds()/float64(r.Report.Pairs))
		if passes <= 1 && time.Since(began) > 200*time.Millisecond {
			return least, nil
		}
	}
}

// measuredSamples returns the number of samples of the matrix that MeasureRates computes with tiles of a given side. On
// the CPU the number is limited, so that all states fit into memory. On a GPU a row of the matrix has four tiles, or two if
// they are longer than 8,192 samples. One tile is too few: in Double a tile on the diagonal is computed whole, so an entry
// of it takes nearly twice as long. Short tiles leave a part of the GPU idle. A single tile of 1,024 samples on the diagonal
// predicted 1.66 times the seconds of Double with 16 qubits, whose tiles have 2,048
// (benchmark/results/gram-ranks_h100x2_2026-11-25.txt).
func measuredSamples(side, qubits int, gpu bool) int {
	n := min(max(4*side, 64), max((64<<20)>>min(qubits, 24), 32))
	if gpu {
		n = max(n, min(4*side, max(2*side, 16<<10)))
	}
	return n
}
