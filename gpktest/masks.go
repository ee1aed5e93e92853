package gpktest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testMasks compares MaskedSelect, IndexSelect with a mask, Nonzero and MaskedSet with loops, for masks whose lengths are
// near those of a GPU's tiles (8,192 elements), with few, many or no true elements, and that begin at any element. In the
// mask of the largest length, one block of a GPU sums the counts of its tiles in more than one round.
func testMasks(t *testing.T, s *suite) {
	for _, n := range []int{1, 31, 32, 33, 8191, 8192, 8193, 24_577, 100_003} {
		for _, share := range []float64{0, 0.001, 0.5, 1} {
			for _, dt := range []gpk.DType{gpk.Uint8, gpk.Float16, gpk.Float32, gpk.Complex64, gpk.Complex128} {
				s.longSelect(t, dt, n, share)
			}
			s.nonzeroOf(t, []int{n}, share)
		}
	}
	s.nonzeroOf(t, []int{17, 1, 31, 29}, 0.5)
	s.nonzeroOf(t, []int{2, 3, 1, 5, 2, 7, 2, 3, 3}, 0.3) // more axes than a GPU's kernel accepts
	s.longSelect(t, gpk.Float32, rounds(2048*8192+8192+77, 300_007), 0.5)
}

// mask returns a mask with a share of true elements, and their indices.
func (s *suite) mask(share float64, shape ...int) (m tensor, places []int) {
	m = tensor{dt: gpk.Bool, shape: shape, ints: make([]int64, size(shape))}
	for i := range m.ints {
		if share == 1 || s.rng.Float64() < share {
			m.ints[i], places = 1, append(places, i)
		}
	}
	return m, places
}

func (s *suite) longSelect(t *testing.T, dt gpk.DType, n int, share float64) {
	t.Helper()
	m, places := s.mask(share, n)
	x := s.random(dt, n)
	want := x.permutedTo([]int{len(places)}, places)
	what := fmt.Sprintf(" of %d %v, %v of them", n, dt, share)
	a, mask := shifted(x, s.rng.IntN(4)), shifted(m, s.rng.IntN(20))
	sameElements(t, "MaskedSelect"+what, s.intoShifted(t, a.MaskedSelect(mask), s.rng.IntN(4)), want)
	sameElements(t, "IndexSelect"+what, evaluate(t, a.IndexSelect(mask, 0)), want)
	back := a.Clone()
	noError(t, back.MaskedSet(mask, a.MaskedSelect(mask)))
	sameElements(t, "MaskedSet"+what, read(t, back), x)
}

func (s *suite) nonzeroOf(t *testing.T, shape []int, share float64) {
	t.Helper()
	m, _ := s.mask(share, shape...)
	want := make([][]int64, len(shape))
	index(shape, func(ix []int) {
		if m.ints[at(shape, ix)] != 0 {
			for d, i := range ix {
				want[d] = append(want[d], int64(i))
			}
		}
	})
	for i, a := range []*gpk.Array{shifted(m, s.rng.IntN(20)), m.array().Cast(gpk.Float32).Neg(), s.arranged(m)} {
		got := a.Nonzero()
		for d := range shape {
			sameInts(t, fmt.Sprintf("Nonzero of %v, %v of them, array %d, axis %d", shape, share, i, d), read(t, got[d]).ints, want[d])
		}
	}
}

// testDistinct compares Unique with a loop for long arrays of few or many kinds, with zeros of both signs and NaNs with
// different bits, of which Unique returns the first.
func testDistinct(t *testing.T, s *suite) {
	for _, n := range []int{1, 2, 8192, 8193, 8194, 50_001} {
		for _, kinds := range []int{1, 2, 100, 1 << 30} {
			list := make([]uint32, n)
			for i := range list {
				v := s.rng.IntN(kinds)
				switch {
				case v == 0:
					list[i] = uint32(s.rng.IntN(2)) << 31 // a zero
				case v == 1:
					list[i] = uint32(s.rng.IntN(2))<<31 | 0x7fc00000 | uint32(s.rng.IntN(1<<20))
				default:
					list[i] = 0x3f800000 + uint32(v)%0x40000000
				}
			}
			firsts, want := map[uint32]bool{}, []uint32{}
			for _, v := range list {
				kind := v
				if v<<1 == 0 {
					kind = 0
				}
				if v<<1 > 0x7f800000<<1 {
					kind = 0x7fc00000
				}
				if !firsts[kind] {
					firsts[kind], want = true, append(want, v)
				}
			}
			// Numbers are positive, so their bits are in their order. Zero is first, NaN is last.
			slices.SortFunc(want, func(p, q uint32) int { return int(p<<1>>1) - int(q<<1>>1) })
			got, err := gpk.ToSlice[float32](floatsOf(list, s.rng.IntN(4)).Unique())
			noError(t, err)
			if len(got) != len(want) {
				t.Fatalf("Unique of %d elements of %d kinds: %d, want %d", n, kinds, len(got), len(want))
			}
			for i, v := range got {
				if bits := math.Float32bits(v); bits != want[i] {
					t.Fatalf("Unique of %d elements of %d kinds: element %d has bits %08x, want %08x", n, kinds, i, bits, want[i])
				}
			}
		}
	}
}

// floatsOf returns an array of numbers with the given bits, which begins at an element of a larger one.
func floatsOf(bits []uint32, at int) *gpk.Array {
	list := make([]float32, at+len(bits))
	for i, v := range bits {
		list[at+i] = math.Float32frombits(v)
	}
	return gpk.FromSlice(list).Slice(0, at, len(list))
}
