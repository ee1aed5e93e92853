package gpktest

import (
	"context"
	"flag"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/quantum"
)

// sanitize asks for one small launch of each kernel, for NVIDIA's compute-sanitizer.
// Under racecheck a kernel takes up to a second, and the whole suite would take hours.
var sanitize = flag.String("gpktest.sanitize", "", "launch each kernel whose name matches, once, on small operands; . for all")

// testSanitize launches every product kernel of the manifest and every other entry of the
// library on operands a little larger than a tile, and checks the products' results.
func testSanitize(t *testing.T, s *suite) {
	if *sanitize == "" {
		t.Skip("only with -gpktest.sanitize")
	}
	if s.dev.Kind() == device.CPU {
		return
	}
	wanted, err := regexp.Compile(*sanitize)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	each := func(name string, f func()) {
		if wanted.MatchString(name) {
			t.Log(name)
			f()
			ran++
		}
	}
	for _, k := range cutlass.Kernels() {
		if _, ok := s.dev.Library().KernelIndex(k.Name); ok {
			each(k.Name, func() { s.sanitizeKernel(t, k) })
		}
	}
	for _, e := range s.sanitizeEntries(t) {
		each(e.name, e.run)
	}
	t.Logf("%d launched", ran)
	if ran == 0 {
		t.Error("nothing matches")
	}
}

// sanitizeKernel forces a product kernel on two tiles of rows, two tiles of columns and two and
// a half steps of k. The second tiles are partial.
func (s *suite) sanitizeKernel(t *testing.T, k cutlass.Kernel) {
	t.Helper()
	m, n, depth := k.Tile[0]+1, k.Tile[1]+8, 2*k.Tile[2]+8
	if k.Schedule == "few" || k.Schedule == "skinny" {
		m = k.Tile[0] - 1
	}
	if k.Schedule == "streamk" {
		depth *= 8 // enough to be shared
	}
	if k.Direct {
		n++
	}
	var v variety
	switch {
	case formless(k):
		v = varietyOf(k)
	case k.AbsSquare: // a complex product, computed as a real one with twice the n and k
		v = varietiesOf(k)[1]
		n, depth = n/2, depth/2
	default:
		v = varietiesOf(k)[0]
	}
	opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
	a, b := s.random(v.in, m, depth), s.random(v.in, depth, n)
	x, y := as(a, k.MajorA), as(b, k.MajorB)
	if k.Schedule == "few" {
		y = gpk.Pack(b.array(), v.opts...)
		defer y.Free()
	}
	if k.ConjA {
		x = x.Conj()
		a = conjugate(a)
	}
	if k.ConjB {
		y = y.Conj()
		b = conjugate(b)
	}
	switch {
	case k.AbsSquare:
		opts = append(opts, matmul.AbsSquare)
	case formless(k):
		opts = append(opts, matmul.WithOutput(k.Out))
	}
	c := x.MatMul(y, opts...)
	if !strings.Contains(c.Explain(), k.Name) {
		t.Errorf("%s: the plan does not name it: %s", k.Name, c.Explain())
	}
	if got := evaluate(t, c); k.AbsSquare {
		s.checkSquares(t, k.Name, got, a, b, v)
	} else {
		s.check(t, k.Name, got, a, b, v, epilogue{})
	}
}

// formless reports whether a kernel reads its operands in any memory layout.
func formless(k cutlass.Kernel) bool { return !k.Scaled && !k.Split }

// A sanitized is a call that runs kernels of the library under the sanitizer.
type sanitized struct {
	name string
	run  func()
}

