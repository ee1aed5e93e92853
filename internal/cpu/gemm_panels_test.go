package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestPanels compares products with kept panels with products without: the bits are equal.
// Where KeepsPanels says so, the operand itself is not read: it is NaN by then.
func TestPanels(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		t.Run("float32", func(t *testing.T) { testPanels[float32](t, rng, dtype.Float32) })
		t.Run("float64", func(t *testing.T) { testPanels[float64](t, rng, dtype.Float64) })
	})
}

func testPanels[T floating](t *testing.T, rng *rand.Rand, dt dtype.DType) {
	nan, kept := T(math.NaN()), 0
	value := func() T { return T(rng.NormFloat64()) }
	shapes := [][3]int{ // m, n, k
		{5, 5, 1},
		{16, 384, 384},
		{37, 1152, 384},
		{100, 33, 300},
		{13, 31, 2000},
		{200, 1, 700},
		{4, 100, 700},
		{12, maxColumns + 65, 260},
		{7, 50, 0},
	}
	for x, s := range shapes {
		m, n, k := s[0], s[1], s[2]
		for _, lb := range []string{"row", "col", layouts[x%len(layouts)]} {
			what := fmt.Sprintf("%dx%dx%d %s", m, n, k, lb)
			a, b := newMatrix(m, k, "row", nan, value), newMatrix(k, n, lb, nan, value)
			want, got := newResult(m, n, nan), newResult(m, n, nan)
			multiply := func(c *result[T], b Operand) {
				if err := Gemm(dt, dt, m, n, k, a.Operand, b, ptr(c.ptr()), c.ld, nil); err != nil {
					t.Fatal(what, err)
				}
			}
			multiply(want, b.Operand)
			w := getBuffer[T](int(PanelBytes(dt, k, n))/int(unsafe.Sizeof(nan)) + 1)
			for i := range w.data {
				w.data[i] = nan
			}
			PackPanels(dt, k, n, b.Operand, at0(w.data))
			if last := w.data[len(w.data)-1]; last == last {
				t.Errorf("%s: PackPanels wrote beyond PanelBytes", what)
			}
			with := b.Operand
			with.Panels = at0(w.data)
			if KeepsPanels(dt, m, n, k, b.Operand) {
				kept++
				for i := range b.store {
					b.store[i] = nan
				}
			}
			multiply(got, with)
			got.checkGuards(t)
			for i := range m {
				for j := range n {
					if math.Float64bits(float64(got.at(i, j))) != math.Float64bits(float64(want.at(i, j))) {
						t.Fatalf("%s: C[%d, %d] = %v with panels, %v without", what, i, j, got.at(i, j), want.at(i, j))
					}
				}
			}
			w.put()
		}
	}
	if kept < 5 {
		t.Errorf("%d products read panels", kept)
	}
}
