package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.in, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v, want NaN", got)
	}
}

// countedP returns the two-sided p-value by going through every way to choose len(x) of
// the values: slow and plain.
func countedP(x, y []float64) float64 {
	all := append(append([]float64{}, x...), y...)
	// u counts the pairs in which the chosen value is greater, ties as half.
	u := func(chosen func(i int) bool) float64 {
		s := 0.0
		for i, a := range all {
			for j, b := range all {
				if chosen(i) && !chosen(j) {
					if a > b {
						s++
					} else if a == b {
						s += 0.5
					}
				}
			}
		}
		return s
	}
	seen := u(func(i int) bool { return i < len(x) })
	var low, high, total float64
	for mask := range 1 << len(all) {
		n := 0
		for i := range all {
			n += mask >> i & 1
		}
		if n != len(x) {
			continue
		}
		v := u(func(i int) bool { return mask>>i&1 == 1 })
		total++
		if v <= seen {
			low++
		}
		if v >= seen {
			high++
		}
	}
	return min(1, 2*min(low, high)/total)
}

func TestUTestAgainstCounting(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		draw := func(n int) []float64 {
			s := make([]float64, n)
			for i := range s {
				s[i] = float64(r.IntN(6)) // ties are common
			}
			return s
		}
		x, y := draw(1+r.IntN(5)), draw(1+r.IntN(5))
		if got, want := uTest(x, y), countedP(x, y); math.Abs(got-want) > 1e-12 {
			t.Errorf("p of %v and %v is %v, want %v", x, y, got, want)
		}
	}
}

func TestUTestKnown(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		{[]float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 2.0 / 70},
		{[]float64{1, 2, 3}, []float64{4, 5, 6, 7}, 2.0 / 35},
		{[]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1},
		{nil, []float64{1}, 1},
	} {
		if got := uTest(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("p of %v and %v is %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// TestUTestLarge checks that above exactLimit the normal approximation is used, and that
// it agrees with the exact test there.
func TestUTestLarge(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, 50), make([]float64, 51)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for i := range y {
		y[i] = r.NormFloat64() + 0.4
	}
	exact, approximate := uTest(x, y[:50]), uTest(x, y)
	if exact < 1e-4 || exact > 0.5 || math.Abs(exact-approximate) > 0.3*exact {
		t.Errorf("p is %v exactly with 50 values, %v approximately with 51", exact, approximate)
	}
	same := make([]float64, 60)
	if p := uTest(same, same); p != 1 {
		t.Errorf("p of 120 equal values is %v, want 1", p)
	}
}
