package quantum

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/interop/npy"
)

// TestShares checks that every entry of K, of a symmetric K on and above the diagonal, is in exactly
// one tile of one rank, whose sets contain its samples, and that loads match the tiles and are even.
func TestShares(t *testing.T) {
	rng := testrand.New(t)
	k := compiled(t, entangled(), Auto)
	for try := range 60 {
		n, m, ranks := 1+rng.IntN(900), rng.IntN(2)*(1+rng.IntN(700)), 1+rng.IntN(20)
		o := Options{Tile: rng.IntN(2) * (2 + rng.IntN(200))}
		columns := m
		if m == 0 {
			columns = n
		}
		seen := make([]int, n*columns)
		for rank := range ranks {
			p, err := k.newPart(n, m, o, rank, ranks, false)
			if err != nil {
				t.Fatal(err)
			}
			where := func(set, tile int) int { return slices.Index(p.sets[set], tile) * p.side }
			pairs := int64(0)
			for at := range p.index {
				i0, j0 := where(0, at[0]), where(p.ySet(), at[1])
				number, wanted := p.tile(i0, j0)
				if !wanted || number != p.index[at] || p.at(0, i0) != at[0]*p.side || p.at(p.ySet(), j0) != at[1]*p.side {
					t.Fatalf("try %d: tile %v is number %d, wanted %v", try, at, number, wanted)
				}
				for i := p.at(0, i0); i < min(n, (at[0]+1)*p.side); i++ {
					for j := p.at(p.ySet(), j0); j < min(columns, (at[1]+1)*p.side); j++ {
						if m == 0 && j < i {
							continue
						}
						seen[i*columns+j]++
						pairs++
					}
				}
			}
			got := p.loads[rank]
			if want := (load{len(p.index), pairs}); got != want || p.left() != pairs || p.samples(rank) != int64(p.size(0)+p.size(1)) {
				t.Errorf("try %d, rank %d of %d: load %v, %d left, want %v; %d samples of %d", try, rank, ranks, got, p.left(), want, p.samples(rank), p.size(0)+p.size(1))
			}
		}
		for at, times := range seen {
			if want := 1; (m != 0 || at%n >= at/n) && times != want || m == 0 && at%n < at/n && times != 0 {
				t.Fatalf("try %d: %d x %d on %d ranks: entry %d is computed %d times", try, n, m, ranks, at, times)
			}
		}
	}
	for _, ranks := range []int{2, 4, 16, 64, 1024} {
		p, err := k.newPart(100_000, 0, Options{}, 0, ranks, false)
		if err != nil {
			t.Fatal(err)
		}
		samples, most, all := int64(0), int64(0), int64(0)
		for rank, l := range p.loads {
			samples, most, all = max(samples, p.samples(rank)), max(most, l.pairs), all+l.pairs
		}
		if even := float64(most) * float64(ranks) / float64(all); even > 1.25 {
			t.Errorf("%d ranks: one has %.3f times the mean", ranks, even)
		}
		if bound := 2.3 * 100_000 / math.Sqrt(float64(ranks)); float64(samples) > bound {
			t.Errorf("%d ranks: one builds %d states, want at most %.0f", ranks, samples, bound)
		}
	}
}

