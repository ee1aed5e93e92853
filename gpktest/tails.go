package gpktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/matmul"
)

// tail is a chain after a product of shape [m, n], with a row of n. If tell is used, each
// operation is started on its own.
type tail struct {
	name string
	f    func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array
	// The chains that all kernels with an epilogue fuse; those that only kernels of halves
	// with a long k fuse; or neither.
	all, halves bool
}

var tails = []tail{
	{"bias", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array { return tell(p.Add(row)) }, true, true},
	{"ReLU", func(p, _ *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array { return tell(p.ReLU()) }, true, true},
	{"scaled bias ReLU", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
		return tell(tell(tell(p.Mul(0.3)).Add(row)).ReLU())
	}, true, true},
	{"bias GELU", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
		return tell(tell(p.Add(row)).GELU())
	}, false, true},
	{"bias GELUTanh", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
		return tell(tell(gpk.Add(row, p)).GELUTanh())
	}, false, false},
	{"SiLU", func(p, _ *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array { return tell(p.SiLU()) }, false, false},
	{"bias Tanh", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
		return tell(tell(p.Add(row)).Tanh())
	}, false, false},
	{"bias GELU sum", func(p, row *gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
		return tell(tell(tell(p.Add(row)).GELU()).Sum(1))
	}, false, false},
}

// testTails compares chains after products with the single operations, bit for bit: chains
// that a kernel computes in its epilogue, and chains with a kernel of their own. Every kernel
// with an epilogue is forced.
func testTails(t *testing.T, s *suite) {
	alone := func(a *gpk.Array) *gpk.Array {
		if err := gpk.Eval(a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	together := func(a *gpk.Array) *gpk.Array { return a }
	read := func(what string, a *gpk.Array) []float64 {
		v, err := gpk.ToSlice[float64](a.Cast(gpk.Float64))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return v
	}
	joined := 0
	compare := func(what string, d [3]int, a, b gpk.DType, epilogue bool, product func(x, y *gpk.Array) *gpk.Array) {
		x, y := s.random(a, d[0], d[1]).array(), s.random(b, d[1], d[2]).array()
		for _, c := range tails {
			what := fmt.Sprintf("%s %v %s", what, d, c.name)
			single := alone(product(x, y))
			row := s.random(single.DType(), d[2]).array()
			want := read(what, c.f(single, row, alone))
			fresh := c.f(product(x, y), row, together)
			join := epilogue && (c.all || c.halves && single.DType() != gpk.Float32 && d[1] >= 4096)
			if said := strings.Contains(fresh.Explain(), "its epilogue does"); said != join {
				t.Errorf("%s: in the epilogue: %v, want %v\n%s", what, said, join, fresh.Explain())
			}
			if join {
				joined++
			}
			if got := read(what, fresh); !slices.Equal(got, want) {
				t.Errorf("%s: %s", what, firstDifference(got, want))
			}
			open := c.f(product(x, y), row, together)
			dst := alone(gpk.Full(open.DType(), 99, open.Shape()...))
			if err := gpk.Into(dst, open); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := read(what, dst); !slices.Equal(got, want) {
				t.Errorf("%s into memory: %s", what, firstDifference(got, want))
			}
		}
	}
	for _, v := range varieties {
		if !v.in.IsFloat() {
			continue
		}
		for _, d := range [][3]int{{33, 64, 40}, {7, 9, 5}, {130, 96, 136}} {
			compare(v.name, d, v.in, v.in, s.dev.Kind() != device.CPU && v.in != gpk.Float64, func(x, y *gpk.Array) *gpk.Array { return x.MatMul(y, v.opts...) })
		}
	}
	if s.dev.Kind() == device.CPU {
		return
	}
	for _, k := range cutlass.Kernels() {
		if !k.Epilogue || k.A.IsComplex() {
			continue
		}
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok {
			t.Logf("not in this library: %s", k.Name)
			continue
		}
		for _, v := range kernelVarieties(k) {
			opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
			if k.Schedule == "few" {
				continue // few rows and a packed operand: below
			}
			compare(k.Name, [3]int{131, 4104, 264}, v.in, v.in, true, func(x, y *gpk.Array) *gpk.Array { return x.MatMul(y, opts...) })
		}
	}
	t.Logf("%d chains in epilogues", joined)
}

// testTailCasts casts products, alone and after an addition, to every type of the same size,
// for which the chain's result takes the product's memory: in new memory, into existing
// memory, and once its kernel is compiled.
func testTailCasts(t *testing.T, s *suite) {
	type tail struct {
		name  string
		out   gpk.DType
		chain func() *gpk.Array
		want  tensor
	}
	var tails []tail
	for _, in := range dtype.All {
		if !in.HasProducts() {
			continue
		}
		x, y := s.random(in, 19, 33).array(), s.random(in, 33, 21).array()
		stored := x.MatMul(y)
		if err := gpk.Eval(stored); err != nil {
			t.Errorf("the product of %v: %v", in, err)
			continue
		}
		for _, out := range dtype.All {
			if out.Size() != stored.DType().Size() || out == stored.DType() {
				continue
			}
			plain := func(p *gpk.Array) *gpk.Array { return p.Cast(out) }
			more := func(p *gpk.Array) *gpk.Array { return p.Add(1).Cast(out) }
			name := fmt.Sprintf("the product of %v as %v", in, out)
			tails = append(
				tails,
				tail{name, out, func() *gpk.Array { return plain(x.MatMul(y)) }, read(t, plain(stored))},
				tail{name + ", after one was added", out, func() *gpk.Array { return more(x.MatMul(y)) }, read(t, more(stored))},
			)
		}
	}
	for _, c := range tails {
		equal(t, c.name, read(t, c.chain()), c.want)
	}
	if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range tails {
		equal(t, c.name+", compiled", read(t, c.chain()), c.want)
		dst := gpk.Full(c.out, 99, 19, 21)
		if err := errors.Join(gpk.Eval(dst), gpk.Into(dst, c.chain())); err != nil {
			t.Errorf("%s into memory: %v", c.name, err)
		}
		equal(t, c.name+" into memory", read(t, dst), c.want)
	}
}

// kernelVarieties are the real varieties that a kernel serves.
func kernelVarieties(k cutlass.Kernel) []variety {
	if !hasForms(k) {
		return []variety{varietyOf(k)}
	}
	return slices.DeleteFunc(varietiesOf(k), func(v variety) bool { return v.in.IsComplex() })
}

// firstDifference describes the first difference between two lists, and counts all of them.
func firstDifference(got, want []float64) string {
	n, at := 0, -1
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			if at < 0 {
				at = i
			}
			n++
		}
	}
	if at < 0 {
		return fmt.Sprintf("%d elements, want %d", len(got), len(want))
	}
	return fmt.Sprintf("%d of %d elements differ, first element %d: %v, want %v", n, len(got), at, got[at], want[at])
}

// testLastRows checks products with a few rows more than whole tiles, which a GPU computes
// with two kernels: alone, with a linear layer's bias, followed by chains, and into odd rows
// of larger arrays.
func testLastRows(t *testing.T, s *suite) {
	s.needSM90(t)
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
