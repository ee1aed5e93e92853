package quantum

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/testrand"
)

// everyTileKernel runs f with the kernels of this processor, those of one that has less,
// and without assembly.
func everyTileKernel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	k32, k64 := kernels32, kernels64
	defer func() { kernels32, kernels64 = k32, k64 }()
	t.Run("best", f)
	if narrower32 != nil {
		kernels32, kernels64 = narrower32, narrower64
		t.Run("narrower", f)
	}
	kernels32, kernels64 = nil, nil
	t.Run("go", f)
}

// TestTileKernels compares assembly and Go with the formulas, for lengths with
// and without a rest.
func TestTileKernels(t *testing.T) {
	everyTileKernel(t, func(t *testing.T) {
		testTileKernels[float32](t, eps32)
		testTileKernels[float64](t, 1e-14)
	})
}

// eps32 is the largest error of a float32 of magnitude 1 in one operation of these
// kernels.
const eps32 = 1e-6

func testTileKernels[T number](t *testing.T, eps float64) {
	t.Helper()
	rng := testrand.New(t)
	random := func(n int) []T {
		v := make([]T, n)
		for i := range v {
			v[i] = T(rng.Float64() - 0.5)
		}
		return v
	}
	nan := func(n int) []T {
		v := make([]T, n)
		for i := range v {
			v[i] = T(math.NaN())
		}
		return v
	}
	for range 300 {
		r, cols := 1+rng.IntN(13), 1+rng.IntN(40)
		lp, ld := (cols+15)/16*16+16*rng.IntN(2), cols+rng.IntN(4)
		size := (r-1)*lp + cols // as short as it may be
		if rng.IntN(2) == 0 {
			size = r * lp
		}
		p1, p2, p3, old := random(size), random(size), random(size), random((r+1)*ld)
		written, multiplied := nan(len(old)), slices.Clone(old)
		squares, squared := nan(len(old)), slices.Clone(old)
		square1(squares, ld, p1, lp, r, cols, true)
		square1(squared, ld, p1, lp, r, cols, false)
		// What a part of them is has the bits of the whole.
		less := 1 + rng.IntN(cols)
		part := nan(len(old))
		combine3(part, ld, slices.Clone(p1), p2, p3, lp, r, less, true)
		combine3(written, ld, slices.Clone(p1), p2, p3, lp, r, cols, true)
		combine3(multiplied, ld, slices.Clone(p1), p2, p3, lp, r, cols, false)
		for i := range old {
			y, x := i/ld, i%ld
			if y >= r || x >= cols {
				if written[i] == written[i] || squares[i] == squares[i] || multiplied[i] != old[i] || squared[i] != old[i] {
					t.Fatalf("%d x %d wrote beside them: (%d, %d)", r, cols, y, x)
				}
				continue
			}
			a, b, c := float64(p1[y*lp+x]), float64(p2[y*lp+x]), float64(p3[y*lp+x])
			re, im := a+b, c-a+b
			want := re*re + im*im
			if !(math.Abs(float64(written[i])-want) <= 4*eps) || !(math.Abs(float64(multiplied[i])-want*float64(old[i])) <= 4*eps) {
				t.Fatalf("combine3 of %d x %d: entry (%d, %d) is %v and %v, want %v", r, cols, y, x, written[i], multiplied[i], want)
			}
			if kernels[T]() == nil || size == r*lp {
				if multiplied[i] != T(old[i]*written[i]) || x < less && part[i] != written[i] {
					t.Fatalf("combine3 of %d x %d: entry (%d, %d) has other bits in a part of %d columns, or multiplied", r, cols, y, x, less)
				}
			}
			if squares[i] != T(T(a)*T(a)) || squared[i] != T(old[i]*squares[i]) {
				t.Fatalf("square1 of %d x %d: entry (%d, %d) is %v and %v", r, cols, y, x, squares[i], squared[i])
			}
		}
	}
	for n := range 70 {
		p1 := random(n)
		wide, short := make([]float64, n), nan(n+1)
		for i := range wide {
			wide[i] = rng.NormFloat64()
		}
		narrow(short, wide)
		for i, v := range wide {
			if short[i] != T(v) {
				t.Fatalf("narrow of %d: entry %d is %v, want %v", n, i, short[i], T(v))
			}
		}
		if short[n] == short[n] {
			t.Fatalf("narrow of %d wrote behind them", n)
		}
		var sums laneSums
		addMoments(p1, n, 1, n, 0.25, &sums)
		var got, want [2]float64
		got[0], got[1] = sums.total()
		for _, v := range p1 {
			want[0] += float64(v) - 0.25
			want[1] += (float64(v) - 0.25) * (float64(v) - 0.25)
		}
		for i := range got {
			if !(math.Abs(got[i]-want[i]) <= 1e-13*float64(n)) {
				t.Fatalf("moments of %d: %v, want %v", n, got, want)
			}
		}
	}
	for _, size := range [][2]int{{1, 1}, {8, 8}, {7, 9}, {64, 64}, {65, 130}, {100, 3}, {17, 200}} {
		r, c := size[0], size[1]
		ls, ld := c+rng.IntN(3), r+rng.IntN(3)
		src, dst := random(r*ls), nan(c*ld)
		transpose(dst, ld, src, ls, r, c)
		for x := range c {
			for y := range ld {
				if y >= r {
					if dst[x*ld+y] == dst[x*ld+y] {
						t.Fatalf("%v: wrote beside the matrix", size)
					}
				} else if dst[x*ld+y] != src[y*ls+x] {
					t.Fatalf("%v: entry (%d, %d)", size, x, y)
				}
			}
		}
	}
	for _, n := range []int{1, 2, 7, 8, 9, 64, 150, 400} {
		ld := n + rng.IntN(3)
		tile := random(n * ld)
		want := slices.Clone(tile)
		for y := range n {
			for x := range y {
				want[y*ld+x] = want[x*ld+y]
			}
		}
		mirrorUpper(tile, ld, n)
		if !slices.Equal(tile, want) {
			t.Fatalf("mirrorUpper of %d", n)
		}
	}
	w := panelLanes[T]()
	for range 50 {
		r, cols := 1+rng.IntN(w), 1+rng.IntN(w)
		if rng.IntN(2) == 0 {
			r, cols = w-w/4*rng.IntN(4), w-w/4*rng.IntN(4)
		}
		from, ld := rng.IntN(w-cols+1), r+rng.IntN(3)
		scale := math.Pow(2, -float64(rng.IntN(100)))
		packed, dst := random(w*w), nan((cols+1)*ld)
		for i := range packed {
			packed[i] *= T(scale)
		}
		shift := scale / 4
		var sums laneSums
		for range 2 { // they are added
			mirrorBlock(dst, ld, packed[from:], r, cols, shift, &sums)
		}
		// The reference adds in more bits. Of m = 2 r cols terms added one after
		// the other the sum is off by (m + 2) u times the sum of their magnitudes
		// at most, two roundings of the term itself included (Higham, Accuracy and
		// Stability of Numerical Algorithms, section 4.2). A kernel may subtract the
		// shifts at the end: a term's magnitude is |v| + |shift|.
		want, size := [2]*big.Float{exact(0), exact(0)}, [2]float64{}
		for x := range cols + 1 {
			for y := range ld {
				got := dst[x*ld+y]
				if x >= cols || y >= r {
					if got == got {
						t.Fatalf("mirror of %d x %d wrote beside it", r, cols)
					}
					continue
				}
				if got != packed[y*w+from+x] {
					t.Fatalf("mirror of %d x %d: entry (%d, %d)", r, cols, y, x)
				}
				d := exact(float64(got))
				d.Sub(d, exact(shift))
				square := exact(0).Mul(d, d)
				for i, term := range []*big.Float{d, square} {
					want[i].Add(want[i], term)
					want[i].Add(want[i], term)
				}
				magnitude := math.Abs(float64(got)) + shift
				size[0], size[1] = size[0]+2*magnitude, size[1]+2*magnitude*magnitude
			}
		}
		var sum [2]float64
		sum[0], sum[1] = sums.total()
		for i, w := range want {
			off, _ := exact(sum[i]).Sub(exact(sum[i]), w).Float64()
			unit := float64(2*r*cols+2) * 0x1p-53
			if i == 1 && eps == eps32 {
				unit += 12 * 0x1p-24 // squares of float32 differences, ten of them added as float32
			}
			if bound := unit * size[i]; !(math.Abs(off) <= bound) {
				t.Fatalf("mirror of %d x %d at %v: moment %d is %v, off by %.3g, %.3g allowed", r, cols, scale, i+1, sum[i], off, bound)
			}
		}
	}
	for _, wires := range [][2]int{{1, 0}, {0, 1}, {3, 2}, {9, 9}} {
		for _, n := range []int{1, 2, 3, 4, 5, w - 3, w} {
			k := 2*wires[0] + 3*wires[1]
			from := rng.IntN(w - n + 1)
			rows, cols := append(random(k*w), nan(maxLanes)...), random(k*w)
			ld := w + rng.IntN(3)
			down := (n + 3) / 4 * 4 // rows that may be written
			out := nan((down + 1) * ld)
			packed := nan(w * w)
			factors(out, ld, packed, rows[from:], cols, n, wires[0], wires[1], packed, 0)
			for y := range down + 1 {
				for x := range ld {
					got := float64(out[y*ld+x])
					if x >= w || y >= down {
						if got == got {
							t.Fatalf("factors %v of %d rows wrote beside them: (%d, %d)", wires, n, y, x)
						}
						continue
					}
					if y >= n {
						continue
					}
					want, at := 1.0, 0
					for q := range wires[0] + wires[1] {
						axes := 2
						if q >= wires[0] {
							axes = 3
						}
						s := 0.0
						for range axes {
							d := float64(cols[at*w+x]) - float64(rows[at*w+from+y])
							s += d * d
							at++
						}
						want *= 1 - s
					}
					if float64(packed[y*w+x]) != got {
						t.Fatalf("factors %v of %d rows: (%d, %d) is %v packed and %v", wires, n, y, x, packed[y*w+x], got)
					}
					if !(math.Abs(got-want) <= 50*eps) {
						t.Fatalf("factors %v of %d rows: (%d, %d) is %v, want %v", wires, n, y, x, got, want)
					}
				}
			}
		}
	}
}

