package gpktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/matmul"
)

type linear struct {
	name string
	f    func(x, w, bias *gpk.Array, opts ...matmul.Option) *gpk.Array
	op   expr.Op // None: no activation
}

var linears = []linear{
	{"Linear", gpk.Linear, expr.None},
	{"LinearBiasReLU", gpk.LinearBiasReLU, expr.ReLU},
	{"LinearBiasGELU", gpk.LinearBiasGELU, expr.GELU},
	{"LinearBiasGELUTanh", gpk.LinearBiasGELUTanh, expr.GELUTanh},
	{"LinearBiasSiLU", gpk.LinearBiasSiLU, expr.SiLU},
}

// after returns the epilogue of the layer with this bias. The bias may be empty.
func (l linear) after(bias tensor) epilogue { return epilogue{bias.values, l.op} }

// testLinear checks every activation on every floating type, with and without
// bias, aligned and not, packed and not.
func testLinear(t *testing.T, s *suite) {
	for _, v := range varieties {
		if !v.in.IsFloat() {
			continue
		}
		for _, l := range linears {
			for _, d := range [][3]int{{33, 64, 40}, {33, 63, 41}, {1, 64, 64}, {130, 17, 129}} {
				x, w := s.random(v.in, d[0], d[1]), s.random(v.in, d[2], d[1])
				bias := s.random(v.in, d[2])
				what := fmt.Sprintf("%s %s %v", l.name, v.name, d)
				got := evaluate(t, l.f(x.array(), w.array(), bias.array(), v.opts...))
				s.check(t, what, got, x, transposed(w), v, l.after(bias))
				got = evaluate(t, l.f(x.array(), w.array(), nil, v.opts...))
				s.check(t, what+" without bias", got, x, transposed(w), v, l.after(tensor{}))
				got = evaluate(t, l.f(x.array(), gpk.Pack(w.array(), v.opts...), bias.array(), v.opts...))
				s.check(t, what+" packed", got, x, transposed(w), v, l.after(bias))
			}
		}
		// k = 0 leaves act(bias); leading axes of x are kept.
		bias := s.random(v.in, 5)
		got := evaluate(t, gpk.LinearBiasSiLU(s.random(v.in, 3, 0).array(), s.random(v.in, 5, 0).array(), bias.array(), v.opts...))
		s.check(t, v.name+" k=0", got, s.random(v.in, 3, 0), s.random(v.in, 0, 5), v, linears[4].after(bias))
		x, w := s.random(v.in, 2, 3, 16), s.random(v.in, 8, 16)
		y := gpk.Linear(x.array(), w.array(), nil, v.opts...)
		got = evaluate(t, y)
		if fmt.Sprint(got.shape) != "[2 3 8]" {
			t.Errorf("%s: shape %v", v.name, got.shape)
		}
		got.shape, x.shape = []int{6, 8}, []int{6, 16}
		s.check(t, v.name+" 3-D", got, x, transposed(w), v, epilogue{})
	}
}

// testPack checks that a packed operand gives the product of its snapshot,
// and refuses any other use.
func testPack(t *testing.T, s *suite) {
	for _, v := range varieties {
		for _, d := range [][3]int{{33, 64, 40}, {33, 63, 41}} {
			for _, f := range arrangements {
				a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
				w := f.make(s, b)
				p := gpk.Pack(w, v.opts...)
				if err := p.Err(); err != nil {
					t.Fatal(err)
				}
				noError(t, w.MulInPlace(0)) // the snapshot must not see it
				// A precision that Pack was given is the product's too.
				others := slices.DeleteFunc(slices.Clone(v.opts), func(o matmul.Option) bool {
					_, precision := o.(matmul.Precision)
					return precision
				})
				for _, opts := range [][]matmul.Option{v.opts, others} {
					s.check(t, fmt.Sprintf("%s %v %s packed", v.name, d, f.name), evaluate(t, a.array().MatMul(p, opts...)), a, b, v, epilogue{})
				}
				p.Free()
				if _, err := gpk.ToSlice[float32](a.array().MatMul(p)); !errors.Is(err, gpk.ErrFreed) {
					t.Errorf("a freed pack: %v", err)
				}
			}
		}
	}
	p := gpk.Pack(gpk.Ones(gpk.Float32, 4, 4))
	for what, a := range map[string]*gpk.Array{"Add": p.Add(1), "T": p.T(), "left": p.MatMul(gpk.Ones(gpk.Float32, 4, 4)), "Sum": p.Sum()} {
		if err := a.Err(); !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("%s of a packed array: %v", what, err)
		}
	}
}

