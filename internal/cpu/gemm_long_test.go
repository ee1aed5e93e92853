package cpu

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestLong compares products of a long k with packed ones.
func TestLong(t *testing.T) {
	rng := testrand.New(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, workers := range []int{1, 3} {
		if testing.Short() && workers == 1 {
			continue
		}
		runtime.GOMAXPROCS(workers)
		testLong(t, rng, variants32)
		testLong(t, rng, variants64)
	}
}

func testLong[T floating](t *testing.T, rng *rand.Rand, variants []*variant[T]) {
	t.Helper()
	for _, v := range variants {
		if v.mulUnpacked == nil {
			continue
		}
		taken, size := 0, int(unsafe.Sizeof(T(0)))
		for _, s := range [][3]int{{32, 64, 50000}, {5, 7, 3001}, {13, 33, 2048}, {128, 64, 9001}, {64, 100, 2500}, {10, 130, 40 * 256}} {
			m, n, k := s[0], s[1], s[2]
			value := func() T { return T(rng.NormFloat64()) }
			for _, layout := range []string{"row", "col", "row pitch"} {
				a, b := newMatrix(m, k, layout, 0, value), newMatrix(k, n, "row pitch", 0, value)
				got, want := make([]T, m*(n+3)), make([]T, m*(n+3))
				if !v.gemmLong(m, n, k, a.Operand, b.Operand, &got[0], n+3) {
					continue
				}
				taken++
				p := product[T]{
					v: v, m: m, n: n, k: k, c: &want[0], ldc: n + 3,
					a: linesOf[T](a.Operand, size, nil), b: columnsOf[T](b.Operand, size, nil),
				}
				p.runPacked()
				if !slices.Equal(got, want) {
					t.Fatalf("%s: %d x %d x %d, %s: bits differ from those of the packed product", v.name, m, n, k, layout)
				}
			}
		}
		if taken < 9 {
			t.Errorf("%s: %d products are long", v.name, taken)
		}
	}
}
