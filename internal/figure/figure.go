// Package figure has what the drawings of the benchmark and of the command line share: a
// palette that colour-blind people can distinguish, and ticks of logarithmic axes.
package figure

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Colors are those of Okabe and Ito, "Color Universal Design" (2008), with wine in place of
// the yellow, which is hard to see on white.
var Colors = [...]color.RGBA{
	{0xD5, 0x5E, 0x00, 0xFF}, // vermilion
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0x00, 0x9E, 0x73, 0xFF}, // bluish green
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0xCC, 0x79, 0xA7, 0xFF}, // reddish purple
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0x00, 0x00, 0x00, 0xFF}, // black
	{0x88, 0x22, 0x55, 0xFF}, // wine, of Tol's palette
}

// Color returns color i, counted round.
func Color(i int) color.RGBA { return Colors[i%len(Colors)] }

// LogTicks marks an axis of logarithms: powers of ten, and on less than three decades 2 and 5
// times these too, have labels.
type LogTicks struct{}

// Ticks implements plot.Ticker.
func (LogTicks) Ticks(low, high float64) []plot.Tick {
	if !(low > 0) || !(high > low) || math.IsInf(high, 1) {
		return nil
	}
	few := math.Log10(high/low) < 3
	var out []plot.Tick
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for m := 1; m < 10; m++ {
			// From decimal text, so that 0.3 is not 0.30000000000000004.
			v, err := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(int(decade)), 64)
			if err != nil || v < low*(1-1e-12) || v > high*(1+1e-12) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(v, 'g', -1, 64)
			}
			out = append(out, t)
		}
	}
	return out
}

// LogRange returns the ends of an axis: numbers of the form 1, 2 or 5 times a power of ten
// that enclose low and high.
func LogRange(low, high float64) (from, to float64) {
	return step(low, math.Floor), step(high, math.Ceil)
}

// step rounds v > 0 to 1, 2 or 5 times a power of ten, down or up.
func step(v float64, round func(float64) float64) float64 {
	decade := math.Floor(math.Log10(v))
	best := math.NaN()
	for d := decade - 1; d <= decade+1; d++ {
		for _, m := range []float64{1, 2, 5} {
			x := m * math.Pow(10, d)
			down := round(0.5) == 0
			if down && x <= v*(1+1e-12) || !down && x >= v*(1-1e-12) && math.IsNaN(best) {
				best = x
			}
		}
	}
	return best
}