// sanitizeEntries returns calls of the kernels that are not products of the manifest.
func (s *suite) sanitizeEntries(t *testing.T) []sanitized {
	var list []sanitized
	add := func(name string, f func() []*gpk.Array) {
		list = append(list, sanitized{name, func() {
			as := f()
			if err := gpk.Eval(as...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, a := range as {
				a.Free()
			}
		}})
	}
	one := func(name string, f func(x *gpk.Array) *gpk.Array) {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
			add(fmt.Sprint(name, " ", dt), func() []*gpk.Array { return []*gpk.Array{f(s.random(dt, 37, 520).array())} })
		}
	}
	one("unary", func(x *gpk.Array) *gpk.Array { return x.GELU() })
	one("binary", func(x *gpk.Array) *gpk.Array { return x.Add(x.Slice(0, 0, 1)) })
	one("ternary", func(x *gpk.Array) *gpk.Array { return x.Clamp(-1, 1) })
	one("cast", func(x *gpk.Array) *gpk.Array { return x.Cast(gpk.Float16) })
	one("transpose", func(x *gpk.Array) *gpk.Array { return x.T().Contiguous() })
	one("sum of rows", func(x *gpk.Array) *gpk.Array { return x.Sum(1) })
	one("sum of columns", func(x *gpk.Array) *gpk.Array { return x.Sum(0) })
	one("sum of all", func(x *gpk.Array) *gpk.Array { return x.Sum() })
	one("variance of a transpose", func(x *gpk.Array) *gpk.Array { return x.T().Var(1) })
	one("variance of slices", func(x *gpk.Array) *gpk.Array { return x.T().Var(0) })
	one("softmax, backwards", func(x *gpk.Array) *gpk.Array { return x.Flip(1).Softmax(1) })
	one("softmax of columns", func(x *gpk.Array) *gpk.Array { return x.Reshape(520, 37).Softmax(0) })
	one("arg max", func(x *gpk.Array) *gpk.Array { return x.ArgMax(1) })
	one("softmax", func(x *gpk.Array) *gpk.Array { return x.Softmax(1) })
	one("cumulative sum", func(x *gpk.Array) *gpk.Array { return x.CumSum(1) })
	one("fold", func(x *gpk.Array) *gpk.Array { return x.Mul(2).Add(1).Sum(1) })
	one("chain", func(x *gpk.Array) *gpk.Array { return x.Mul(2).Add(x).ReLU() })
	one("sort", func(x *gpk.Array) *gpk.Array { return x.Sort(1, false) })
	one("take", func(x *gpk.Array) *gpk.Array {
		return gpk.Take(x, gpk.FromSlice([]int64{3, 0, 36}, 3), 0)
	})
	add("layer norm", func() []*gpk.Array {
		return []*gpk.Array{gpk.LayerNorm(s.random(gpk.Float32, 9, 520).array(), s.random(gpk.Float32, 520).array(), s.random(gpk.Float32, 520).array(), 1e-5)}
	})
	add("top k", func() []*gpk.Array {
		v, i := s.random(gpk.Float32, 5, 700).array().TopK(9, 1)
		return []*gpk.Array{v, i}
	})
	add("rotary", func() []*gpk.Array {
		x := s.random(gpk.BFloat16, 2, 3, 33, 34).array()
		return []*gpk.Array{gpk.RoPE(x, nil, 0), gpk.RoPEWith(x, gpk.Arange(gpk.Int32, 33), gpk.RoPEOptions{Interleaved: true, Dim: 8})}
	})
	add("norm of a sum", func() []*gpk.Array {
		x := s.random(gpk.Float32, 9, 520).array()
		sum, normed := gpk.RMSNormResidual(x, x, s.random(gpk.Float32, 520).array(), 1e-5)
		return []*gpk.Array{sum, normed}
	})
	add("random", func() []*gpk.Array {
		r := gpk.NewRNG(1)
		return []*gpk.Array{r.Uniform(gpk.Float32, 0, 1, 1001), r.Normal(gpk.Float32, 0, 1, 1001)}
	})
	for _, v := range varieties {
		if v.in.IsHalf() {
			add("parts of k "+v.name, func() []*gpk.Array {
				return []*gpk.Array{s.random(v.in, 65, 4096).array().MatMul(s.random(v.in, 4096, 72).array(), v.opts...)}
			})
			add("odd rows "+v.name, func() []*gpk.Array {
				return []*gpk.Array{s.random(v.in, 65, 33).array().MatMul(s.random(v.in, 33, 71).array(), v.opts...)}
			})
		}
		if v.in == gpk.Float32 || v.in == gpk.Complex64 {
			add("symmetric "+v.name, func() []*gpk.Array {
				x := s.random(v.in, 70, 40).array()
				return []*gpk.Array{x.MatMul(x.Conj().T(), append([]matmul.Option{matmul.Symmetric}, v.opts...)...)}
			})
		}
	}
	// Data that float16 cannot hold, and such as TF32 cannot.
	for _, at := range []float64{0x1p-40, 0x1p-120, math.Inf(1)} {
		add(fmt.Sprint("spread ", at), func() []*gpk.Array {
			even := func(x float64) func(i int) float64 {
				return func(i int) float64 { return []float64{x, 1}[i%2] }
			}
			a := s.random(gpk.Float32, 130, 72).scaleBy(even(at))
			b := s.random(gpk.Float32, 72, 136).scaleBy(even(0x1p-40))
			return []*gpk.Array{a.array().MatMul(b.array(), gpk.FullPrecision)}
		})
	}
	for _, p := range []quantum.Precision{quantum.Standard, quantum.Fast, quantum.Double} {
		for _, path := range []quantum.Path{0, quantum.General} {
			for _, real := range []bool{false, true} {
				for _, normalize := range []bool{false, true} {
					list = append(list, sanitized{fmt.Sprint("quantum ", p, " ", path, " real ", real, " normalized ", normalize), func() {
						c, _ := s.quantumCircuit(7, 16, real)
						_, x := s.quantumSamples(130)
						r, err := quantum.Gram(context.Background(), c, x, nil, quantum.Options{Precision: p, Path: path, Normalize: normalize})
						if err != nil {
							t.Error(err)
							return
						}
						r.K.Free()
					}})
				}
			}
		}
	}
	return list
}
