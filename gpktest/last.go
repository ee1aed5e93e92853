package gpktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testLastRows checks products of a few rows more than whole tiles, which a GPU computes
// with two kernels: as they are, with a linear layer's bias, with chains behind them, and
// into odd rows of larger arrays.
func testLastRows(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 {
		t.Skip("the kernels are for SM 90")
	}
	cut := 0
	for _, v := range varieties {
		if !v.in.IsHalf() || len(v.opts) > 0 {
			continue
		}
		for i, d := range [][3]int{{2049, 2048, 2048}, {2049, 3001, 2047}, {2063, 1024, 2048}, {2052, 2048, 2047}} {
			if (i < 2) != (v.in == gpk.BFloat16) {
				continue // two shapes each will do
			}
			a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
			fa, fb := arrangements[i%4], arrangements[(i+1)%4]
			what := fmt.Sprintf("%s %v %s %s", v.name, d, fa.name, fb.name)
			x, y := fa.make(s, a), fb.make(s, b)
			c := x.MatMul(y)
			if strings.Contains(c.Explain(), "the last ") {
				cut++
			}
			s.checkEnds(t, what, evaluate(t, c), a, b, v)

			frame := poison(v.in, d[0]+2, d[2]+3)
			part := frame.Slice(0, 1, 1+d[0]).Slice(1, 1, 1+d[2])
			if err := gpk.Into(part, x.MatMul(y)); err != nil {
				t.Fatal(err)
			}
			s.frameIntact(t, what, read(t, frame), 1, 1+d[0], 1, 1+d[2])
			s.checkEnds(t, what+" into a part", read(t, part), a, b, v)
			frame.Free()

			row := s.random(v.in, d[2])
			single := x.MatMul(y)
			if err := gpk.Eval(single); err != nil {
				t.Fatal(err)
			}
			want, fused := read(t, single.Add(row.array()).ReLU()), read(t, x.MatMul(y).Add(row.array()).ReLU())
			if !slices.Equal(want.values, fused.values) {
				t.Errorf("%s: a chain behind it has other bits than the single operations", what)
			}
		}
		x, w, bias := s.random(v.in, 2049, 2048), s.random(v.in, 2048, 2048), s.random(v.in, 2048)
		for _, l := range linears {
			got := evaluate(t, l.f(x.array(), w.array(), bias.array()))
			s.check(t, v.name+" "+l.name, got, x, transposed(w), v, l.after(bias))
			s.check(t, v.name+" "+l.name+", last row", lastRows(got, 1), lastRows(x, 1), transposed(w), v, l.after(bias))
		}
	}
	if s.dev.Capabilities().MultiProcessors == 132 && cut == 0 {
		t.Error("no product was cut")
	}
}

// checkEnds checks a product, and its last rows all.
func (s *suite) checkEnds(t *testing.T, what string, got, a, b tensor, v variety) {
	t.Helper()
	s.check(t, what, got, a, b, v, epilogue{})
	s.check(t, what+", last rows", lastRows(got, 17), lastRows(a, 17), b, v, epilogue{})
}

// lastRows are the last n rows of a matrix.
func lastRows(x tensor, n int) tensor {
	from := (x.shape[0] - n) * x.shape[1]
	return tensor{dt: x.dt, shape: []int{n, x.shape[1]}, values: x.values[from:]}
}