// exact converts v to more bits than a sum of tiles needs.
func exact(v float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(v) }

// TestProductAccuracy: the closed form keeps the stated bound at any number of
// qubits, for samples near each other (where K is large) and far, and is as near
// as roundings can be expected to come: those of q factors add up as a random walk
// of 0.4 sqrt(q) units, one standard deviation, measured, where samples are
// close; with Double's as much again and more in the reference. Eight standard
// deviations are allowed.
func TestProductAccuracy(t *testing.T) {
	rng := testrand.New(t)
	onCPU(t)
	for _, q := range []int{4, 64, 1000} {
		for _, spread := range []float64{1e-3, 1 / math.Sqrt(float64(q)), 1} {
			const n = 40
			x := make([][]float64, n)
			for i := range x {
				x[i] = make([]float64, q)
				for f := range x[i] {
					x[i][f] = 1 + spread*rng.NormFloat64()
				}
			}
			for _, o := range []Options{{}, {Precision: Double}} {
				walk := 0x1p-24 * (4 + 3*math.Sqrt(float64(q)))
				if o.Precision == Double {
					walk = 0x1p-53 * (8 + 9*math.Sqrt(float64(q)))
				}
				bound := min(walk, o.Precision.diagonalBound())
				r := poisoned(t, ZFeatureMap(q, 1), x, nil, q, o)
				k := values(t, r.K)
				for i := range n {
					for j := range n {
						// H, P(2a) against H, P(2b): cos^2 (a - b)
						want := 1.0
						for f := range q {
							c := math.Cos(x[i][f] - x[j][f])
							want *= c * c
						}
						if d := math.Abs(k[i*n+j] - want); !(d <= bound) {
							t.Fatalf("%d qubits, spread %v, %v: K[%d, %d] is %v, want %v within %.2g", q, spread, o.Precision, i, j, k[i*n+j], want, bound)
						}
					}
				}
			}
		}
	}
}

