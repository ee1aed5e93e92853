package gpktest

import (
	"context"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/devicetest"

	gpk "github.com/gpk-go/gpk"
)

// testChains computes chains before their kernels are compiled, step by step
// where the device compiles any, and after, on operands of every class: the bits
// are the same.
func testChains(t *testing.T, s *suite) {
	for _, c := range []struct {
		name string
		f    func(x, row, column, one *gpk.Array) *gpk.Array
	}{
		{"bias GELU", func(x, row, _, _ *gpk.Array) *gpk.Array { return x.Add(row).GELU() }},
		{"four classes", func(x, row, column, one *gpk.Array) *gpk.Array {
			return x.Mul(row).Add(column).Sub(one).Maximum(0).Add(x)
		}},
		{"transposed", func(x, row, _, one *gpk.Array) *gpk.Array { return x.T().Mul(one).T().Mul(0.5).Add(row) }},
		{"strided", func(x, _, _, _ *gpk.Array) *gpk.Array {
			return x.Slice(1, 1, x.Shape()[1]).Mul(2).Add(x.Slice(1, 0, x.Shape()[1]-1))
		}},
		{"cast and choose", func(x, row, _, _ *gpk.Array) *gpk.Array {
			return gpk.Where(x.Gt(row), x.Neg(), row).Cast(gpk.Float32).Exp()
		}},
		{"small integers", func(x, row, _, _ *gpk.Array) *gpk.Array {
			i := x.Mul(50).Cast(gpk.Uint8).Cast(gpk.Int32) // a minimum of three, one of them negated
			return i.Neg().Minimum(row.Mul(50).Cast(gpk.Int32)).Minimum(x.Mul(30).Cast(gpk.Int32)).Cast(gpk.Float32)
		}},
		{"sum of rows", func(x, row, _, _ *gpk.Array) *gpk.Array { return x.Mul(row).Add(1).Sum(1) }},
	} {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16, gpk.Float16, gpk.Float64} {
			for _, shape := range [][2]int{{33, 64}, {17, 101}, {300, 24}} {
				m, n := shape[0], shape[1]
				array := func(shape ...int) *gpk.Array {
					size := 1
					for _, k := range shape {
						size *= k
					}
					v := make([]float32, size)
					for i := range v {
						v[i] = float32(s.rng.NormFloat64())
					}
					return gpk.FromSlice(v, shape...).Cast(dt)
				}
				in := []*gpk.Array{array(m, n), array(n), array(m, 1), array(1)}
				if err := gpk.Eval(in...); err != nil {
					t.Fatal(err)
				}
				run := func() []float64 {
					out := c.f(in[0], in[1], in[2], in[3]).Cast(gpk.Float64)
					got, err := gpk.ToSlice[float64](out)
					if err != nil {
						t.Fatalf("%s %v %v: %v", c.name, dt, shape, err)
					}
					return got
				}
				before := run()
				if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
				if after := run(); !slices.Equal(before, after) {
					t.Errorf("%s %v %v: other bits once the kernel is compiled", c.name, dt, shape)
				}
			}
		}
	}
}
