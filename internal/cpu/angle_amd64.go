//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"unsafe"
)

// Each function sets dst[i] = f(x[i]), where f is the Go function of its name, bit for bit, of float64. It computes a prefix and
// returns its length, a multiple of 4 with AVX2 and of 8 with AVX-512: as many elements as fit. Only atan2, whose first operand is
// y of the point (x, y), stops before that: at the first vector where y/x is NaN.

//go:noescape
func atan64AVX2(dst, x *float64, n int) int

//go:noescape
func asin64AVX2(dst, x *float64, n int) int

//go:noescape
func acos64AVX2(dst, x *float64, n int) int

//go:noescape
func atan2_64AVX2(dst, x, y *float64, n int) int

//go:noescape
func atan64AVX512(dst, x *float64, n int) int

//go:noescape
func asin64AVX512(dst, x *float64, n int) int

//go:noescape
func acos64AVX512(dst, x *float64, n int) int

//go:noescape
func atan2_64AVX512(dst, x, y *float64, n int) int

// angleTable holds the constants of the assembly, each repeated four times, in the order of angleConstants in
// internal/asm/cpu/angle.go.
var angleTable = func() (t [44][4]float64) {
	b := math.Float64frombits
	constants := slices.Concat(
		[]float64{0, 1, 2, 0.5, 0.25, -1, b(1<<63 - 1), b(1 << 63), math.Pi, 2 * atanRest, atanLow, atanHigh},
		[]float64{math.Pi / 2, atanRest, math.Pi / 4, 0.5 * atanRest}, arcTangent[:], arcSine[:],
	)
	for i, v := range constants {
		t[i] = [4]float64{v, v, v, v}
	}
	return t
}()

// Only the assembly reads the table; this use keeps it in the program.
var _ = &angleTable

func atan64s(dst, x unsafe.Pointer, n int) { each64(atan64AVX512, atan64AVX2, atanF64, dst, x, n) }
func asin64s(dst, x unsafe.Pointer, n int) { each64(asin64AVX512, asin64AVX2, asinF64, dst, x, n) }
func acos64s(dst, x unsafe.Pointer, n int) { each64(acos64AVX512, acos64AVX2, acosF64, dst, x, n) }

// atan2_64s computes the angles of the points (x, y). y is the first operand.
func atan2_64s(dst, y, x unsafe.Pointer, n int) {
	both64(atan2_64AVX512, atan2_64AVX2, atan2F64, dst, y, x, n)
}
