package gpktest

import (
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// testShortK has the kernels for large products store several tiles a CTA with next to
// nothing to multiply between them, so that each tile finds the last one's pieces on
// their way out. Sums of small integers are exact, in any order: every element is
// compared.
func testShortK(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 {
		t.Skip("the kernels are for SM 90")
	}
	ran := 0
	for _, k := range cutlass.Kernels() {
		if !k.Large || k.A != gpk.BFloat16 || k.MajorA != cutlass.RowMajor || k.MajorB != cutlass.RowMajor {
			continue
		}
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok {
			t.Logf("not in this library: %s", k.Name)
			continue
		}
		ran++
		for _, depth := range []int{8, 136} {
			m, n := 16*k.Tile[0]-8, 18*k.Tile[1]-64
			whole := func(rows, cols int) ([]float32, *gpk.Array) {
				x := make([]float32, rows*cols)
				for i := range x {
					x[i] = float32(s.rng.IntN(3) - 1)
				}
				return x, gpk.FromSlice(x, rows, cols).Cast(gpk.BFloat16)
			}
			a, x := whole(m, depth)
			b, y := whole(depth, n)
			want := make([]float32, m*n)
			for i := range m {
				row := want[i*n : (i+1)*n]
				for p, e := range a[i*depth : (i+1)*depth] {
					if e != 0 {
						for j, f := range b[p*n : (p+1)*n] {
							row[j] += e * f
						}
					}
				}
			}
			for run := range 3 {
				d := poison(gpk.BFloat16, m, n)
				if err := gpk.Into(d, x.MatMul(y, matmul.WithKernel(k.Name))); err != nil {
					t.Fatalf("%s: %v", k.Name, err)
				}
				got := read(t, d)
				wrong, at := 0, 0
				for i, v := range got.values {
					if real(v) != float64(want[i]) {
						if wrong == 0 {
							at = i
						}
						wrong++
					}
				}
				if wrong > 0 {
					t.Errorf("%s, k = %d, run %d: %d elements are wrong, first [%d, %d]: %v, not %v", k.Name, depth, run+1, wrong, at/n, at%n, real(got.values[at]), want[at])
				}
				d.Free()
			}
			x.Free()
			y.Free()
		}
	}
	if ran == 0 {
		t.Skip("the library has none of the kernels")
	}
}
