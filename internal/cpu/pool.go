package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Pool is a pooling of a ragged batch: a line for each sequence, with the mean of its rows
// or its first row. If Normalize is set, the line is divided by the larger of its length
// and 1e-12. Sums are float64 and rounded once, to float64 if Type is, otherwise to
// float32. A sequence without rows gives zeros.
type Pool struct {
	Type             dtype.DType
	X, Dst           unsafe.Pointer // Dst is dense
	Pitch, N         int            // Pitch: elements from one row of X to the next
	Offsets          []int32        // checked
	First, Normalize bool
}

// Run computes the lines.
func (p *Pool) Run() {
	if p.Type == dtype.Float64 {
		poolLines[float64, float64](p)
	} else {
		poolLines[float32, float32](p)
	}
}

// poolLines computes rows as T, and results of type R.
func poolLines[T, R floating](p *Pool) {
	batch, total := len(p.Offsets)-1, int(p.Offsets[len(p.Offsets)-1])
	load, size := lineLoader(p.Type), p.Type.Size()
	dst := unsafe.Slice((*R)(p.Dst), batch*p.N)
	each := max(total*p.N/max(batch, 1), 1) // approximate elements per sequence
	Parallel(batch, max(minPart/each, 1), func(lo, hi int) {
		row, sum := make([]T, p.N), make([]float64, p.N)
		for i := lo; i < hi; i++ {
			from, to := int(p.Offsets[i]), int(p.Offsets[i+1])
			if p.First {
				to = min(to, from+1)
			}
			clear(sum)
			for r := from; r < to; r++ {
				load(at0(row), unsafe.Add(p.X, r*p.Pitch*size), size, p.N)
				for j, v := range row {
					sum[j] += float64(v)
				}
			}
			line := dst[i*p.N : (i+1)*p.N]
			scale := poolScale(sum, to-from, p.Normalize)
			for j, v := range sum {
				line[j] = R(v / scale)
			}
		}
	})
}

// poolScale turns sums of `rows` rows into means, and returns their divisor.
func poolScale(sum []float64, rows int, normalize bool) float64 {
	for j := range sum {
		if rows > 1 {
			sum[j] /= float64(rows)
		}
	}
	if !normalize {
		return 1
	}
	squares := 0.0
	for _, v := range sum {
		squares += float64(v * v)
	}
	return max(math.Sqrt(squares), 1e-12)
}
