package main

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
)

const (
	statisticsColumns = 8
	statisticsBins    = 64
)

// statisticsProgram reads a .npy file and describes its columns. The counts of
// the histogram are exact on both sides.
var statisticsProgram = userProgram{
	name: "statistics", types: []string{"fp32"}, size: 1 << 17, bound32: 2e-6, bound64: 1e-13,
	outputs: []string{"moments", "quartiles", "counts"},
	shape: func(n int) string {
		return fmt.Sprintf("rows=%d/columns=%d/bins=%d", n, statisticsColumns, statisticsBins)
	},
	make: func(p precision, n int) task {
		table := centred(1, n*statisticsColumns)
		for i, v := range table {
			table[i] = p.round(v * v * v)
		}
		path, err := temporaryFile(upload(p.dtype, values{re: table}, n, statisticsColumns))
		return task{
			file: path,
			err:  err,
			run:  func() []*gpk.Array { return describe(path) },
			want: func() [][]float64 { return wantStatistics(table, n) },
		}
	},
	body: []string{"describe"},
}

// temporaryFile writes a to a new .npy file and frees it.
func temporaryFile(a *gpk.Array) (path string, err error) {
	defer a.Free()
	f, err := os.CreateTemp("", "gpk-statistics-*.npy")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return f.Name(), npy.Write(f, a)
}

func describe(path string) []*gpk.Array {
	x := npy.Load(path)
	moments := gpk.Stack(0, x.Mean(0), x.Std(0), x.Min(0), x.Max(0))
	quartiles := x.Quantiles([]float64{0.25, 0.5, 0.75}, 0)
	counts, _ := x.Histogram(statisticsBins, -1, 1)
	return []*gpk.Array{moments, quartiles, counts}
}

func wantStatistics(x []float64, n int) [][]float64 {
	const d = statisticsColumns
	moments, quartiles, counts := make([]float64, 4*d), make([]float64, 3*d), make([]float64, statisticsBins)
	for c := range d {
		column, mean, variance := make([]float64, n), 0.0, 0.0
		for i := range column {
			column[i] = x[i*d+c]
			mean += column[i] / float64(n)
			// The edges are exact, and no element is 1.
			counts[int(math.Floor((column[i]+1)/2*statisticsBins))]++
		}
		for _, v := range column {
			variance += (v - mean) * (v - mean) / float64(n)
		}
		slices.Sort(column)
		for i, v := range []float64{mean, math.Sqrt(variance), column[0], column[n-1]} {
			moments[i*d+c] = v
		}
		for i := range 3 {
			at, part := math.Modf(float64(i+1) / 4 * float64(n-1))
			low, high := column[int(at)], column[min(int(at)+1, n-1)]
			quartiles[i*d+c] = low + part*(high-low)
		}
	}
	return [][]float64{moments, quartiles, counts}
}
