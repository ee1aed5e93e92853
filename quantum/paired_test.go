package quantum

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/internal/testrand"
)

// pairOfGPUs is a group of two ranks for plans.
type pairOfGPUs struct{ rank int }

func (p pairOfGPUs) Rank() int                              { return p.rank }
func (pairOfGPUs) Size() int                                { return 2 }
func (pairOfGPUs) Direct() bool                             { return true }
func (pairOfGPUs) AllGather(a *gpk.Array, _ int) *gpk.Array { return a }

// exchangeAlways has ranks exchange states however short their work is.
func exchangeAlways(t *testing.T) {
	old := leastPaired
	leastPaired = 0
	t.Cleanup(func() { leastPaired = old })
}

// TestPaired checks how tiles are dealt to two GPUs that exchange states: a rank has all tiles of its own samples, the
// two have all others between them, and they have equal work. Tiles of a chosen size may be too few for that.
func TestPaired(t *testing.T) {
	exchangeAlways(t)
	rng := testrand.New(t)
	k, paired := compiled(t, ZZFeatureMap(10, 1), Auto), 0
	for try := range 60 {
		n, o := 2000+rng.IntN(40_000), Options{Precision: Precision(rng.IntN(3))}
		switch {
		case try == 0:
			n = 4*9472 + 1 // half of it, rounded down, is two whole tiles of a multiple of 64
		case try%2 == 1:
			o.Tile = 2 * (500 + rng.IntN(3000))
		}
		var parts [2]*share
		for rank := range parts {
			o.Group = pairOfGPUs{rank}
			p, err := k.newPart(n, 0, o, rank, 2, true)
			if err != nil {
				t.Fatal(err)
			}
			parts[rank] = p
		}
		p := parts[0]
		if p.paired == nil && parts[1].paired == nil {
			if try%2 == 0 {
				t.Errorf("%d samples, tiles of %d: no exchange", n, p.side)
			}
			continue
		}
		paired++
		if p.paired == nil || parts[1].paired == nil || p.paired.mid != parts[1].paired.mid || p.paired.mid%p.side != 0 || p.paired.mid >= n {
			t.Fatalf("%d samples, tiles of %d: paired %v and %v", n, p.side, p.paired, parts[1].paired)
		}
		half, cols := p.paired.mid/p.side, (n+p.side-1)/p.side
		for i := range cols {
			for j := i; j < cols; j++ {
				_, first := parts[0].index[[2]int{i, j}]
				_, second := parts[1].index[[2]int{i, j}]
				if first == second || j < half && !first || i >= half && !second {
					t.Errorf("%d samples, tiles of %d: tile %d, %d of rank 0 %v, of rank 1 %v", n, p.side, i, j, first, second)
				}
			}
		}
		for rank, q := range parts {
			if len(q.sets[0]) != cols || q.samples(rank) != int64(n) {
				t.Errorf("%d samples, tiles of %d: rank %d has %d tiles of samples of %d", n, p.side, rank, len(q.sets[0]), cols)
			}
		}
		if even := float64(max(p.loads[0].pairs, p.loads[1].pairs)) * 2 / float64(p.loads[0].pairs+p.loads[1].pairs); even > 1.05 {
			t.Errorf("%d samples, tiles of %d: loads %v", n, p.side, p.loads)
		}
	}
	if paired < 30 {
		t.Errorf("%d of 60 exchange states", paired)
	}
	for name, o := range map[string]Options{
		"File": {Group: pairOfGPUs{}, File: "K.npy"}, "Normalize": {Group: pairOfGPUs{}, Normalize: true}, "shards": {Shard: Shard{Of: 2}},
	} {
		if p, err := k.newPart(20_000, 0, o, 0, 2, true); err != nil || p.paired != nil {
			t.Errorf("%s: %v, %v", name, p.paired, err)
		}
	}
}

// TestPairedPlan checks that the plan of an exchange counts its memory, and that there is no exchange without that
// memory.
func TestPairedPlan(t *testing.T) {
	d := device.Info{Kind: device.CUDA, TotalMemory: 80 << 30}
	c, n := ZZFeatureMap(12, 1), 20_000
	least := int64(0)
	for _, q := range []struct {
		budget   int64
		exchange bool
	}{{0, true}, {9 << 28, false}} {
		o := Options{Group: pairOfGPUs{1}, MemoryBudget: q.budget}
		p, err := PlanGram(c, n, 0, d, o)
		if err != nil {
			t.Fatal(err)
		}
		r := p.Ranks
		if p.exchange != q.exchange || q.exchange != (r.Received > 0) || p.PeakBytes > p.Budget || strings.Contains(r.String(), "receives the others") != q.exchange {
			t.Errorf("budget %d: exchange %v\n%v", q.budget, p.exchange, p)
		}
		if q.exchange && (r.Samples+r.Received>>15 != int64(n) || r.MostSamples < r.Samples || r.MostSamples > int64(n)*6/10) {
			t.Errorf("the plan is %+v", r)
		}
		if least != 0 && p.States >= least {
			t.Errorf("states take %d bytes with an exchange, %d without", least, p.States)
		}
		least = p.States
	}
}

