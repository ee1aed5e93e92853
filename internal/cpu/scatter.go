package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Trues writes the indices of the true elements of a Bool line to dst, up to its length.
// Strides count elements.
func Trues(n int, x unsafe.Pointer, step int, dst []int64, dstep int) {
	k := 0
	for i := range n {
		if *(*byte)(unsafe.Add(x, i*step)) != 0 && k < len(dst) {
			dst[k] = int64(i)
			k += dstep
		}
	}
}

// Put writes element i of a dense list, of size bytes each, to position places[i] of dst,
// in order. Positions outside dst, which has n elements step bytes apart, are skipped.
func Put(size int, places []int64, x, dst unsafe.Pointer, n, step int) {
	for i, p := range places {
		if p >= 0 && p < int64(n) {
			copySpan(unsafe.Add(dst, int(p)*step), size, unsafe.Add(x, i*size), size, size, 1)
		}
	}
}

// ScatterAdd writes x, n rows of width elements, to dst, and adds row i of values to row
// places[i]. All are dense. Each row of x and its values are added in the order of the
// values. float32 is added in float64. For float64 a second sum collects the rounding
// errors (Neumaier, Zeitschrift für Angewandte Mathematik und Mechanik 54 (1974) 39).
// Complex types are added part by part; integers wrap. Places outside are skipped.
func ScatterAdd(dt dtype.DType, places []int64, n, width int, values, x, dst unsafe.Pointer) error {
	if dt.IsComplex() {
		dt, width = dt.Real(), 2*width
	}
	if dt == dtype.Float32 && width <= directWidth && n*width <= directSums {
		scatterDirect(places, n, width, values, x, dst)
		return nil
	}
	rows := rowsOf(places, n)
	switch dt {
	case dtype.Float32:
		scatterRows(rows, n, width, values, x, dst, sumFloat32)
	case dtype.Float64:
		scatterRows(rows, n, width, values, x, dst, sumFloat64)
	default:
		k := integerOf(dt)
		if k == nil {
			return unsupported("ScatterAdd", dt)
		}
		k.scatter(rows, n, width, values, x, dst)
	}
	return nil
}

// Narrow rows whose float64 sums stay in the cache are added in the order of the values:
// listing the values by row takes ten times as long. The order in each row is the same.
const (
	directWidth = 4
	directSums  = 1 << 17
)

// scatterDirect computes ScatterAdd for float32 in the order of the values.
func scatterDirect(places []int64, n, width int, values, x, dst unsafe.Pointer) {
	room := getBuffer[float64](n * width)
	sums := room.data[:n*width]
	for i, v := range unsafe.Slice((*float32)(x), n*width) {
		sums[i] = float64(v)
	}
	v := unsafe.Slice((*float32)(values), len(places)*width)
	for i, p := range places {
		if p < 0 || p >= int64(n) {
			continue
		}
		for c := range width {
			sums[int(p)*width+c] += float64(v[i*width+c])
		}
	}
	for i, to := 0, unsafe.Slice((*float32)(dst), n*width); i < len(to); i++ {
		to[i] = float32(sums[i])
	}
	room.put()
}

// rowLists lists elements by the row that they belong to: order[start[r]:start[r+1]] are those of
// row r, in ascending order.
type rowLists struct{ start, order []int }

func rowsOf(places []int64, n int) rowLists {
	r := rowLists{start: make([]int, n+2), order: make([]int, len(places))}
	inside := func(p int64) bool { return p >= 0 && p < int64(n) }
	for _, p := range places {
		if inside(p) {
			r.start[p+2]++
		}
	}
	for i := 2; i < len(r.start); i++ {
		r.start[i] += r.start[i-1]
	}
	for i, p := range places {
		if inside(p) {
			r.order[r.start[p+1]] = i
			r.start[p+1]++
		}
	}
	return r
}

// scatterRows calls sum for every row and every column of it, with the element of x and the
// elements of values in that column.
func scatterRows[T any](r rowLists, n, width int, values, x, dst unsafe.Pointer, sum func(x T, values []T, width, column int, of []int) T) {
	size := n * width
	from, to := unsafe.Slice((*T)(x), size), unsafe.Slice((*T)(dst), size)
	most := 0
	for _, i := range r.order {
		most = max(most, i+1)
	}
	v := unsafe.Slice((*T)(values), most*width)
	Parallel(n, max(1, minPart*n/max(1, (n+len(r.order))*width)), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			of := r.order[r.start[row]:r.start[row+1]]
			for c := range width {
				to[row*width+c] = from[row*width+c]
				if len(of) > 0 {
					to[row*width+c] = sum(from[row*width+c], v, width, c, of)
				}
			}
		}
	})
}

// scatter is ScatterAdd for T.
func (ints[T]) scatter(r rowLists, n, width int, values, x, dst unsafe.Pointer) {
	scatterRows(r, n, width, values, x, dst, func(x T, values []T, width, column int, of []int) T {
		for _, i := range of {
			x += values[i*width+column]
		}
		return x
	})
}

func sumFloat32(x float32, values []float32, width, column int, of []int) float32 {
	sum := float64(x)
	for _, i := range of {
		sum += float64(values[i*width+column])
	}
	return float32(sum)
}

func sumFloat64(x float64, values []float64, width, column int, of []int) float64 {
	sum, lost := x, 0.0
	for _, i := range of {
		v := values[i*width+column]
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += sum - t + v
		} else {
			lost += v - t + sum
		}
		sum = t
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) || lost == 0 { // keeps -0
		return sum
	}
	return sum + lost
}
