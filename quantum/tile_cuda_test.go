package quantum

import (
	"math"
	"testing"
)

// TestSingleBlocks computes K of one block, as it is or in tiles, into poisoned
// memory: where a GPU has one kernel for a tile and all that follows, it is that
// one. Every entry is compared, those of equal and of near samples too.
func TestSingleBlocks(t *testing.T) {
	onCPU(t)
	rng := seeded(t)
	for _, q := range []int{1, 2, 3, 6, 8} {
		for _, rz := range []bool{false, true} {
			c := ringCZ(q, rz)
			for _, n := range []int{1, 2, 127, 128, 130, 261} {
				if n > 200 && raceDetector {
					continue
				}
				x := randomSamples(rng, n, q)
				for i := 1; i < n; i += 3 {
					for k := range x[i] {
						x[i][k] = x[i-1][k] + 1e-3*rng.Float64()*float64(i%2)
					}
				}
				want := referenceGram(c, x, x)
				for _, o := range []Options{{}, {Precision: Fast}, {Jitter: 0.25}, {Normalize: true}, {Tile: 150}, {Tile: 140, Keep: Recompute, Precision: Fast}} {
					o.Path = General
					r := poisoned(t, c, x, nil, q, o)
					k := values(t, r.K)
					sum := 0.0
					for i := range n {
						for j := range n {
							w := want[i][j]
							if i == j {
								if w = 1; !o.Normalize {
									w += o.Jitter
								}
								if k[i*n+j] != w {
									t.Fatalf("q=%d rz=%v n=%d %+v: K[%d, %d] is %v", q, rz, n, o, i, j, k[i*n+j])
								}
							}
							if d := math.Abs(k[i*n+j] - w); !(d <= o.Precision.diagonalBound()) {
								t.Fatalf("q=%d rz=%v n=%d %+v: K[%d, %d] is %v, want %v", q, rz, n, o, i, j, k[i*n+j], w)
							}
							if k[i*n+j] != k[j*n+i] {
								t.Fatalf("q=%d rz=%v n=%d %+v: K[%d, %d] is %v, its mirror %v", q, rz, n, o, i, j, k[i*n+j], k[j*n+i])
							}
							if i < j {
								sum += k[i*n+j]
							}
						}
					}
					if mean := sum / (float64(n) * float64(n-1) / 2); n > 1 && !(math.Abs(r.Report.OffDiagonalMean-mean) <= 1e-9) {
						t.Errorf("q=%d rz=%v n=%d %+v: mean %v, want %v", q, rz, n, o, r.Report.OffDiagonalMean, mean)
					}
					r.K.Free()
				}
			}
		}
	}
}