// TestShareWithoutTiles frees the samples of a rank that computes no tile. The user's samples remain.
func TestShareWithoutTiles(t *testing.T) {
	x := arrayOf(randomSamples(testrand.New(t), 20, 3), 3)
	p, err := compiled(t, entangled(), Auto).newPart(20, 0, Options{}, 3, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.compact(&samples{n: 20, features: 3, array: x}, 0)
	if err != nil || s.n != 0 || !slices.Equal(s.array.Shape(), []int{0, 3}) || s.array.DType() != x.DType() {
		t.Fatalf("%+v, %v", s, err)
	}
	s.free()
	if _, err := gpk.ToSlice[float64](x); err != nil {
		t.Error(err)
	}
}

// rankCases are kernels of every kind.
func rankCases(t *testing.T) map[string]struct {
	c    *Circuit
	x, y *gpk.Array
	o    Options
} {
	rng := testrand.New(t)
	x, y := arrayOf(randomSamples(rng, 233, 3), 3), arrayOf(randomSamples(rng, 71, 3), 3)
	return map[string]struct {
		c    *Circuit
		x, y *gpk.Array
		o    Options
	}{
		"symmetric":    {entangled(), x, nil, Options{Tile: 50}},
		"double":       {entangled(), x, nil, Options{Tile: 34, Precision: Double, Jitter: 0.25}},
		"against y":    {entangled(), x, y, Options{Tile: 34, Normalize: true}},
		"recomputed":   {entangled(), x, nil, Options{Tile: 20, Keep: Recompute, MemoryBudget: 1 << 24, Normalize: true}},
		"product":      {ringCZ(3, false), x, nil, Options{Tile: 50}},
		"product of y": {ringCZ(3, false), x, y, Options{}},
	}
}

// cpuRanks is a group of n ranks on the CPU in this process.
func cpuRanks(t *testing.T, n int) *dist.Group {
	t.Helper()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return ranksOn(t, d, n)
}

// ranksOn is a group of n ranks on a device. On a GPU, data moves through the host.
func ranksOn(t *testing.T, d *device.Device, n int) *dist.Group {
	t.Helper()
	t.Setenv("GPK_NCCL", "off")
	g, err := dist.Local(slices.Repeat([]*device.Device{d}, n)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// TestGroup checks that the tiles and the file of four ranks have the bits of one rank.
func TestGroup(t *testing.T) {
	onCPU(t)
	for name, q := range rankCases(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := Gram(t.Context(), q.c, q.x, q.y, q.o)
			if err != nil {
				t.Fatal(err)
			}
			want := bitsOf(t, whole.K)
			n, m := whole.Plan.Samples[0], whole.Plan.Samples[1]
			got := make([]uint64, n*m)
			var mu sync.Mutex
			file := filepath.Join(t.TempDir(), "K.npy")
			err = ranksOn(t, testDevice(t), 4).Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
				o := q.o
				o.Group = c
				r, err := Gram(ctx, q.c, q.x, q.y, o)
				if err != nil {
					return err
				}
				if p := r.Plan.Ranks; p.Pairs != r.Report.Pairs || p.Written != tileBytes(r.Tiles) || p.Tiles != len(r.Tiles) || r.Report.Peak[0].Bytes > r.Plan.States {
					return fmt.Errorf("planned %+v, states %d, but the report is\n%v", p, r.Plan.States, r.Report)
				}
				mu.Lock()
				for _, tile := range r.Tiles {
					width := tile.K.Shape()[1]
					for i, v := range bitsOf(t, tile.K) {
						row, col := tile.Row+i/width, tile.Col+i%width
						got[row*m+col] = v
						if q.y == nil {
							got[col*m+row] = v
						}
					}
					tile.K.Free()
				}
				mu.Unlock()
				if d := r.Report.OffDiagonalMean - whole.Report.OffDiagonalMean; math.Abs(d) > 1e-9 {
					return fmt.Errorf("a mean of %v, not %v", r.Report.OffDiagonalMean, whole.Report.OffDiagonalMean)
				}
				if d := r.Report.OffDiagonalStd - whole.Report.OffDiagonalStd; math.Abs(d) > 1e-9 {
					return fmt.Errorf("a deviation of %v, not %v", r.Report.OffDiagonalStd, whole.Report.OffDiagonalStd)
				}
				o.File = file
				if r, err = Gram(ctx, q.c, q.x, q.y, o); err == nil && (!r.Complete || r.K != nil || r.Tiles != nil) {
					err = errors.New("a file, and something else")
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Error("the tiles have other bits than K of one rank")
			}
			checkFile(t, file, want)
		})
	}
}

// checkFile compares a file's bits, and checks that nothing else is in its folder.
func checkFile(t *testing.T, file string, want []uint64) {
	t.Helper()
	k, err := npy.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(bitsOf(t, k), want) {
		t.Error("the file has other bits than K of one rank")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
}

// TestShards interrupts shards repeatedly and runs them in any order. They write the file of one rank,
// and compute no recorded tile twice.
func TestShards(t *testing.T) {
	if testDevice(t).Kind() != device.CPU {
		t.Skip("NOT RUN: ranks compute on CPUs")
	}
	onCPU(t)
	for name, q := range rankCases(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := Gram(t.Context(), q.c, q.x, q.y, q.o)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "K.npy")
			const shards = 3
			var left []int
			for i := range shards {
				left = append(left, i)
			}
			pairs, calls := int64(0), 0
			for ; len(left) > 0 && calls < 200; calls++ {
				o := q.o
				o.File, o.Shard = file, Shard{left[0], shards}
				left = left[1:]
				if _, err := os.Stat(file); err == nil {
					t.Fatal("the file has its final name too early")
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := int64(0)
				o.Progress = func(p Progress) { // ends the run after one or two tiles
					if done = p.Done; done > 0 && calls%3 != 0 {
						cancel()
					}
				}
				r, err := Gram(ctx, q.c, q.x, q.y, o)
				cancel()
				pairs += done
				switch {
				case errors.Is(err, context.Canceled):
					left = append(left, o.Shard.Index)
				case err != nil:
					t.Fatal(err)
				case r.Complete != (len(left) == 0):
					t.Errorf("call %d: complete %v with %v left", calls, r.Complete, left)
				}
			}
			if pairs != whole.Report.Pairs {
				t.Errorf("%d pairs in %d calls, want %d", pairs, calls, whole.Report.Pairs)
			}
			checkFile(t, file, bitsOf(t, whole.K))
			o := q.o
			o.File, o.Shard = file, Shard{0, shards}
			if _, err := Gram(t.Context(), q.c, q.x, q.y, o); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "is there already") {
				t.Errorf("a shard of a finished file: %v", err)
			}
		})
	}
}

