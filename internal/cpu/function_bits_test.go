package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// bitsOf64 are numbers at which a function may change its path. TestFunctionBits tries them, their negatives and their
// neighbours.
var bitsOf64 = []float64{
	0, 1, 0.5, 0.66, 0.7, 2, 10, 22, 100, 708, 709, 0x1p28, 745, 1022, 1023, 1024, 1075, 1 << 19, 1 << 16, 1 << 20, 89.6, 0.75, 0x1p-13, 0x1p-30, 0x1p-28, 0x1p-70, math.Pi, math.Pi / 2, math.Pi / 4, 1 + math.Sqrt2,
	math.SmallestNonzeroFloat64, leastNormal, math.MaxFloat64, math.SmallestNonzeroFloat32, 0x1p-126, math.MaxFloat32,
	math.Inf(1), math.NaN(),
}

// functionArgument draws a number of type T: of any bits, near one of bitsOf64, an integer, or of ordinary size.
func functionArgument[T float32 | float64](rng *rand.Rand, round int) T {
	var v T
	switch round % 4 {
	case 0:
		w := bitsOf64[rng.IntN(len(bitsOf64))]
		if rng.IntN(2) == 0 {
			w = -w
		}
		if v = T(w); unsafe.Sizeof(v) == 4 {
			return T(math.Float32frombits(math.Float32bits(float32(v)) + uint32(rng.IntN(3)) - 1))
		}
		return T(math.Float64frombits(math.Float64bits(float64(v)) + uint64(rng.IntN(3)) - 1))
	case 1:
		if unsafe.Sizeof(v) == 4 {
			return T(math.Float32frombits(rng.Uint32()))
		}
		return T(math.Float64frombits(rng.Uint64()))
	case 2:
		return T(rng.IntN(2200) - 1100)
	}
	return T(rng.NormFloat64() * math.Exp2(float64(rng.IntN(24)-12)))
}

// sameFloat reports whether two numbers have the same bits, or are both NaN.
func sameFloat[T float32 | float64](a, b T) bool {
	return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) || a != a && b != b
}

// TestFunctionBits compares kernels that may call vector code with the scalar functions, bit for bit: in blocks of all
// lengths up to 600 that begin anywhere, in place or not, and with whatever neighbours an element has. Elements past the
// block must stay.
func TestFunctionBits(t *testing.T) { checkFunctionBits(t) }

func checkFunctionBits(t *testing.T) {
	for op, f := range map[expr.Op]func(x float64) float64{
		expr.Sin: sinF64, expr.Cos: cosF64, expr.Tan: tanF64, expr.Exp2: exp2F64, expr.Log2: log2F64, expr.Log10: log10F64,
		expr.Asin: asinF64, expr.Acos: acosF64, expr.Atan: atanF64, expr.Cbrt: cbrtF64,
		expr.Sinh: sinhF64, expr.Cosh: coshF64, expr.Asinh: asinhF64, expr.Acosh: acoshF64, expr.Atanh: atanhF64,
	} {
		t.Run(op.String()+"/float64", func(t *testing.T) { unaryBits(t, op, dtype.Float64, f) })
	}
	for op, f := range map[expr.Op]func(x float32) float32{
		expr.Tan: tanF32, expr.Exp2: exp2F32, expr.Log2: log2F32, expr.Log10: log10F32,
		expr.Asin: asinF32, expr.Acos: acosF32, expr.Atan: atanF32, expr.Cbrt: cbrtF32,
		expr.Sinh: sinhF32, expr.Cosh: coshF32, expr.Asinh: asinhF32, expr.Acosh: acoshF32, expr.Atanh: atanhF32,
		expr.Sin: sinF32, expr.Cos: cosF32, expr.Tanh: tanhF32, expr.Erf: erfF32, expr.Expm1: expm1F32, expr.Log: logF32, expr.Log1p: log1pF32,
	} {
		t.Run(op.String()+"/float32", func(t *testing.T) { unaryBits(t, op, dtype.Float32, f) })
	}
	for op, f := range map[expr.Op]func(x, y float64) float64{expr.Pow: powF64, expr.Atan2: atan2F64} {
		t.Run(op.String()+"/float64", func(t *testing.T) { binaryBits(t, op, dtype.Float64, f) })
	}
	for op, f := range map[expr.Op]func(x, y float32) float32{expr.Pow: powF32, expr.Atan2: atan2F32} {
		t.Run(op.String()+"/float32", func(t *testing.T) { binaryBits(t, op, dtype.Float32, f) })
	}
}

