package gpktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// testLongK checks products of few tiles and a long k, which a GPU computes in parts:
// with epilogues, with chains behind them, into odd rows of larger arrays, and that
// they are the same each time.
func testLongK(t *testing.T, s *suite) {
	parted := 0
	for _, v := range varieties {
		if !v.in.IsHalf() {
			continue
		}
		for i, d := range [][3]int{{65, 16384, 257}, {128, 8192, 40}, {3, 12288, 1}, {257, 4104, 130}} {
			a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
			fa, fb := arrangements[i%len(arrangements)], arrangements[(i+1)%len(arrangements)]
			what := fmt.Sprintf("%s %v", v.name, d)
			x, y := fa.make(s, a), fb.make(s, b)
			c := x.MatMul(y, v.opts...)
			if strings.Contains(c.Explain(), "which are added") {
				parted++
			}
			got := evaluate(t, c)
			s.check(t, what, got, a, b, v, epilogue{})
			if again := evaluate(t, x.MatMul(y, v.opts...)); !sameBits(got, again) {
				t.Errorf("%s: another result the second time", what)
			}

			frame := poison(got.dt, d[0]+2, d[2]+3)
			if err := gpk.Into(frame.Slice(0, 1, 1+d[0]).Slice(1, 1, 1+d[2]), x.MatMul(y, v.opts...)); err != nil {
				t.Fatal(err)
			}
			s.frameIntact(t, what, read(t, frame), 1, 1+d[0], 1, 1+d[2])
			s.check(t, what+" into a part", read(t, frame.Slice(0, 1, 1+d[0]).Slice(1, 1, 1+d[2])), a, b, v, epilogue{})

			row := s.random(got.dt, d[2])
			single := x.MatMul(y, v.opts...)
			if err := gpk.Eval(single); err != nil {
				t.Fatal(err)
			}
			sum := single.Add(row.array())
			if err := gpk.Eval(sum); err != nil {
				t.Fatal(err)
			}
			want, fused := read(t, sum.ReLU()), read(t, x.MatMul(y, v.opts...).Add(row.array()).ReLU())
			if !slices.Equal(want.values, fused.values) {
				t.Errorf("%s: a chain behind it has other bits than the single operations", what)
			}
		}
		x, w, bias := s.random(v.in, 100, 8192), s.random(v.in, 70, 8192), s.random(v.in, 70)
		for _, l := range linears {
			if len(v.opts) > 0 {
				break // the results' type is not the bias's
			}
			got := evaluate(t, l.f(x.array(), w.array(), bias.array()))
			s.check(t, v.name+" "+l.name, got, x, transposed(w), v, l.after(bias))
		}
	}
	if s.dev.Capabilities().SM == 90 && parted == 0 {
		t.Error("no product was computed in parts")
	}
}

// testOddRows forces the kernels that store rows which begin at any element, into
// parts of larger arrays: nothing else is written.
func testOddRows(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 {
		t.Skip("the kernels are for SM 90")
	}
	ran := 0
	for _, k := range cutlass.Kernels() {
		if !k.Direct {
			continue
		}
		ran++
		for _, v := range varieties {
			if v.in != k.A || len(v.opts) > 0 {
				continue
			}
			opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
			for _, d := range [][3]int{{1, 8, 1}, {17, 40, 3}, {130, 72, 129}, {257, 200, 263}, {63, 33, 385}} {
				a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
				for at := range 9 {
					what := fmt.Sprintf("%s %v from column %d", k.Name, d, at)
					frame := poison(v.in, d[0]+2, d[2]+11)
					part := frame.Slice(0, 1, 1+d[0]).Slice(1, at, at+d[2])
					if err := gpk.Into(part, as(a, k.MajorA).MatMul(as(b, k.MajorB), opts...)); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					s.check(t, what, read(t, part), a, b, v, epilogue{})
					s.frameIntact(t, what, read(t, frame), 1, 1+d[0], at, at+d[2])
				}
			}
			a, b := s.random(v.in, 5, 70, 48), s.random(v.in, 5, 48, 131)
			got := evaluate(t, a.array().MatMul(b.array(), opts...))
			s.checkBatch(t, k.Name+" in a batch", got, a, b, v)
		}
	}
	if ran == 0 {
		t.Error("the manifest has no such kernel")
	}
}
