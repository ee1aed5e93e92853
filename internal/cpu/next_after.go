package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

var (
	nextAfter32 = withSize(spread[float32, float32](nextAfters[float32, uint32, int32](0x7f800000)), 4)
	nextAfter64 = withSize(spread[float64, float64](nextAfters[float64, uint64, int64](0x7ff<<52)), 8)
)

func withSize(k binary, size int) *binary {
	k.size = size
	return &k
}

// NextAfter computes the number of type t, Float32 or Float64, that follows each element of x in the direction of that of y: y if
// the two are equal, and NaN if either is NaN. Shapes, strides, aliasing and errors are as for Binary.
func NextAfter(t dtype.DType, shape []int, x unsafe.Pointer, xs []int, y unsafe.Pointer, ys []int, dst unsafe.Pointer, ds []int) error {
	switch t {
	case dtype.Float32:
		nextAfter32.run(minPart, t, t, shape, x, xs, y, ys, dst, ds)
	case dtype.Float64:
		nextAfter64.run(minPart, t, t, shape, x, xs, y, ys, dst, ds)
	default:
		return unsupported("NextAfter", t)
	}
	return nil
}

// nextAfters returns the loop of NextAfter for numbers of type F, whose bits are a W; infinity are the bits of Inf. The bits of
// numbers that are not 0, those of negative ones except for the sign inverted, are in their order as integers of type I.
func nextAfters[F float32 | float64, W uint32 | uint64, I int32 | int64](infinity W) func(dst, x, y unsafe.Pointer, n int) {
	return func(dst, x, y unsafe.Pointer, n int) {
		last := 8*unsafe.Sizeof(infinity) - 1
		d, a, b := vectors[W](dst, x, y, n)
		for i, u := range a {
			v := b[i]
			if u<<1-1 >= 2*infinity || v<<1 > 2*infinity { // u is 0 or NaN, or v is NaN
				f := nextSpecial(*(*F)(unsafe.Pointer(&u)), *(*F)(unsafe.Pointer(&v)))
				d[i] = *(*W)(unsafe.Pointer(&f))
				continue
			}
			flip := W(I(u)>>last) >> 1
			from, to := I(u^flip), I(v^W(I(v)>>last)>>1)
			// Borrows instead of comparisons, which would branch on random signs.
			p, q := uint64(from)^1<<63, uint64(to)^1<<63
			_, up := bits.Sub64(p, q, 0)
			_, down := bits.Sub64(q, p, 0)
			d[i] = (W(from) + W(up) - W(down)) ^ flip // a number does not cross 0
		}
	}
}

// nextSpecial is for NaN, or x = 0.
func nextSpecial[F float32 | float64](x, y F) F {
	switch {
	case x != x || y != y:
		return x + y
	case x == y:
		return y
	}
	least := F(math.SmallestNonzeroFloat32)
	if unsafe.Sizeof(x) == 8 {
		tiny := math.SmallestNonzeroFloat64
		least = F(tiny)
	}
	if y < 0 {
		return -least
	}
	return least
}
