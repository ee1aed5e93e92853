package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gpk-go/gpk"
)

// worstElement returns the largest relative error of an element: |got - want| divided by
// the larger of |want| and the root mean square of want. The exponentials of normal data
// reach hundreds of root mean squares, and the rounding error of such an element is
// relative to itself.
func worstElement(got, want []float64) float64 {
	squares := 0.0
	for _, w := range want {
		squares += w * w
	}
	rms, worst := math.Sqrt(squares/float64(max(1, len(want)))), 0.0
	for i, w := range want {
		if d := math.Abs(got[i] - w); d > 0 || math.IsNaN(d) {
			if q := d / max(rms, math.Abs(w)); q > worst || math.IsNaN(q) { // once worst is NaN, it stays NaN
				worst = q
			}
		}
	}
	return worst
}

// sampleLines picks lines to check, in ascending order.
func sampleLines(seed uint64, lines int) []int {
	if lines <= maxRows {
		picked := make([]int, lines)
		for i := range picked {
			picked[i] = i
		}
		return picked
	}
	r := rand.New(rand.NewPCG(seed, 1<<62))
	picked := []int{0, lines - 1}
	for len(picked) < maxRows {
		picked = append(picked, r.IntN(lines))
	}
	slices.Sort(picked)
	return slices.Compact(picked)
}

// sampledLines reads lines of out along its first dimension.
func sampledLines(out *gpk.Array, picked []int) (values, error) {
	if out.NDim() == 0 {
		return download(out)
	}
	var v values
	for _, i := range picked {
		line, err := download(out.Slice(0, i, i+1))
		if err != nil {
			return values{}, fmt.Errorf("line %d: %w", i, err)
		}
		v.re = append(v.re, line.re...)
	}
	return v, nil
}