// TestRanksDiffer checks that every rank gets an error that names the rank whose arguments differ.
func TestRanksDiffer(t *testing.T) {
	if testDevice(t).Kind() != device.CPU {
		t.Skip("NOT RUN: ranks compute on CPUs")
	}
	onCPU(t)
	rng := testrand.New(t)
	x, other := arrayOf(randomSamples(rng, 60, 3), 3), arrayOf(randomSamples(rng, 60, 3), 3)
	nan := x.Clone()
	if err := nan.Slice(0, 4, 5).CopyFrom(math.NaN()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(x **gpk.Array, o *Options){
		"rank 2 calls Gram with other samples x":        func(x **gpk.Array, _ *Options) { *x = other },
		"rank 2 calls Gram with other options":          func(_ **gpk.Array, o *Options) { o.Jitter = 1 },
		"rank 2 calls Gram with another Tile":           func(_ **gpk.Array, o *Options) { o.Tile = 20 },
		"rank 2 calls Gram with another choice of File": func(_ **gpk.Array, o *Options) { o.File = filepath.Join(t.TempDir(), "K.npy") },
		"x[4, 0] is NaN": func(x **gpk.Array, _ *Options) { *x = nan },
	} {
		var mu sync.Mutex
		var errs []error
		err := cpuRanks(t, 4).Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
			x, o := x, Options{Group: c}
			if c.Rank() == 2 {
				change(&x, &o)
			}
			_, err := Gram(ctx, entangled(), x, nil, o)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			return err
		})
		errs = append(errs, err)
		for _, err := range errs {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		if e := new(dist.RankError); want[0] == 'x' && (!errors.As(err, &e) || e.Rank != 2) {
			t.Errorf("error %v does not name rank 2", err)
		}
	}
}

// lateRank is a rank that goes on, behind each exchange, when the folder of the run is gone, or
// after some time.
type lateRank struct {
	*dist.Comm
	folder string
}

func (l lateRank) AllGather(a *gpk.Array, axis int) *gpk.Array {
	all := l.Comm.AllGather(a, axis)
	for range 100 {
		if _, err := os.Stat(l.folder); errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return all
}

// TestLateRank: a rank whose tiles are recorded may come to the folder late. The others have not
// removed it yet.
func TestLateRank(t *testing.T) {
	if testDevice(t).Kind() != device.CPU {
		t.Skip("NOT RUN: ranks compute on CPUs")
	}
	onCPU(t)
	x := arrayOf(randomSamples(testrand.New(t), 100, 3), 3)
	whole, err := Gram(t.Context(), entangled(), x, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "K.npy")
	o := Options{File: file, Tile: 20, Shard: Shard{2, 3}}
	if _, err := Gram(t.Context(), entangled(), x, nil, o); err != nil {
		t.Fatal(err)
	}
	o.Shard = Shard{}
	err = cpuRanks(t, 3).Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
		o := o
		if o.Group = c; c.Rank() == 2 {
			o.Group = lateRank{c, file + ".parts"}
			o.Progress = func(p Progress) {
				if p.Total > 0 {
					t.Errorf("rank 2 computes %d entries again", p.Total)
				}
			}
		}
		r, err := Gram(ctx, entangled(), x, nil, o)
		if err == nil && !r.Complete {
			err = errors.New("not complete")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	checkFile(t, file, bitsOf(t, whole.K))
}

// TestShareBounds: impossible numbers of samples are refused, and a tile is never larger than one
// product, whatever Tile is.
func TestShareBounds(t *testing.T) {
	onCPU(t)
	info := gpk.Ones(gpk.Float64, 1).Device().Info()
	for _, size := range [][2]int{{-500, 0}, {500, -300}, {-500, -300}, {maxDealt + 1, 0}} {
		if _, err := PlanGram(entangled(), size[0], size[1], info, Options{Shard: Shard{0, 2}}); err == nil {
			t.Errorf("%v samples have a plan", size)
		}
	}
	for _, tile := range []int{3 * maxSide, math.MaxInt} {
		p, err := PlanGram(entangled(), 5000, 0, info, Options{Shard: Shard{0, 2}, File: "K.npy", Tile: tile, MemoryBudget: 1 << 30})
		if err != nil || p.Ranks.Side > maxSide {
			t.Errorf("Tile %d: %v, %v", tile, p, err)
		}
	}
}
