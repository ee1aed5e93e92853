package cpu

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// ScatterCall is one ScatterAdd or ScatterExtreme. All arrays are dense.
type ScatterCall struct {
	DType          dtype.DType // type of X, Values and Dst
	Index          dtype.DType // Int32 or Int64
	N, Width       int         // rows of X and Dst, and elements of a row
	Count          int         // indices, and rows of Values
	Indices        unsafe.Pointer
	Values, X, Dst unsafe.Pointer
}

// ScatterAdd writes X to Dst, and adds row i of Values to row Indices[i]; negative indices count
// from the end. Each element is the sum of one of X and the values in the order of the indices,
// however many goroutines add. float32 is added in float64. For float64 a second sum collects the
// rounding errors (Neumaier, Zeitschrift für Angewandte Mathematik und Mechanik 54 (1974) 39).
// Real and imaginary parts are added separately. Integers wrap around. If an index is out of range,
// ScatterAdd writes nothing, and outside is the result of CheckIndices.
func ScatterAdd(c ScatterCall) (outside [2]int64, err error) {
	if c.DType.IsComplex() {
		c.DType, c.Width = c.DType.Real(), 2*c.Width
	}
	var ok bool
	switch c.DType {
	case dtype.Float32:
		ok = scatterOf(&c, scatterSums[float32, float64, int32], scatterSums[float32, float64, int64])
	case dtype.Float64:
		ok = scatterOf(&c, scatterCompensated[int32], scatterCompensated[int64])
	case dtype.Int8, dtype.Uint8:
		ok = scatterOf(&c, scatterSums[uint8, uint8, int32], scatterSums[uint8, uint8, int64])
	case dtype.Int16, dtype.Uint16:
		ok = scatterOf(&c, scatterSums[uint16, uint16, int32], scatterSums[uint16, uint16, int64])
	case dtype.Int32, dtype.Uint32:
		ok = scatterOf(&c, scatterSums[uint32, uint32, int32], scatterSums[uint32, uint32, int64])
	case dtype.Int64, dtype.Uint64:
		ok = scatterOf(&c, scatterSums[uint64, uint64, int32], scatterSums[uint64, uint64, int64])
	default:
		return outside, unsupported("ScatterAdd", c.DType)
	}
	if !ok {
		outside = CheckIndices(c.Index, []int{c.Count}, c.N, c.Indices, []int{1})
	}
	return outside, nil
}

const (
	scatterLine = 16      // columns, a cache line of float32, that one goroutine adds at least
	scatterRoom = 1 << 16 // sums that stay in the cache
)

// scatterOf divides the columns among goroutines, each of which reads all indices. A part has so few
// columns that their sums stay in the cache. If an index is out of range, the functions of64 and of32
// return false before they write an element.
func scatterOf[A any](c *ScatterCall, of32, of64 func(c *ScatterCall, sums []A, first, width int) bool) bool {
	of := of64
	if c.Index == dtype.Int32 {
		of = of32
	}
	columns := max(scatterLine, scatterRoom/max(1, c.N)&^(scatterLine-1))
	var failed atomic.Bool
	Parallel((c.Width+scatterLine-1)/scatterLine, 1+minPart/max(1, c.Count*scatterLine), func(lo, hi int) {
		for lo, hi = lo*scatterLine, min(hi*scatterLine, c.Width); lo < hi && !failed.Load(); lo += columns {
			width := min(columns, hi-lo)
			var a A
			room := NewScratch[float64]((c.N*width*int(unsafe.Sizeof(a)) + 7) / 8)
			if !of(c, unsafe.Slice((*A)(at0(room.Data())), c.N*width), lo, width) {
				failed.Store(true)
			}
			room.Free()
		}
	})
	return !failed.Load()
}

// runs returns the contiguous runs of some columns in a dense array: all rows are one run if the columns
// are whole rows. A loop over rows of one element would take longer than the additions.
func (c *ScatterCall) runs(width int) (count, length int) {
	if width == c.Width {
		return 1, c.N * width
	}
	return c.N, width
}

// scatterSums adds the columns from first on in the type A.
func scatterSums[T, A uint8 | uint16 | uint32 | uint64 | float32 | float64, I int32 | int64](c *ScatterCall, sums []A, first, width int) bool {
	x, dst := unsafe.Slice((*T)(c.X), c.N*c.Width), unsafe.Slice((*T)(c.Dst), c.N*c.Width)
	indices, values := unsafe.Slice((*I)(c.Indices), c.Count), unsafe.Slice((*T)(c.Values), c.Count*c.Width)
	rows, length := c.runs(width)
	for r := range rows {
		to := sums[r*length:][:length]
		for i, v := range x[r*c.Width+first:][:length] {
			to[i] = A(v)
		}
	}
	if !scatterColumns(sums, values, indices, c.N, c.Width, first, width) {
		return false
	}
	for r := range rows {
		to := dst[r*c.Width+first:][:length]
		for i, v := range sums[r*length:][:length] {
			to[i] = T(v)
		}
	}
	return true
}