// FuzzCircuit builds circuits from bytes: every one compiles, or says why not,
// and gives the kernel of the gates as written.
func FuzzCircuit(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18})
	f.Add([]byte{11, 0, 1, 10, 1, 5, 11, 0, 1, 7, 2, 9, 18, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		onCPU(t)
		const q, features = 4, 2
		c := NewCircuit(q)
		for i := 0; i+3 < len(b) && i < 120; i += 4 {
			k := gateKind(int(b[i]) % len(gateNames))
			g := gate{kind: k, a: int(b[i+1]) % q, b: -1}
			if k >= gateCX {
				g.b = (g.a + 1 + int(b[i+2])%(q-1)) % q
			}
			if k.hasAngle() {
				g.angle = [...]Angle{Feature(0), Feature(1), Feature(0).Mul(Feature(1)), Const(math.Pi), Const(float64(b[i+3])), Feature(0).Scale(-1)}[int(b[i+3])%6]
			}
			c.add(callsite.Here(), g)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		x := randomSamples(rng, 3, features)
		for _, path := range []Path{Auto, General} {
			r := poisoned(t, c, x, nil, features, Options{Precision: Double, Path: path})
			if w := worst(values(t, r.K), referenceGram(c, x, x)); !(w <= 1e-12) {
				t.Fatalf("%v: off by %v\n%v", path, w, c)
			}
		}
	})
}
