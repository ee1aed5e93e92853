package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
)

// TestConvertingPacker checks that converting while packing gives the same panel as
// converting first, bit for bit, edges included.
func TestConvertingPacker(t *testing.T) {
	rng := testrand.New(t)
	for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		if use.converting[dt].rows4 == nil {
			t.Logf("%v: no direct packing here", dt)
			continue
		}
		for _, w := range []int{6, 12, 16, 32} {
			for _, layout := range layouts {
				for range 12 {
					n, kc, l, q := 1+rng.IntN(w), 1+rng.IntN(70), rng.IntN(3), rng.IntN(3)
					if rng.IntN(2) == 0 {
						n = w
					}
					m := newMatrix[uint16](n+l, kc+q, layout, 0x7e01, func() uint16 { return uint16(rng.Uint32()) })
					s := linesOf(m.Operand, 2, use.real[dt])
					want, got := panelOf(s, w, l, n, q, kc), []float32(nil)
					s.converting = use.converting[dt]
					if got = panelOf(s, w, l, n, q, kc); !slices.EqualFunc(got, want, sameFloatBits) {
						t.Fatalf("%v, %s: %d lines of %d from %d, steps %d from %d: the panels differ", dt, layout, n, w, l, kc, q)
					}
				}
			}
		}
	}
}

// TestPackPanel checks that packing 16, 4, 2 or 1 rows at a time gives the panel of the
// definition, with zeros in the missing lines, and writes nothing after it.
func TestPackPanel(t *testing.T) {
	for _, v := range variants32 {
		testPackPanel(t, v)
	}
	for _, v := range variants64 {
		testPackPanel(t, v)
	}
}

func testPackPanel[T floating](t *testing.T, v *variant[T]) {
	t.Helper()
	rng := testrand.New(t)
	for range 400 {
		w := []int{4, 6, 8, 12, 16, 32}[rng.IntN(6)]
		n, kc := 1+rng.IntN(w), 1+rng.IntN(70)
		if rng.IntN(2) == 0 {
			n = w
		}
		line, step := kc+rng.IntN(5), 1
		if rng.IntN(4) == 0 {
			line, step = 1+rng.IntN(2), 2*w+rng.IntN(3)
		}
		src := make([]T, (w-1)*line+(kc-1)*step+1)
		for i := range src {
			src[i] = T(rng.NormFloat64())
		}
		const behind = 64
		dst := slices.Repeat([]T{T(math.NaN())}, w*kc+behind)
		packPanel(v, dst, w, &src[0], line, step, n, kc)
		for i, got := range dst {
			if i >= w*kc {
				if got == got {
					t.Fatalf("%s: %d of %d lines, %d steps: wrote behind the panel", v.name, n, w, kc)
				}
				continue
			}
			want := T(0)
			if x := i % w; x < n {
				want = src[x*line+i/w*step]
			}
			if got != want {
				t.Fatalf("%s: %d of %d lines, %d steps: line %d, step %d is %v, want %v", v.name, n, w, kc, i%w, i/w, got, want)
			}
		}
	}
}

func panelOf(s source[float32], w, l, n, q, kc int) []float32 {
	dst := slices.Repeat([]float32{float32(math.NaN())}, w*kc)
	s.pack(use32, dst, w, l, n, q, kc, make([]float32, s.scratchLen(w, kc)))
	return dst
}

func sameFloatBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// TestNarrow checks that rounding all rows at once, row by row and one by one gives the same
// bits, and writes nothing outside the region.
func TestNarrow(t *testing.T) {
	rng := testrand.New(t)
	for range 200 {
		rows, cols := 1+rng.IntN(9), 1+rng.IntN(40)
		ld, ldd := cols+rng.IntN(9), cols+rng.IntN(9)
		src := make([]float32, rows*ld)
		for i := range src {
			src[i] = math.Float32frombits(rng.Uint32() & (0xffffffff << rng.IntN(24)))
		}
		o := region[float32]{data: &src[0], ld: ld, rows: rows, cols: cols}
		narrowThreeWays(t, o, ldd, use.narrowF16, use.storeF16, float16.Fromfloat32, 0x1234)
		narrowThreeWays(t, o, ldd, use.narrowBF16, use.storeBF16, bfloat16.FromFloat32, bfloat16.FromBits(0x1234))
	}
}

func narrowThreeWays[E float16.Float16 | bfloat16.BFloat16](t *testing.T, o region[float32], ldd int,
	block func(*E, int, *float32, int, int, int), vector func(*E, *float32, int), scalar func(float32) E, poison E,
) {
	t.Helper()
	outs := [3][]E{}
	for i := range outs {
		outs[i] = slices.Repeat([]E{poison}, o.rows*ldd)
	}
	narrow(&outs[0][0], ldd, o, nil, nil, scalar)
	narrow(&outs[1][0], ldd, o, nil, vector, scalar)
	narrow(&outs[2][0], ldd, o, block, vector, scalar)
	for i := range outs[0] {
		if i%ldd >= o.cols && outs[0][i] != poison {
			t.Fatalf("wrote beside the region, at %d", i)
		}
		v := *offset(o.data, min(i/ldd*o.ld+i%ldd, (o.rows-1)*o.ld+o.cols-1))
		if i%ldd < o.cols && v != v {
			continue // a NaN's payload is each converter's own
		}
		if outs[1][i] != outs[0][i] || outs[2][i] != outs[0][i] {
			t.Fatalf("%v at %d of %d x %d becomes %v, %v and %v", v, i, o.rows, o.cols, outs[0][i], outs[1][i], outs[2][i])
		}
	}
}
