package quantum

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
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

// TestShareBounds: impossible numbers of samples are refused. Whatever Tile is, a tile is never larger than one
// product: of maxSide on a CPU, and on a GPU of a size that takes at most tileTime, and of maxOutTile if it is copied to
// a file.
func TestShareBounds(t *testing.T) {
	for _, info := range []device.Info{{Kind: device.CPU, TotalMemory: 1 << 36, MultiProcessors: 4}, {Kind: device.CUDA, TotalMemory: 1 << 36}} {
		for _, size := range [][2]int{{-500, 0}, {500, -300}, {-500, -300}, {maxDealt + 1, 0}} {
			if _, err := PlanGram(entangled(), size[0], size[1], info, Options{Shard: Shard{0, 2}}); err == nil {
				t.Errorf("%v: %v samples have a plan", info.Kind, size)
			}
		}
		for c, qubits := range map[*Circuit]int{entangled(): 3, ZZFeatureMap(14, 2): 14} {
			for _, tile := range []int{3 * maxSide, math.MaxInt} {
				for _, o := range []Options{{File: "K.npy"}, {}, {File: "K.npy", Precision: Double}} {
					o.Shard, o.Tile = Shard{0, 2}, tile
					p, err := PlanGram(c, 40_000, 0, info, o)
					if err != nil {
						t.Errorf("%v, %d qubits, %+v: %v", info.Kind, qubits, o, err)
						continue
					}
					side, most := p.Ranks.Side, maxSide
					if info.Kind == device.CUDA {
						if most = maxTile; o.File != "" {
							most = maxOutTile
						}
						if took := compiled(t, c, Auto).tileSeconds(o.Precision, side, side); took > tileTime {
							t.Errorf("%d qubits, %+v: tiles of %d take %v s, and at most %v s are allowed", qubits, o, side, took, tileTime)
						}
					}
					if side > most || side > tile/2 {
						t.Errorf("%v, %d qubits, %+v: tiles of %d, and at most %d are allowed", info.Kind, qubits, o, side, most)
					}
				}
			}
		}
	}
}

// TestBalance bounds the largest share of the entries of K of any rank, over the mean share. Ranks whose number is a
// prime are a grid of one row, and their tiles are dealt one by one. In other grids whole rows and columns of tiles are
// dealt.
func TestBalance(t *testing.T) {
	for _, gpu := range []bool{false, true} {
		k := compiled(t, ZZFeatureMap(8, 1), Auto)
		if gpu {
			k = compiled(t, ZZFeatureMap(16, 1), Auto)
		}
		for _, n := range []int{2000, 5000, 8000, 10_000, 12_345, 20_000} {
			for ranks, bound := range map[int]float64{1: 1, 2: 1.04, 3: 1.03, 4: 1.05, 5: 1.03, 6: 1.13, 7: 1.04, 8: 1.1, 11: 1.06, 12: 1.15, 13: 1.07, 16: 1.17} {
				for _, precision := range []Precision{Standard, Double} {
					p, err := k.newPart(n, 0, Options{Precision: precision}, 0, ranks, gpu)
					if err != nil {
						t.Fatal(err)
					}
					most, all, samples := int64(0), int64(0), int64(0)
					for rank, l := range p.loads {
						most, all, samples = max(most, l.pairs), all+l.pairs, max(samples, p.samples(rank))
					}
					if want := int64(n) * int64(n+1) / 2; all != want {
						t.Errorf("GPU %v, %d samples on %d ranks: %d entries, want %d", gpu, n, ranks, all, want)
					}
					if even := float64(most) * float64(ranks) / float64(all); even > bound {
						t.Errorf("GPU %v, %v, %d samples on %d ranks: one has %.4f times the mean, want at most %v", gpu, precision, n, ranks, even, bound)
					}
					if samples > int64(n) {
						t.Errorf("GPU %v, %d samples on %d ranks: one builds %d states", gpu, n, ranks, samples)
					}
				}
			}
		}
	}
}

// TestBalanceOfManyRanks has fewer than two columns of tiles a rank. Dealt by columns, one rank has up to 3.8 times the mean.
func TestBalanceOfManyRanks(t *testing.T) {
	k := compiled(t, entangled(), Auto)
	for _, n := range []int{12_200, 12_500, 24_000} {
		p, err := k.newPart(n, 0, Options{}, 0, 251, false)
		if err != nil {
			t.Fatal(err)
		}
		most, all := int64(0), int64(0)
		for _, l := range p.loads {
			most, all = max(most, l.pairs), all+l.pairs
		}
		if even := float64(most) * 251 / float64(all); even > 1.02 {
			t.Errorf("%d samples on 251 ranks: one has %.3f times the mean", n, even)
		}
	}
}

// TestDeal compares with a search for the rank with the least weight.
func TestDeal(t *testing.T) {
	rng := testrand.New(t)
	for range 1000 {
		weights, load := make([]int64, rng.IntN(80)), make([]int64, 1+rng.IntN(20))
		order := make([]int, len(weights))
		for i := range weights {
			weights[i], order[i] = rng.Int64N(6), i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
		want := make([]int, len(weights))
		for _, i := range order {
			want[i] = slices.Index(load, slices.Min(load))
			load[want[i]] += weights[i]
		}
		if got := deal(len(weights), len(load), func(i int) int64 { return weights[i] }); !slices.Equal(got, want) {
			t.Fatalf("%v on %d ranks: %v, want %v", weights, len(load), got, want)
		}
	}
}
