package cpu

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestOverlaps compares squared overlaps with sums in float64, for every variant,
// whole and above the diagonal: every pair is computed once.
func TestOverlaps(t *testing.T) {
	most := packedMost
	defer func() { packedMost = most }()
	for _, packedMost = range []int{40 << 10, most} { // 700 elements of some in parts
		least := 0
		if packedMost < most && !testing.Short() {
			least = 300
		}
		testVariants(t, least)
		if testing.Short() {
			break
		}
	}
}

// testVariants tests all variants with vectors of at least `least` elements.
func testVariants(t *testing.T, least int) {
	t.Helper()
	for _, v := range variants32 {
		use := use32
		use32 = v
		testOverlaps[float32](t, v.name, 0x1p-24, least)
		use32 = use
	}
	for _, v := range variants64 {
		use := use64
		use64 = v
		testOverlaps[float64](t, v.name, 0x1p-53, least)
		use64 = use
	}
}

func testOverlaps[T float32 | float64](t *testing.T, name string, unit float64, least int) {
	t.Helper()
	rng := testrand.New(t)
	for _, s := range [][3]int{{1, 1, 1}, {13, 33, 2}, {70, 70, 16}, {60, 150, 300}, {90, 70, 64}, {30, 40, 700}} {
		m, n, k := s[0], s[1], s[2]
		if k < least {
			continue
		}
		for i, complex := range []bool{false, true, false, true} {
			chain := i / 2 * 64
			for _, upper := range []bool{false, true} {
				ld := 2*k + rng.IntN(3)
				a, b := make([]T, m*ld+2*k), make([]T, n*ld+2*k)
				for _, x := range [][]T{a, b} {
					for i := range x {
						x[i] = T(rng.NormFloat64())
					}
				}
				x, y := Vectors[T]{Re: &a[0], LD: ld}, Vectors[T]{Re: &b[0], LD: ld}
				if complex {
					x.Im, y.Im = &a[k], &b[k]
				}
				run := func() []T {
					out := make([]T, m*n)
					for i := range out {
						out[i] = T(math.NaN())
					}
					var mu sync.Mutex
					Overlaps(m, n, k, x, y, upper, chain, func(o OverlapPart[T]) {
						mu.Lock()
						defer mu.Unlock()
						for i := range o.Rows {
							for j := range o.Cols {
								d := &out[(o.Row+i)*n+o.Col+j]
								if *d == *d {
									t.Errorf("%s %v: pair (%d, %d) twice", name, s, o.Row+i, o.Col+j)
								}
								p := func(z int) T { return o.P[z][i*o.LD+j] }
								*d = p(0) * p(0)
								if complex {
									re, im := p(0)+p(1), p(2)-p(0)+p(1)
									*d = re*re + im*im
								}
							}
						}
					})
					return out
				}
				out := run()
				for i := range m {
					for j := range n {
						if upper && j < i {
							continue
						}
						var re, im, size float64
						for p := range k {
							xr, yr := float64(a[i*ld+p]), float64(b[j*ld+p])
							re += xr * yr
							size += math.Abs(xr * yr)
							if complex {
								xi, yi := float64(a[i*ld+k+p]), float64(b[j*ld+k+p])
								re += xi * yi
								im += xi*yr - xr*yi
								size += math.Abs(xi*yi) + math.Abs(xi*yr) + math.Abs(xr*yi)
							}
						}
						want := re*re + im*im
						bound := 8 * float64(k+8) * unit * size * (size + math.Sqrt(want))
						if d := math.Abs(float64(out[i*n+j]) - want); !(d <= bound) {
							t.Fatalf("%s %v, complex %v, upper %v: pair (%d, %d) is %v, want %v within %.2g", name, s, complex, upper, i, j, out[i*n+j], want, bound)
						}
					}
				}
				procs := runtime.GOMAXPROCS(5)
				again := run()
				runtime.GOMAXPROCS(procs)
				if !slices.EqualFunc(wanted(out, upper, n), wanted(again, upper, n), func(x, y T) bool { return x == y }) {
					t.Fatalf("%s %v: other bits with other goroutines", name, s)
				}
			}
		}
	}
}

// wanted returns the elements that Overlaps must write.
func wanted[T any](v []T, upper bool, n int) (out []T) {
	for i, x := range v {
		if !upper || i%n >= i/n {
			out = append(out, x)
		}
	}
	return out
}

// TestOverlapStretches has more columns than a stretch holds. Every wanted pair appears
// exactly once, with the bits that it has when all pairs are computed.
func TestOverlapStretches(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, s := range []struct{ m, n, k, sums int }{{301, 301, 33000, 1}, {300, 523, 11100, 3}, {530, 290, 11100, 3}} {
		vectors := func(count int) Vectors[float32] {
			d := make([]float32, count*2*s.k)
			for i := range d {
				d[i] = rng.Float32() - .5
			}
			v := Vectors[float32]{Re: &d[0], LD: 2 * s.k}
			if s.sums == 3 {
				v.Im = &d[s.k]
			}
			return v
		}
		a, b := vectors(s.m), vectors(s.n)
		run := func(upper bool) ([]float32, []int) {
			out, seen := make([]float32, s.m*s.n*3), make([]int, s.m*s.n)
			var mu sync.Mutex
			Overlaps(s.m, s.n, s.k, a, b, upper, 0, func(o OverlapPart[float32]) {
				mu.Lock()
				defer mu.Unlock()
				for y := range o.Rows {
					for x := range o.Cols {
						at := (o.Row+y)*s.n + o.Col + x
						seen[at]++
						for z := range s.sums {
							out[at*3+z] = o.P[z][y*o.LD+x]
						}
					}
				}
			})
			return out, seen
		}
		whole, all := run(false)
		half, some := run(true)
		for at := range all {
			i, j := at/s.n, at%s.n
			if all[at] != 1 || some[at] > 1 || j >= i && some[at] != 1 {
				t.Fatalf("%+v: pair (%d, %d) comes %d times of all, %d times of half", s, i, j, all[at], some[at])
			}
			if some[at] == 1 && !slices.Equal(whole[at*3:at*3+3], half[at*3:at*3+3]) {
				t.Fatalf("%+v: pair (%d, %d) is %v of all, %v of half", s, i, j, whole[at*3:at*3+3], half[at*3:at*3+3])
			}
		}
	}
}
