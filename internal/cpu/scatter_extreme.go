package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// ScatterExtreme copies X to Dst. Then, for each i, it writes op of row Indices[i] of Dst and row i of Values to that row
// of Dst. op is Maximum or Minimum, element by element: a NaN in either operand gives NaN, and 0 is larger than -0.
// Negative indices count from the end. All indices must be in range. Half types are not supported.
func ScatterExtreme(op expr.Op, c ScatterCall) error {
	switch c.DType {
	case dtype.Float32:
		scatterExtremes[float32](op, &c)
	case dtype.Float64:
		scatterExtremes[float64](op, &c)
	default:
		k := wholeOf(c.DType)
		if k == nil {
			return unsupported(op, c.DType)
		}
		k.scatterExtreme(op, &c)
	}
	return nil
}

// scatterExtreme is ScatterExtreme for T.
func (ints[T]) scatterExtreme(op expr.Op, c *ScatterCall) { scatterExtremes[T](op, c) }

// scatterExtremes divides the columns among goroutines, each of which reads all indices.
func scatterExtremes[T number](op expr.Op, c *ScatterCall) {
	write, extremes := scatterExtremesAt[T, int64], maximums[T]
	if c.Index == dtype.Int32 {
		write = scatterExtremesAt[T, int32]
	}
	if op == expr.Minimum {
		extremes = minimums[T]
	}
	x, dst := unsafe.Slice((*T)(c.X), c.N*c.Width), unsafe.Slice((*T)(c.Dst), c.N*c.Width)
	Parallel((c.Width+scatterLine-1)/scatterLine, 1+minPart/max(1, c.Count*scatterLine), func(lo, hi int) {
		first, width := lo*scatterLine, min(hi*scatterLine, c.Width)-lo*scatterLine
		rows, length := c.runs(width)
		for r := range rows {
			copy(dst[r*c.Width+first:][:length], x[r*c.Width+first:])
		}
		if c.Width == 1 {
			scatterExtremeElements(op, dst, c)
			return
		}
		write(c, first, width, extremes)
	})
}

// scatterExtremesAt computes the columns first to first+width-1 of ScatterExtreme. extremes is op on n adjacent
// elements.
func scatterExtremesAt[T number, I int32 | int64](c *ScatterCall, first, width int, extremes func(dst, x, y unsafe.Pointer, n int)) {
	dst, values := unsafe.Slice((*T)(c.Dst), c.N*c.Width), unsafe.Slice((*T)(c.Values), c.Count*c.Width)
	for i, v := range unsafe.Slice((*I)(c.Indices), c.Count) {
		to := at0(dst[place(v, c.N)*c.Width+first:][:width])
		extremes(to, to, at0(values[i*c.Width+first:][:width]), width)
	}
}

// scatterExtremeElements is scatterExtremesAt for rows of one element, which are compared without a call.
func scatterExtremeElements[T number](op expr.Op, dst []T, c *ScatterCall) {
	if c.Index == dtype.Int32 {
		extremeElements(op, dst, unsafe.Slice((*int32)(c.Indices), c.Count), unsafe.Slice((*T)(c.Values), c.Count))
	} else {
		extremeElements(op, dst, unsafe.Slice((*int64)(c.Indices), c.Count), unsafe.Slice((*T)(c.Values), c.Count))
	}
}

func extremeElements[T number, I int32 | int64](op expr.Op, dst []T, indices []I, values []T) {
	values = values[:len(indices)]
	if op == expr.Minimum {
		for i, v := range indices {
			p := &dst[place(v, len(dst))]
			*p = min(*p, values[i])
		}
		return
	}
	for i, v := range indices {
		p := &dst[place(v, len(dst))]
		*p = max(*p, values[i])
	}
}
