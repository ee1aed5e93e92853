package cpu

import (
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestCumulativeAxes compares sums and products along the rows of an array, one element of many lines at a time, with
// those along lines of its transpose, bit for bit, and products with factors in order.
func TestCumulativeAxes(t *testing.T) {
	rng := testrand.New(t)
	for range 60 {
		n, m := 1+rng.IntN(60), 1+rng.IntN(1200)
		x, turned := make([]float64, n*m), make([]float64, n*m)
		for i := range n {
			for j := range m {
				v := math.Ldexp(rng.NormFloat64(), rng.IntN(40)-20)
				switch rng.IntN(2000) {
				case 0:
					v = math.Inf(1 - 2*rng.IntN(2))
				case 1:
					v = math.NaN()
				case 2:
					v = math.MaxFloat64
				}
				x[i*m+j], turned[j*n+i] = v, v
			}
		}
		for name, f := range map[string]func(xt, dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error{"CumSum": CumSum, "CumProd": CumProd} {
			got, want := make([]float64, n*m), make([]float64, n*m)
			for i := range got {
				got[i], want[i] = -7, -8
			}
			if err := f(dtype.Float64, dtype.Float64, []int{n, m}, 0, at0(x), []int{m, 1}, at0(got), []int{m, 1}); err != nil {
				t.Fatal(err)
			}
			if err := f(dtype.Float64, dtype.Float64, []int{m, n}, 1, at0(turned), []int{n, 1}, at0(want), []int{n, 1}); err != nil {
				t.Fatal(err)
			}
			for j := range m {
				product := 1.0
				for i := range n {
					a, b := got[i*m+j], want[j*n+i]
					if product *= x[i*m+j]; name == "CumProd" {
						b = product
					}
					if a != b && (a == a || b == b) {
						t.Fatalf("%s of [%d %d]: element %d of line %d is %v, want %v", name, n, m, i, j, a, b)
					}
				}
			}
		}
	}
}

// TestCumulativeRounding multiplies and adds float16 numbers of one line, and of adjacent lines, whose result is near the middle
// of two float16. The product 1.8383789286 is 1.8388671875 (0x3f5b), or 1.837890625 (0x3f5a) if it is first rounded to float32.
// The sum 2049 + 2^-24 is 2050 (0x6801), or 2048 (0x6800) if it is first rounded to float32.
func TestCumulativeRounding(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(xt, dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error
		in   [3]uint16
		want uint16
	}{
		{"product", CumProd, [3]uint16{0x3ca7, 0x3d18, 0x3cf7}, 0x3f5b},
		{"sum", CumSum, [3]uint16{0x6800, 0x3c00, 0x0001}, 0x6801}, // 2048 + 1 + 2^-24
	} {
		for _, width := range []int{1, 100} {
			x, got := make([]uint16, 3*width), make([]uint16, 3*width)
			for i := range x {
				x[i], got[i] = c.in[i/width], 0x7e01
			}
			if err := c.of(dtype.Float16, dtype.Float16, []int{3, width}, 0, at0(x), []int{width, 1}, at0(got), []int{width, 1}); err != nil {
				t.Fatal(err)
			}
			for j, v := range got[2*width:] {
				if v != c.want {
					t.Fatalf("%d lines: %s %d is %#x", width, c.name, j, v)
				}
			}
		}
	}
}

// TestCompensatedSums compares prefix sums of float64 with exact ones.
func TestCompensatedSums(t *testing.T) {
	rng := testrand.New(t)
	in, out := make([]float64, 5000), make([]float64, 5000)
	exact, sizes := new(big.Float).SetPrec(2000), 0.0
	for i := range in {
		in[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(100)-50)
	}
	compensatedSums(in, out)
	for i, v := range in {
		exact.Add(exact, big.NewFloat(v))
		sizes += math.Abs(v)
		want, _ := exact.Float64()
		bound := 0x1p-52*math.Abs(want) + float64(i+1)*float64(i+1)*0x1p-105*sizes // Neumaier 1974
		if !(math.Abs(out[i]-want) <= bound) {
			t.Fatalf("sum of %d numbers: %v, want %v, off by more than %v", i+1, out[i], want, bound)
		}
	}
	huge := []float64{math.MaxFloat64, -math.MaxFloat64, 1, math.MaxFloat64, math.MaxFloat64, -1}
	compensatedSums(huge, out)
	for i, want := range []float64{math.MaxFloat64, 0, 1, math.MaxFloat64, math.Inf(1), math.Inf(1)} {
		if out[i] != want {
			t.Errorf("sum of %v: %v, want %v", huge[:i+1], out[i], want)
		}
	}
}
