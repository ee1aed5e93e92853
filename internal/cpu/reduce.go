package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Reduce reduces the axes of x whose bit is set in axes. dst is dense, over the
// remaining axes in order; xs are x's strides in elements. Sums of half types
// accumulate in float32 and round once, sums and products of integers and Bool
// have the type SumType, and an empty sum is 0. The error for an operation without a kernel
// wraps expr.ErrUnsupported.
//
// Mean is the sum over the number of elements, rounded once; fold.go defines the other
// reductions. Max, Min, ArgMax and ArgMin of no elements are undefined, and callers must
// refuse them.
//
// A sum is a tree that depends on its number of elements and on their type alone. Count
// the n elements of one sum in row-major order of the reduced axes, and let L = 32*16/size
// be the number of elements in 32 vectors of 16 bytes. The elements are cut into chunks of
// 8 rows of L. First the rows of a chunk are added, then its L sums, then the sums of the
// chunks. Each time neighbours are added in pairs, then the pairs' sums in pairs, and so
// on; a value without a neighbour moves up unchanged. A warp of a GPU reads a chunk as 8
// vectors a thread; here, the rows are loops. No element passes through more than
// log2(n)+1 additions, so that the error of 1e8 float32s of one sign stays below 1e-6 of
// their sum.
func Reduce(op expr.Op, xt, dt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) error {
	c := reduceArgs{op: op, xt: xt, shape: shape, axes: axes, x: x, xs: xs, dst: dst}
	done := false
	switch op {
	case expr.Sum:
		done = dt == xt.SumType() && reduceSum(c)
	case expr.Mean:
		if done = dt == xt && (xt.IsFloat() || xt.IsComplex()); done {
			mean(c)
		}
	default:
		done = foldOf(c, dt)
	}
	if !done {
		return unsupported(op, xt)
	}
	return nil
}

// reduceArgs are the arguments of Reduce, but for the type of the results.
type reduceArgs struct {
	op    expr.Op
	xt    dtype.DType
	shape []int
	axes  uint32
	x     unsafe.Pointer
	xs    []int
	dst   unsafe.Pointer
	// y, if not nil, holds the second factors: the terms of the sum are the products of the elements of x and y. Then the type is
	// Float32 or Float64, both operands have no gaps, and the last axes are reduced.
	y unsafe.Pointer
}

// split returns the shape and the strides of the axes that are kept, and of those that are reduced. They are
// in room if they fit.
func (c *reduceArgs) split(room *[2][2][8]int) (kept, reduced [2][]int) {
	kept, reduced = [2][]int{room[0][0][:0], room[0][1][:0]}, [2][]int{room[1][0][:0], room[1][1][:0]}
	for d, n := range c.shape {
		if c.axes>>d&1 != 0 {
			reduced[0], reduced[1] = append(reduced[0], n), append(reduced[1], c.xs[d])
		} else {
			kept[0], kept[1] = append(kept[0], n), append(kept[1], c.xs[d])
		}
	}
	return kept, reduced
}

// reduceSum computes Sum. It returns false if the type has no sums.
func reduceSum(c reduceArgs) bool {
	if c.xt.IsHalf() {
		h := halvesOf(c.xt)
		reduce(c, h.loadFloats, h.roundFloats)
		return true
	}
	switch c.xt {
	case dtype.Float32:
		reduce(c, loadBits[float32], storeBits[float32])
	case dtype.Float64:
		reduce(c, loadBits[float64], storeBits[float64])
	case dtype.Bool:
		truthCounts(c)
	case dtype.Complex64:
		reduce(c, loadBits[complex64], storeBits[complex64])
	case dtype.Complex128:
		reduce(c, loadBits[complex128], storeBits[complex128])
	default:
		k := integerOf(c.xt)
		if k == nil {
			return false
		}
		k.sum(c)
	}
	return true
}

// sum is Sum for T. The order of the additions does not matter, and the bits of a sum that wraps do not depend on its sign.
func (ints[T]) sum(c reduceArgs) {
	f := newFold[T, int64](c)
	f.store, f.running = storeTo[int64](dtype.Int64, c.dst), true
	f.merge = func(a, b int64) int64 { return a + b }
	f.row = func(a int64, x []T, _ int) int64 { return a + sumOfIntegers(x) }
	f.column = columnOf[T, int64](expr.Add)
	f.run()
}

// sumOfIntegers adds whole vectors by vector code, and the rest in four independent chains of additions.
func sumOfIntegers[T integer](x []T) int64 {
	a, done := vectorSum(x)
	x = x[done:]
	var b, c, d int64
	for ; len(x) >= 8; x = x[8:] {
		a, b = a+int64(x[0])+int64(x[4]), b+int64(x[1])+int64(x[5])
		c, d = c+int64(x[2])+int64(x[6]), d+int64(x[3])+int64(x[7])
	}
	for _, v := range x {
		a += int64(v)
	}
	return (a + b) + (c + d)
}

// mean computes a sum with a store function that divides.
func mean(c reduceArgs) {
	n := 1.0
	for d, m := range c.shape {
		if c.axes>>d&1 != 0 {
			n *= float64(m)
		}
	}
	switch c.xt {
	case dtype.Float32:
		reduce(c, loadBits[float32], func(dst unsafe.Pointer, v []float32) { meanParts[float32](dst, v, n) })
	case dtype.Float64:
		reduce(c, loadBits[float64], func(dst unsafe.Pointer, v []float64) { meanParts[float64](dst, v, n) })
	case dtype.Complex64:
		reduce(c, loadBits[complex64], func(dst unsafe.Pointer, v []complex64) {
			meanParts[float32](dst, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v))), 2*len(v)), n)
		})
	case dtype.Complex128:
		reduce(c, loadBits[complex128], func(dst unsafe.Pointer, v []complex128) {
			meanParts[float64](dst, unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(v))), 2*len(v)), n)
		})
	default:
		h := halvesOf(c.xt)
		reduce(c, h.loadFloats, func(dst unsafe.Pointer, v []float32) {
			for i, s := range v {
				odd := roundToOdd(float64(s) / n)
				h.round(unsafe.Add(dst, i*c.xt.Size()), unsafe.Pointer(&odd), 1)
			}
		})
	}
}

func meanParts[R float32 | float64](dst unsafe.Pointer, v []R, n float64) {
	d := unsafe.Slice((*R)(dst), len(v))
	for i, s := range v {
		d[i] = R(float64(s) / n)
	}
}

// sum lists the types in which sums accumulate.
type sum interface {
	float32 | float64 | complex64 | complex128 | int64
}

func loadBits[A sum](dst []A, src unsafe.Pointer, step int) {
	var zero A
	copySpan(unsafe.Pointer(unsafe.SliceData(dst)), int(unsafe.Sizeof(zero)), src, step, int(unsafe.Sizeof(zero)), len(dst))
}

func storeBits[A sum](dst unsafe.Pointer, v []A) {
	copy(unsafe.Slice((*A)(dst), len(v)), v)
}