// scatterColumns adds width columns of each row of values to the row of sums that its index names.
func scatterColumns[T, A uint8 | uint16 | uint32 | uint64 | float32 | float64, I int32 | int64](sums []A, values []T, indices []I, n, pitch, first, width int) bool {
	if pitch == 1 {
		return scatterElements(sums, values, indices)
	}
	for i, v := range indices {
		at := place(v, n)
		if uint(at) >= uint(n) {
			return false
		}
		to := sums[at*width:][:width]
		for j, v := range values[i*pitch+first:][:width] {
			to[j] += A(v)
		}
	}
	return true
}

// scatterElements is scatterColumns for rows of one element. Four are converted at once, because on amd64 a
// conversion waits for the last one to the same register.
func scatterElements[T, A uint8 | uint16 | uint32 | uint64 | float32 | float64, I int32 | int64](sums []A, values []T, indices []I) bool {
	n, i := len(sums), 0
	values = values[:len(indices)]
	for ; i+4 <= len(indices); i += 4 {
		p, q := indices[i:i+4:i+4], values[i:i+4:i+4]
		a, b, c, d := place(p[0], n), place(p[1], n), place(p[2], n), place(p[3], n)
		u, v, w, x := A(q[0]), A(q[1]), A(q[2]), A(q[3])
		if uint(a) >= uint(n) || uint(b) >= uint(n) || uint(c) >= uint(n) || uint(d) >= uint(n) {
			return false
		}
		sums[a] += u
		sums[b] += v
		sums[c] += w
		sums[d] += x
	}
	for ; i < len(indices); i++ {
		at := place(indices[i], n)
		if uint(at) >= uint(n) {
			return false
		}
		sums[at] += A(values[i])
	}
	return true
}

// compensated is a sum and the sum of the rounding errors made in it.
type compensated struct{ sum, lost float64 }

// add adds v. The rounding error is that of Knuth's sum of two numbers, which needs no branch (The
// Art of Computer Programming 2, 4.2.2, theorem B).
func (c *compensated) add(v float64) {
	old := c.sum
	t := old + v
	c.sum = t
	if old < math.MaxFloat64 && old > -math.MaxFloat64 {
		part := t - old
		c.lost += (old - (t - part)) + (v - part)
	} else {
		c.lose(old, v, t)
	}
}

// lose is the part of add for a sum that is the largest number, infinite or NaN. The steps of Knuth's sum
// may then overflow although the result does not (Boldo, Graillat and Muller, ACM TOMS 44 (2017) 4). Those
// of Dekker's sum, which compares, do not overflow.
func (c *compensated) lose(old, v, t float64) {
	if math.Abs(old) >= math.Abs(v) {
		c.lost += old - t + v
	} else {
		c.lost += v - t + old
	}
}

// value returns the corrected sum.
func (c *compensated) value() float64 {
	if math.IsInf(c.sum, 0) || math.IsNaN(c.sum) || c.lost == 0 { // keeps -0
		return c.sum
	}
	return c.sum + c.lost
}

// scatterCompensated adds the columns of float64 from first on.
func scatterCompensated[I int32 | int64](c *ScatterCall, sums []compensated, first, width int) bool {
	x, dst := unsafe.Slice((*float64)(c.X), c.N*c.Width), unsafe.Slice((*float64)(c.Dst), c.N*c.Width)
	indices, values := unsafe.Slice((*I)(c.Indices), c.Count), unsafe.Slice((*float64)(c.Values), c.Count*c.Width)
	rows, length := c.runs(width)
	for r := range rows {
		to := sums[r*length:][:length]
		for i, v := range x[r*c.Width+first:][:length] {
			to[i] = compensated{sum: v}
		}
	}
	if c.Width == 1 {
		if !scatterCompensatedElements(sums, values, indices) {
			return false
		}
		indices = nil
	}
	for i, v := range indices {
		at := place(v, c.N)
		if uint(at) >= uint(c.N) {
			return false
		}
		to := sums[at*width:][:width]
		for j, v := range values[i*c.Width+first:][:width] {
			to[j].add(v)
		}
	}
	for r := range rows {
		to, from := dst[r*c.Width+first:][:length], sums[r*length:][:length]
		for i := range from {
			to[i] = from[i].value()
		}
	}
	return true
}

// scatterCompensatedElements is the loop of scatterCompensated for rows of one element.
func scatterCompensatedElements[I int32 | int64](sums []compensated, values []float64, indices []I) bool {
	values = values[:len(indices)]
	for i, p := range indices {
		at := place(p, len(sums))
		if uint(at) >= uint(len(sums)) {
			return false
		}
		s, v := &sums[at], values[i]
		if old := s.sum; math.Abs(old) < math.MaxFloat64 { // s.add(v), written out because the compiler does not inline it
			t := old + v
			part := t - old
			s.sum = t
			s.lost += (old - (t - part)) + (v - part)
		} else {
			s.add(v)
		}
	}
	return true
}
