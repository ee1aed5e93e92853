package quantum

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSingleWires compares gates on single wires with their states.
func TestSingleWires(t *testing.T) {
	rng := testrand.New(t)
	onCPU(t)
	const q, features, n = 5, 3, 37
	for range 10 {
		c := NewCircuit(q)
		for w := range q {
			for range 1 + rng.IntN(6) {
				g := gate{kind: gateKind(rng.IntN(int(gateCX))), a: w, b: -1}
				if g.kind.hasAngle() {
					g.angle = Feature(rng.IntN(features)).Scale(1 + rng.Float64())
					switch rng.IntN(4) {
					case 0:
						g.angle = g.angle.Mul(Feature(rng.IntN(features))).Add(Const(rng.Float64()))
					case 1:
						g.angle = Const(rng.Float64())
					}
				}
				c.add(callsite.Here(), g)
			}
		}
		x, y := randomSamples(rng, n, features), randomSamples(rng, n+4, features)
		for _, o := range []Options{{}, {Precision: Double}} {
			for _, against := range [][][]float64{nil, y} {
				r := poisoned(t, c, x, against, features, o)
				if r.Plan.Path != Product {
					t.Fatalf("path %v", r.Plan.Path)
				}
				if against == nil {
					against = x
				}
				if w := worst(values(t, r.K), referenceGram(c, x, against)); !(w <= o.Precision.diagonalBound()) {
					t.Errorf("%+v: off by %v\n%v", o, w, c)
				}
			}
		}
	}
}

// TestClosedTiles computes parts of K with arbitrary bounds. The elements around them do
// not change.
func TestClosedTiles(t *testing.T) {
	everyTileKernel(t, func(t *testing.T) {
		testClosedTiles[float32](t, 1e-6)
		testClosedTiles[float64](t, 1e-14)
	})
}

func testClosedTiles[T number](t *testing.T, bound float64) {
	t.Helper()
	rng := testrand.New(t)
	const n, features = 150, 3
	c := NewCircuit(features)
	for i := range features {
		c.RY(i, Feature(i))
	}
	x := randomSamples(rng, n, features)
	k, err := compileGram(c, Auto)
	if err != nil {
		t.Fatal(err)
	}
	s := &samples{n: n, features: features, data: flat(x)}
	b, err := newBloch[T](context.Background(), k, s, s)
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		i0, j0 := rng.IntN(n), rng.IntN(n)
		r, cols := 1+rng.IntN(n-i0), 1+rng.IntN(n-j0)
		diagonal := rng.IntN(3) == 0
		if diagonal {
			j0, cols = i0, r
		}
		ld := cols + rng.IntN(4)
		tile := slices.Repeat([]T{T(math.NaN())}, (r+1)*ld)
		var post *postprocessing[T]
		if rng.IntN(2) == 0 { // with its mirror and its moments
			post = &postprocessing[T]{mirror: tile, ld: ld, shift: 0.25, sums: make([]laneSums, b.strips(i0, r))}
			if !diagonal {
				post.ld = r + rng.IntN(4)
				post.mirror = slices.Repeat([]T{T(math.NaN())}, (cols+1)*post.ld)
			}
		}
		if !b.tile(tile, ld, bounds{i0, r, j0, cols, diagonal}, post) {
			t.Fatal("nothing written")
		}
		if post != nil {
			checkSettled(t, tile, ld, r, cols, diagonal, post, bound)
		}
		for y := range r + 1 {
			for at := range ld {
				got := float64(tile[y*ld+at])
				if y >= r || at >= cols {
					if got == got {
						t.Fatalf("%d x %d from (%d, %d): wrote beside them", r, cols, i0, j0)
					}
					continue
				}
				if diagonal && at < y {
					continue
				}
				want := 1.0
				for f := range features {
					v := math.Cos((x[i0+y][f] - x[j0+at][f]) / 2)
					want *= v * v
				}
				if !(math.Abs(got-want) <= bound) {
					t.Fatalf("%d x %d from (%d, %d), diagonal %v: (%d, %d) is %v, want %v", r, cols, i0, j0, diagonal, y, at, got, want)
				}
			}
		}
	}
}

// checkSettled compares a tile's mirror and moments with the tile.
func checkSettled[T number](t *testing.T, tile []T, ld, r, cols int, diagonal bool, s *postprocessing[T], bound float64) {
	t.Helper()
	for x := range len(s.mirror) / s.ld {
		for y := range s.ld {
			got := s.mirror[x*s.ld+y]
			if x >= cols || y >= r {
				if got == got {
					t.Fatalf("%d x %d: the mirror reaches beside it", r, cols)
				}
			} else if got != tile[y*ld+x] {
				t.Fatalf("%d x %d, diagonal %v: entry (%d, %d) is %v, its mirror %v", r, cols, diagonal, y, x, tile[y*ld+x], got)
			}
		}
	}
	var got, want [2]float64
	for i := range s.sums {
		sum, squares := s.sums[i].total()
		got[0], got[1] = got[0]+sum, got[1]+squares
	}
	for y := range r {
		for x := range cols {
			if d := float64(tile[y*ld+x]) - s.shift; !diagonal || x > y {
				want[0], want[1] = want[0]+d, want[1]+d*d
			}
		}
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= float64(r*cols)*bound/10) {
			t.Fatalf("%d x %d, diagonal %v: moments %v, want %v", r, cols, diagonal, got, want)
		}
	}
}