// functionRounds returns the number of blocks that TestFunctionBits compares for a function: 1.5 million elements, with
// -short 0.3 million.
func functionRounds() int {
	if testing.Short() {
		return 1000
	}
	return 5000
}

func unaryBits[T float32 | float64](t *testing.T, op expr.Op, dt dtype.DType, f func(x T) T) {
	rng := testrand.New(t)
	kernel, _ := unaryKernel(op, dt)
	var x, y [640]T
	for r := range functionRounds() {
		n, at, to := 1+rng.IntN(600), rng.IntN(8), rng.IntN(8)
		for i := range x {
			round := r
			if r%8 >= 4 && rng.IntN(32) == 0 { // a rare one among ordinary ones
				round = rng.IntN(4)
			}
			x[i], y[i] = functionArgument[T](rng, round), 42
			if r%3 == 0 {
				x[i] = T(math.Abs(float64(x[i])))
			}
		}
		source := x[at:]
		if r%5 == 0 { // in place
			copy(y[to:to+n], source)
			kernel(unsafe.Pointer(&y[to]), unsafe.Pointer(&y[to]), n)
		} else {
			kernel(unsafe.Pointer(&y[to]), unsafe.Pointer(&source[0]), n)
		}
		for i, v := range y {
			want, inside := T(42), i >= to && i < to+n
			if inside {
				want = f(source[i-to])
			}
			if !sameFloat(v, want) {
				t.Fatalf("%d elements, element %d: of %x %x, not %x", n, i-to, source[max(0, i-to)], v, want)
			}
		}
	}
}

func binaryBits[T float32 | float64](t *testing.T, op expr.Op, dt dtype.DType, f func(x, y T) T) {
	rng := testrand.New(t)
	kernel := binaryKernel(op, dt)
	var x, y, z [640]T
	for r := range functionRounds() {
		n, at, to := 1+rng.IntN(600), rng.IntN(8), rng.IntN(8)
		if r%5 >= 3 {
			n = min(n, blockLen) // for a scalar and a vector
		}
		for i := range x {
			round, other := r, r/4
			if r%8 >= 4 && rng.IntN(32) == 0 {
				round, other = rng.IntN(4), rng.IntN(4)
			}
			x[i], y[i], z[i] = functionArgument[T](rng, round), functionArgument[T](rng, other), 42
			if r%3 == 0 {
				x[i] = T(math.Abs(float64(x[i])))
			}
		}
		a, b := x[at:], y[7-at:]
		first := func(i int) (u, v T) { return a[i], b[i] }
		d, p, q := unsafe.Pointer(&z[to]), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0])
		switch r % 5 {
		case 0:
			copy(z[to:to+n], a)
			kernel.vv(d, d, q, n)
		case 1:
			copy(z[to:to+n], b)
			kernel.vv(d, p, d, n)
		case 2:
			kernel.vv(d, p, q, n)
		case 3:
			first = func(i int) (u, v T) { return a[i], b[0] }
			kernel.vs(d, p, q, n)
		case 4:
			first = func(i int) (u, v T) { return a[0], b[i] }
			kernel.sv(d, p, q, n)
		}
		for i, v := range z {
			want := T(42)
			if i >= to && i < to+n {
				want = f(first(i - to))
			}
			if !sameFloat(v, want) {
				u, w := first(max(0, min(i-to, n-1)))
				t.Fatalf("%d elements, element %d: of %x and %x %x, not %x", n, i-to, u, w, v, want)
			}
		}
	}
}