// TestPairedShort checks that work of a few milliseconds begins without an exchange.
func TestPairedShort(t *testing.T) {
	for qubits, want := range map[int]bool{10: false, 12: true} {
		p, err := compiled(t, ZZFeatureMap(qubits, 2), Auto).newPart(20_000, 0, Options{Group: pairOfGPUs{}}, 0, 2, true)
		if err != nil || (p.paired != nil) != want {
			t.Errorf("%d qubits: %v, %v", qubits, p.paired, err)
		}
	}
}

// TestPairedGPUs compares the tiles of two GPUs that exchange states with K of one. A sample that is not finite is an
// error of both, whichever of them builds its state.
func TestPairedGPUs(t *testing.T) {
	exchangeAlways(t)
	defer func(old float64) { mostUneven = old }(mostUneven)
	mostUneven = 2
	names := strings.Split(os.Getenv("GPK_TEST_DEVICES"), ",")
	if len(names) < 2 {
		t.Skip("NOT RUN: GPK_TEST_DEVICES=cuda:0,cuda:1 runs it on these")
	}
	var devices []*device.Device
	for _, name := range names[:2] {
		d, err := device.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	g, err := dist.Local(devices...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	blocks := ZZFeatureMap(4, 1)
	for name, q := range map[string]struct {
		c *Circuit
		n int
		o Options
	}{
		"standard":  {ZZFeatureMap(10, 2), 9001, Options{}},
		"jitter":    {ZZFeatureMap(8, 2), 8192, Options{Jitter: 0.5}},
		"double":    {ZZFeatureMap(9, 1), 4567, Options{Precision: Double}},
		"odd tiles": {ZZFeatureMap(8, 1), 5000, Options{Tile: 2048}},
		"fast":      {ZZFeatureMap(10, 1), 6000, Options{Precision: Fast}},
		"streams":   {blocks, 5000, Options{Tile: 1024, Streams: 4}},
		"rebuilt":   {ZZFeatureMap(10, 1), 8000, Options{Keep: Recompute, Tile: 2000}},
	} {
		t.Run(name, func(t *testing.T) {
			x := gpk.NewRNG(7).Uniform(gpk.Float64, 0, 1, q.n, q.c.Features())
			whole, err := Gram(t.Context(), q.c, x.To(devices[0]), nil, q.o)
			if err != nil {
				t.Fatal(err)
			}
			want, err := gpk.ToSlice[float64](whole.K.Cast(gpk.Float64))
			if err != nil {
				t.Fatal(err)
			}
			whole.K.Free()
			got := make([]float64, len(want))
			var mu sync.Mutex
			err = g.Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
				o := q.o
				o.Group = c
				for range 2 {
					r, err := Gram(ctx, q.c, x.To(c.Device()), nil, o)
					if err != nil {
						return err
					}
					if c.Direct() != (r.Plan.Ranks.Received > 0) && o.Keep != Recompute {
						return fmt.Errorf("NCCL %v, but the plan is\n%v", c.Direct(), r.Plan)
					}
					for _, tile := range r.Tiles {
						v, err := gpk.ToSlice[float64](tile.K.Cast(gpk.Float64))
						if err != nil {
							return err
						}
						mu.Lock()
						for i := range v {
							row, col := tile.Row+i/tile.K.Shape()[1], tile.Col+i%tile.K.Shape()[1]
							got[row*q.n+col], got[col*q.n+row] = v[i], v[i]
						}
						mu.Unlock()
						tile.K.Free()
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Error("the tiles have other bits than K of one GPU")
			}
		})
	}
	for _, row := range []int{100, 4900} {
		x := make([]float64, 5000*8)
		x[row*8+3] = math.NaN()
		errs := make([]error, 2)
		_ = g.Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
			_, err := Gram(ctx, ZZFeatureMap(8, 1), gpk.FromSlice(x, 5000, 8).To(c.Device()), nil, Options{Group: c})
			errs[c.Rank()] = err
			return nil
		})
		for rank, err := range errs {
			if !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), fmt.Sprint(row)) {
				t.Errorf("row %d, rank %d: %v", row, rank, err)
			}
		}
	}
}
