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

// rankCase is a Gram matrix that ranks compute together.
type rankCase struct {
	c    *Circuit
	x, y *gpk.Array
	o    Options
}

// eachRankCase runs a test for kernels of every kind, with the result of one rank.
func eachRankCase(t *testing.T, f func(t *testing.T, q rankCase, whole *Result)) {
	t.Helper()
	rng := testrand.New(t)
	x, y := arrayOf(randomSamples(rng, 233, 3), 3), arrayOf(randomSamples(rng, 71, 3), 3)
	for name, q := range map[string]rankCase{
		"symmetric":    {entangled(), x, nil, Options{Tile: 50}},
		"double":       {entangled(), x, nil, Options{Tile: 34, Precision: Double, Jitter: 0.25}},
		"against y":    {entangled(), x, y, Options{Tile: 34, Normalize: true}},
		"recomputed":   {entangled(), x, nil, Options{Tile: 20, Keep: Recompute, MemoryBudget: 1 << 24, Normalize: true}},
		"product":      {ringCZ(3, false), x, nil, Options{Tile: 50}},
		"product of y": {ringCZ(3, false), x, y, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := Gram(t.Context(), q.c, q.x, q.y, q.o)
			if err != nil {
				t.Fatal(err)
			}
			f(t, q, whole)
		})
	}
}

// cpuRanks returns a group of n ranks on the CPU in this process.
func cpuRanks(t *testing.T, n int) *dist.Group {
	t.Helper()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return ranksOn(t, d, n)
}

// ranksOn returns a group of n ranks on a device. On a GPU, data moves through the host.
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
	eachRankCase(t, func(t *testing.T, q rankCase, whole *Result) {
		want := bitsOf(t, whole.K)
		n, m := whole.Plan.Samples[0], whole.Plan.Samples[1]
		got := make([]uint64, n*m)
		var mu sync.Mutex
		file := filepath.Join(t.TempDir(), "K.npy")
		err := ranksOn(t, testDevice(t), 4).Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
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
			mean, std := statisticsBounds(&whole.Report, q.o.Precision, testDevice(t).Kind(), q.y == nil, n, m)
			if d := r.Report.OffDiagonalMean - whole.Report.OffDiagonalMean; !(math.Abs(d) <= mean) {
				return fmt.Errorf("a mean of %v, not %v: off by %.3g, and at most %.3g is allowed", r.Report.OffDiagonalMean, whole.Report.OffDiagonalMean, d, mean)
			}
			if d := r.Report.OffDiagonalStd - whole.Report.OffDiagonalStd; !(math.Abs(d) <= std) {
				return fmt.Errorf("a deviation of %v, not %v: off by %.3g, and at most %.3g is allowed", r.Report.OffDiagonalStd, whole.Report.OffDiagonalStd, d, std)
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

// statisticsBounds bounds the difference of the mean and of the deviation of the same entries of K between two
// divisions into tiles.
//
// A CPU, and a GPU in Double, add float64 numbers: their errors are far below 1e-9.
//
// A GPU's kernel for float32 adds four entries, and their squares, in float32, and these sums in float64 (add_four in
// kernels/gram_tile.cuh). Which four depends on the tile. With u = 2^-24 and entries of at most 1, rounding a sum of two
// errs by at most u, one of four by at most 2u, and one of four squares by at most u/2 more for each square. Errors
// that are uniform within these bounds and independent have, for four entries, the variances
//
//	(u^2 + u^2 + 4 u^2) / 3 = 2 u^2  and  (4 u^2/4 + u^2 + u^2 + 4 u^2) / 3 = 7/3 u^2.
//
// So the error of a mean of n entries has the deviation e = u sqrt(2 n/4) / n = u sqrt(1/(2n)), and that of the mean of
// their squares f = u sqrt(7/(12n)). For 16,543 entries e is 3.3e-10, and sqrt(2) e, the deviation of the difference
// of two means, 4.6e-10: a difference of 1e-9 is common. The bounds are six deviations of the difference. As the
// deviation of K is s = sqrt(q - mean^2), its error is at most (f + 2 mean e) / (2s) to first order.
func statisticsBounds(r *Report, p Precision, kind device.Kind, symmetric bool, rows, cols int) (mean, std float64) {
	if kind == device.CPU || p == Double {
		return 1e-9, 1e-9
	}
	n := float64(rows) * float64(cols)
	if symmetric {
		n = float64(rows) * float64(rows-1) / 2
	}
	const u = 1.0 / (1 << 24)
	e, f := 6*math.Sqrt2*u*math.Sqrt(1/(2*n)), 6*math.Sqrt2*u*math.Sqrt(7/(12*n))
	return e, (f + 2*r.OffDiagonalMean*e) / (2 * r.OffDiagonalStd)
}

// TestStatisticsBounds adds the same entries in float32 by fours, as a GPU does, from two first entries on.
func TestStatisticsBounds(t *testing.T) {
	rng := testrand.New(t)
	const rows, cols = 233, 71
	k := make([]float32, rows*cols)
	for i := range k {
		k[i] = float32(math.Pow(rng.Float64(), 0.7))
	}
	statistics := func(k []float32) (mean, std float64) {
		var sum, squares float64
		for ; len(k) >= 4; k = k[4:] {
			a, b, c, d := k[0], k[1], k[2], k[3]
			sum += float64(float32(a+b) + float32(c+d))
			squares += float64(float32(float32(a*a)+float32(b*b)) + float32(float32(c*c)+float32(d*d)))
		}
		for _, v := range k {
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
		}
		mean = sum / (rows * cols)
		return mean, math.Sqrt(squares/(rows*cols) - mean*mean)
	}
	r := Report{}
	r.OffDiagonalMean, r.OffDiagonalStd = statistics(k)
	mean, std := statisticsBounds(&r, Standard, device.CUDA, false, rows, cols)
	off := 0.0
	for first := range 64 {
		m, s := statistics(append(k[first+1:len(k):len(k)], k[:first+1]...))
		dm, ds := math.Abs(m-r.OffDiagonalMean), math.Abs(s-r.OffDiagonalStd)
		if off = max(off, dm/mean, ds/std); !(dm <= mean && ds <= std) {
			t.Errorf("from entry %d on: the mean is off by %.3g of at most %.3g, the deviation by %.3g of at most %.3g", first+1, dm, mean, ds, std)
		}
	}
	if off < 0.02 {
		t.Errorf("the bounds are %.0f times the largest difference", 1/off)
	}
	t.Logf("bounds %.3g and %.3g, largest difference %.2f of its bound", mean, std, off)
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
	eachRankCase(t, func(t *testing.T, q rankCase, whole *Result) {
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
		if _, err := Gram(t.Context(), q.c, q.x, q.y, o); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("a shard of a finished file: %v", err)
		}
	})
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

// lateRank is a rank that continues, after each exchange, when the folder of the run is gone, or after some time.
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