// testKernels forces every kernel of the manifest that the device can run. Each computes
// a problem that it reads without copies, one that needs copies, and one with a k that is
// longer than the kernel's pipeline.
func testKernels(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU {
		return // no manifest kernels there; the micro-kernels' variants are forced in internal/cpu
	}
	ran := 0
	for _, k := range cutlass.Kernels() {
		if hasForms(k) {
			continue // testForms and testGram have them
		}
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok {
			t.Logf("not in this library: %s", k.Name)
			continue
		}
		v := varietyOf(k)
		opts := append([]matmul.Option{matmul.WithKernel(k.Name), matmul.WithOutput(k.Out)}, v.opts...)
		for _, d := range [][3]int{{200, 72, 264}, {131, 65, 133}, {70, 1100, 136}} {
			a, b := s.random(k.A, d[0], d[1]), s.random(k.B, d[1], d[2])
			x, y := a.array(), b.array()
			if k.MajorA == cutlass.ColMajor {
				x = transposed(a).array().T()
			}
			if k.MajorB == cutlass.ColMajor {
				y = transposed(b).array().T()
			}
			c := x.MatMul(y, opts...)
			if !strings.Contains(c.Explain(), k.Name) {
				t.Errorf("%s: the plan does not name it: %s", k.Name, c.Explain())
			}
			s.check(t, fmt.Sprintf("%s %v", k.Name, d), evaluate(t, c), a, b, v, epilogue{})
		}
		ran++
	}
	t.Logf("%d kernels forced", ran)
	if ran == 0 {
		t.Error("no kernel of the manifest was run")
	}
}

func varietyOf(k cutlass.Kernel) variety {
	for _, v := range varieties {
		precise := k.Math == "tf32"
		if v.in != k.A || (k.A == gpk.Float32 || k.A == gpk.Complex64) && (v.opts[0] == matmul.Option(gpk.TF32)) != precise {
			continue
		}
		if k.A.IsHalf() && (len(v.opts) == 0) != (k.Out == k.A) {
			continue
		}
		return v
	}
	panic("no variety for " + k.Name)
}

// testAccuracy measures the error of products that add up many terms, and logs
// it: relative Frobenius, and the largest part of an element's bound.
func testAccuracy(t *testing.T, s *suite) {
	k, n := 8192, 8192
	if s.dev.Kind() == device.CPU {
		n = ceilDiv(largeSample, 64)
	}
	if quick() {
		k = 256
	}
	for _, v := range varieties {
		n := n
		if v.in.IsComplex() || v.in == gpk.Float64 || exact(v.in) {
			n = min(n, 1024)
		}
		a, b := s.random(v.in, 64, k), s.random(v.in, k, n)
		c := a.array().MatMul(b.array(), v.opts...)
		what := fmt.Sprintf("%s 64x%dx%d", v.name, k, n)
		d := s.check(t, what, evaluate(t, c), a, b, v, epilogue{})
		if !exact(v.in) {
			t.Logf("%-24s relative error %.3g, at most %.0e; an element has %.3g of its bound", what, d.relative(), v.bound, d.worst)
		}
	}
}

// testNonFinite checks that products propagate NaN and infinities as IEEE 754 requires:
// zero times infinity is NaN, and no term is skipped.
func testNonFinite(t *testing.T, s *suite) {
	for _, v := range varieties {
		if exact(v.in) || v.in.IsComplex() {
			continue
		}
		a, b := s.random(v.in, 20, 40), s.random(v.in, 40, 24)
		a.values[3*40+7] = complex(math.NaN(), 0)
		a.values[5*40+1] = complex(math.Inf(1), 0)
		b.values[1*24+2] = 0
		b.values[9*24+4] = complex(math.Inf(-1), 0)
		got := evaluate(t, a.array().MatMul(b.array(), v.opts...))
		for i := range 20 {
			for j := range 24 {
				var want float64
				for p := range 40 {
					want += real(a.values[i*40+p]) * real(b.values[p*24+j])
				}
				g := real(got.values[i*24+j])
				if math.IsNaN(want) != math.IsNaN(g) || math.IsInf(want, 1) != math.IsInf(g, 1) || math.IsInf(want, -1) != math.IsInf(g, -1) {
					t.Errorf("%s: element %d, %d is %v, want %v", v.name, i, j, g, want)
				}
			}
		}
	}
}

// testRepeat checks that a product gives the same bits every time.
func testRepeat(t *testing.T, s *suite) {
	for _, v := range varieties {
		a, b := s.random(v.in, 257, 300).array(), s.random(v.in, 300, 130).array()
		first := read(t, a.MatMul(b, v.opts...))
		times := 100
		if quick() {
			times = 10
		}
		for range times {
			again := evaluate(t, a.MatMul(b, v.opts...))
			equal(t, v.name+" again", again, first)
		}
	}
}
