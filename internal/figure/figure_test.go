package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"testing"
)

// TestLogTicks: every decade has a label, and few decades have at least three.
func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0.6, 7, []string{"1", "2", "5"}},
		{1, 1000, []string{"1", "10", "100", "1000"}},
		{1e-13, 1e-3, []string{"1e-13", "1e-12", "1e-11", "1e-10", "1e-09", "1e-08", "1e-07", "1e-06", "1e-05", "0.0001", "0.001"}},
		{0.2, 0.5, []string{"0.2", "0.5"}},
		{0, 1, nil},
		{2, 2, nil},
	} {
		var got []string
		for _, k := range (LogTicks{}).Ticks(c.low, c.high) {
			if k.Value < c.low || k.Value > c.high {
				t.Errorf("[%g, %g]: a tick at %g", c.low, c.high, k.Value)
			}
			if k.Label != "" {
				got = append(got, k.Label)
				if v, err := strconv.ParseFloat(k.Label, 64); err != nil || v != k.Value {
					t.Errorf("%g is labelled %s", k.Value, k.Label)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("[%g, %g]: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestLogRange(t *testing.T) {
	for _, c := range [][4]float64{{0.6, 7, 0.5, 10}, {1, 1, 1, 1}, {1.5e-9, 2.5e3, 1e-9, 5e3}, {99, 101, 50, 200}} {
		from, to := LogRange(c[0], c[1])
		if math.Abs(from/c[2]-1) > 1e-9 || math.Abs(to/c[3]-1) > 1e-9 {
			t.Errorf("[%g, %g]: [%g, %g], want [%g, %g]", c[0], c[1], from, to, c[2], c[3])
		}
	}
}

// TestColors: the colors differ in lightness or hue also for a dichromat (deuteranopia, by
// the matrix of Viénot, Brettel and Mollon 1999).
func TestColors(t *testing.T) {
	seen := func(c color.RGBA) [3]float64 {
		linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
		r, g, b := linear(c.R), linear(c.G), linear(c.B)
		rg := 0.29275*r + 0.70725*g
		display := func(v float64) float64 { return math.Pow(max(v, 0), 1/2.2) * 255 }
		return [3]float64{display(rg), display(rg), display(-0.02234*r + 0.02234*g + b)}
	}
	for i, c := range Colors {
		for j := range i {
			a, b := seen(c), seen(Colors[j])
			if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < 30 {
				t.Errorf("colors %d and %d are %.0f apart", i, j, d)
			}
		}
	}
}
