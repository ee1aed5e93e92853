package gpktest

import (
	"fmt"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// testStreamK forces the kernels whose CTAs share what whole waves of tiles leave
// over: less than a wave, a little more than one, and than two, and in a batch; all of
// D is written, with the same bits each time.
func testStreamK(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 {
		t.Skip("the kernels are for SM 90")
	}
	ran := 0
	for _, k := range cutlass.Kernels() {
		if k.Schedule != "streamk" {
			continue
		}
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok {
			t.Logf("not in this library: %s", k.Name)
			continue
		}
		ran++
		v := varietyOf(k)
		opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
		for _, d := range [][3]int{{300, 4104, 520}, {65, 16384, 136}, {1400, 648, 1528}, {2900, 584, 1536}} {
			a, b := s.random(k.A, d[0], d[1]), s.random(k.B, d[1], d[2])
			what := fmt.Sprintf("%s %v", k.Name, d)
			x, y := as(a, k.MajorA), as(b, k.MajorB)
			// The sizes are meant for 132 multiprocessors: others may deal them out whole.
			if plan := x.MatMul(y, opts...).Explain(); !strings.Contains(plan, "by stream-K") && s.dev.Capabilities().MultiProcessors == 132 {
				t.Errorf("%s: nothing is shared: %s", what, plan)
			}
			var first tensor
			for run := range 3 {
				d := poison(k.Out, d[0], d[2])
				if err := gpk.Into(d, x.MatMul(y, opts...)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				got := read(t, d)
				if run == 0 {
					first = got
					s.check(t, what, got, a, b, v, epilogue{})
					if i := slices.IndexFunc(got.values, cmplx.IsNaN); i >= 0 {
						t.Errorf("%s: element %d is not written", what, i)
					}
				} else if !sameBits(got, first) {
					t.Errorf("%s: another result in run %d", what, run+1)
				}
			}
		}
		a, b := s.random(k.A, 3, 200, 4104), s.random(k.B, 3, 4104, 264)
		if k.MajorB == cutlass.RowMajor {
			s.checkBatch(t, k.Name+" in a batch", evaluate(t, a.array().MatMul(b.array(), opts...)), a, b, v)
		}
	}
	if ran == 0 {
		t.Skip("the library has none of the kernels")
	}
}
