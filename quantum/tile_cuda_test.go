package quantum

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSingleBlocks computes K of one block, as a whole or in tiles, into poisoned memory.
// If a GPU has one kernel for a tile and all further steps, that kernel runs. Every entry
// is compared, including those of equal and of close samples.
func TestSingleBlocks(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
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

// TestKernelsOf: the report counts the kernels that a tile takes.
func TestKernelsOf(t *testing.T) {
	for name, c := range map[string]struct {
		q    gramArgs
		want int64
	}{
		"states":                {gramArgs{Triangle: 1}, 3},
		"states, rectangular":   {gramArgs{}, 4},
		"a factor":              {gramArgs{Triangle: 1, Factor: 1}, 2},
		"a factor, rectangular": {gramArgs{Factor: 1}, 3},
	} {
		if n := gramKernels(c.q); n != c.want {
			t.Errorf("%s: %d kernels, want %d", name, n, c.want)
		}
	}
	square := closedGramArgs{Dot: 1, Points: wirePoints{Rows: 8, Cols: 8, Planar: 16}, K: 256, Ld: 8, Mirror: 256, LdMirror: 8, Triangle: 1}
	mirrored := closedGramArgs{Dot: 1, Points: wirePoints{Rows: 8, Cols: 12, Planar: 16}, K: 256, Ld: 12, Mirror: 512, LdMirror: 8}
	with := func(q closedGramArgs, f func(*closedGramArgs)) closedGramArgs {
		f(&q)
		return q
	}
	for name, c := range map[string]struct {
		q    closedGramArgs
		want int64
	}{
		"many":              {with(square, func(q *closedGramArgs) { q.Dot, q.Points.Planar = 0, 40 }), 2},
		"many, rectangular": {with(mirrored, func(q *closedGramArgs) { q.Dot, q.Points.Planar = 0, 40 }), 2},
		"few":               {square, 2},
		"few, rectangular":  {mirrored, 3},
		"no vectors":        {with(square, func(q *closedGramArgs) { q.Points.Rows, q.Points.Cols, q.Ld, q.LdMirror = 9, 9, 9, 9 }), 3},
		"a crooked tile":    {with(mirrored, func(q *closedGramArgs) { q.K = 260 }), 4},
		"a narrow mirror":   {with(mirrored, func(q *closedGramArgs) { q.Points.Rows = 7 }), 4},
		"no mirror":         {with(mirrored, func(q *closedGramArgs) { q.Points.Rows, q.Mirror = 7, 0 }), 3},
		"others too":        {with(square, func(q *closedGramArgs) { q.Points.Planar, q.Points.Full = 8, 9 }), 2},
		"five steps":        {with(square, func(q *closedGramArgs) { q.Points.Planar, q.Points.Full = 8, 13 }), 3},
	} {
		if n := closedKernels(c.q); n != c.want {
			t.Errorf("%s: %d kernels, want %d", name, n, c.want)
		}
	}
}
