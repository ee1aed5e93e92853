//go:build !noasm

package quantum

import (
	"math"

	"golang.org/x/sys/cpu"
)

// sincosAVX processes four elements at a time. It stops at the first group of four in
// which an element exceeds sincosLimit or is NaN, and returns the number of elements done.
// n is a multiple of 4.
//
//go:noescape
func sincosAVX(sin, cos, x *float64, n int, table *[24][4]float64) int

// sincosLimit is the largest argument that is reduced by pi/2 in two parts. Both products
// are fused with the subtraction, so that each leaves an error of 2^-54.
const sincosLimit = 1 << 20

var sincosVectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// sincosVector computes a prefix of x, and returns its length.
func sincosVector(sin, cos, x []float64) int {
	n := len(x) &^ 3
	if !sincosVectors || n == 0 {
		return 0
	}
	return sincosAVX(&sin[0], &cos[0], &x[0], n, &sincosTable)
}

// sincosTable has the constants of the assembly, each repeated four times. The polynomials
// are those of internal/cpu.
var sincosTable = func() (t [24][4]float64) {
	for i, v := range []float64{
		math.Float64frombits(1<<63 - 1), sincosLimit, 2 / math.Pi, 0x1.8p52, math.Pi / 2, 0x1.1a62633145c07p-54, 0.5, 1,
		-0x1.5555555555555p-3, 0.008333333333333331, -0.0001984126984126506, 2.7557319219335453e-06, -2.5052106231157904e-08, 1.605853141458901e-10, -7.586685070091267e-13,
		0x1.5555555555555p-5, -0.0013888888888888887, 2.4801587301584645e-05, -2.755731922140076e-07, 2.0876755790363397e-09, -1.1470460773969325e-11, 4.7458652037874553e-14,
		math.Float64frombits(1),
	} {
		t[i] = [4]float64{v, v, v, v}
	}
	return t
}()
