package gpktest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// hasForms reports whether the tests of this file cover a kernel: it reads float16 planes, it
// conjugates an operand, or it computes squared moduli.
func hasForms(k cutlass.Kernel) bool {
	return k.Scaled || k.Split || k.AbsSquare || k.ConjA || k.ConjB
}

// varietiesOf returns the varieties (a name, an element type, options and an error bound) that
// a kernel of scaled or split planes can compute.
func varietiesOf(k cutlass.Kernel) []variety {
	names := []string{"tf32", "tc64"}
	if k.Split {
		names = []string{"fp32", "c64"}
	}
	var vs []variety
	for _, v := range varieties {
		for _, n := range names {
			if v.name == n {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

// formKernels calls f for every kernel in the library that reads float16 planes and computes the
// product, not its squared modulus.
func (s *suite) formKernels(f func(k cutlass.Kernel)) {
	if s.dev.Kind() == device.CPU {
		return
	}
	for _, k := range cutlass.Kernels() {
		if _, ok := s.dev.Library().KernelIndex(k.Name); ok && (k.Scaled || k.Split) && !k.AbsSquare && k.Schedule != "few" {
			f(k)
		}
	}
}

// testFew forces the kernel for few rows, which reads A in any layout and a packed B. The
// products have odd shapes, weights as B, and elements of every spread of magnitudes.
func testFew(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU {
		return
	}
	ran := 0
	for _, k := range cutlass.Kernels() {
		if _, ok := s.dev.Library().KernelIndex(k.Name); !ok || k.Schedule != "few" {
			continue
		}
		ran++
		v := varietiesOf(k)[0]
		opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
		run := func(what string, c *gpk.Array, a, b tensor, v variety, after epilogue) tensor {
			t.Helper()
			if !strings.Contains(c.Explain(), k.Name) {
				t.Errorf("%s %s: the plan names another kernel: %s", k.Name, what, c.Explain())
			}
			got := evaluate(t, c)
			s.check(t, fmt.Sprintf("%s %s", k.Name, what), got, a, b, v, after)
			return got
		}
		for _, d := range [][3]int{{1, 4, 1}, {1, 1000, 77}, {3, 64, 64}, {8, 36, 130}, {9, 1028, 65}, {16, 4096, 200}, {15, 300, 4100}} {
			a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
			p := gpk.Pack(b.array(), v.opts...)
			run(fmt.Sprint(d), a.array().MatMul(p, opts...), a, b, v, epilogue{})
			w := gpk.Pack(transposed(b).array(), v.opts...)
			bias := s.random(v.in, d[2])
			for _, l := range linears {
				run(fmt.Sprint(l.name, d), l.f(a.array(), w, bias.array(), opts...), a, b, v, l.after(bias))
			}
			p.Free()
			w.Free()
		}
		for _, sp := range spreads {
			const m, depth, n = 13, 320, 72
			a, b := sp.make(s, v.in, m, depth, n)
			p := gpk.Pack(b.array(), v.opts...)
			c := a.array().MatMul(p, opts...)
			other, bounded := fallback(c.Explain()), v
			if sp.uneven {
				bounded.bound = math.Inf(1)
			}
			got := run(sp.name, c, a, b, bounded, epilogue{})
			missed := sameBits(got, evaluate(t, a.array().MatMul(transposed(b).array().T(), matmul.WithKernel(other), precisionOf(other))))
			if missed == sp.fits {
				t.Errorf("%s %s: fits is %v, but whether %s ran is %v", k.Name, sp.name, sp.fits, other, missed)
			}
			p.Free()
		}
	}
	if s.dev.Capabilities().SM == 90 && ran == 0 {
		t.Error("no kernel of few rows was run")
	}
}

// as puts an operand on the device in the major that a kernel reads.
func as(x tensor, m cutlass.Major) *gpk.Array {
	if m == cutlass.ColMajor {
		return transposed(x).array().T()
	}
	return x.array()
}

// testForms forces every kernel of float16 planes once, over odd shapes,
// batches, unaligned operands and packed ones in both roles.
func testForms(t *testing.T, s *suite) {
	ran := 0
	s.formKernels(func(k cutlass.Kernel) {
		for _, v := range varietiesOf(k) {
			opts := append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)
			run := func(what string, c *gpk.Array, a, b tensor, after epilogue) {
				t.Helper()
				if !strings.Contains(c.Explain(), k.Name) {
					t.Errorf("%s %s: the plan names another kernel: %s", k.Name, what, c.Explain())
				}
				s.check(t, fmt.Sprintf("%s %s %s", k.Name, v.name, what), evaluate(t, c), a, b, v, after)
			}
			for _, d := range [][3]int{{200, 72, 264}, {131, 65, 133}, {1, 63, 40}, {65, 2, 1}, {2, 300, 1}, {257, 515, 31}} {
				a, b := s.random(v.in, d[0], d[1]), s.random(v.in, d[1], d[2])
				run(fmt.Sprint(d), as(a, k.MajorA).MatMul(as(b, k.MajorB), opts...), a, b, epilogue{})
			}
			// Operands that begin anywhere, and such as are contiguous nowhere.
			a, b := s.random(v.in, 70, 45), s.random(v.in, 45, 66)
			for _, f := range arrangements {
				run(f.name, f.make(s, a).MatMul(f.make(s, b), opts...), a, b, epilogue{})
			}
			s.formBatches(t, k, v, opts)

			// Packed, as the right operand and as a weight: the planes have the major
			// of what the pack falls back on.
			p := gpk.Pack(b.array(), v.opts...)
			right := as(a, k.MajorA).MatMul(p, opts...)
			if right.Explain() == "" || !strings.Contains(right.Explain(), "no plan") {
				run("packed", right, a, b, epilogue{})
				ran++
			}
			w := gpk.Pack(transposed(b).array(), v.opts...)
			if k.MajorB == cutlass.ColMajor {
				run("weight", gpk.Linear(as(a, k.MajorA), w, nil, opts...), a, b, epilogue{})
				if v.in == gpk.Float32 {
					bias := s.random(v.in, b.shape[1])
					for _, l := range linears {
						run(l.name, l.f(as(a, k.MajorA), w, bias.array(), opts...), a, b, l.after(bias))
					}
				}
			}
			p.Free()
			w.Free()
		}
		ran++
	})
	if s.dev.Capabilities().SM == 90 && ran == 0 {
		t.Error("no kernel of float16 planes was run")
	}
}

// formBatches checks stacks with one of the kernels, packed ones too.
func (s *suite) formBatches(t *testing.T, k cutlass.Kernel, v variety, opts []matmul.Option) {
	t.Helper()
	for _, c := range []struct{ a, b []int }{
		{[]int{3, 17, 24}, []int{3, 24, 18}},
		{[]int{3, 17, 24}, []int{24, 18}},
		{[]int{17, 24}, []int{5, 24, 18}},
		{[]int{2, 1, 9, 33}, []int{3, 33, 7}},
		{[]int{2, 3, 9, 16}, []int{2, 1, 16, 25}},
	} {
		a, b := s.random(v.in, c.a...), s.random(v.in, c.b...)
		what := fmt.Sprintf("%s %s %v x %v", k.Name, v.name, c.a, c.b)
		s.checkBatch(t, what, evaluate(t, as(a, k.MajorA).MatMul(as(b, k.MajorB), opts...)), a, b, v)
		p := gpk.Pack(b.array(), v.opts...)
		s.checkBatch(t, what+" packed", evaluate(t, as(a, k.MajorA).MatMul(p, v.opts...)), a, b, v)
		p.Free()
	}
}

// A spread is data that a form may not hold, or only just.
type spread struct {
	name string
	// fits: whether every row of A and column of B can be scaled to float16 within
	// the bound; see package matmul.
	fits bool
	// uneven: a few elements of the product are all of its norm.
	uneven bool
	make   func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor)
}

// scaleBy multiplies the elements of x by f(i), i their position.
func (x tensor) scaleBy(f func(i int) float64) tensor {
	for i, v := range x.values {
		c := f(i)
		x.values[i] = round(x.dt, complex(real(v)*c, imag(v)*c))
	}
	return x
}

var spreads = []spread{
	{"normal", true, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		return s.random(dt, m, k), s.random(dt, k, n)
	}},
	{"uniform", true, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		uniform := func(x tensor) tensor {
			for i, v := range x.values {
				x.values[i] = round(dt, complex(s.rng.Float64(), 0))
				if dt.IsComplex() {
					x.values[i] = round(dt, complex(real(x.values[i]), s.rng.Float64()))
				}
				_ = v
			}
			return x
		}
		return uniform(s.random(dt, m, k)), uniform(s.random(dt, k, n))
	}},
	{"mirror", false, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		// Each product is of a large element and a tiny one.
		a = s.random(dt, m, k).scaleBy(func(i int) float64 { return math.Ldexp(1, -40*(i%k%2)) })
		b = s.random(dt, k, n).scaleBy(func(i int) float64 { return math.Ldexp(1, -40*((i/n+1)%2)) })
		return a, b
	}},
	{"one mirrored row", false, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		a, b = s.random(dt, m, k), s.random(dt, k, n)
		a.scaleBy(func(i int) float64 {
			if i/k == m/2 && i%k >= k/2 {
				return 0x1p-40
			}
			return 1
		})
		b.scaleBy(func(i int) float64 {
			if i%n == n/3 && i/n < k/2 {
				return 0x1p-40
			}
			return 1
		})
		return a, b
	}},
	{"24 binades", false, true, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		f := func(int) float64 { return math.Ldexp(1, s.rng.IntN(24)-12) }
		return s.random(dt, m, k).scaleBy(f), s.random(dt, k, n).scaleBy(f)
	}},
	{"tails", true, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		// In each line, a quarter of the elements is far below the largest one, down to
		// subnormals.
		f := func(int) float64 {
			if s.rng.IntN(4) == 0 {
				return math.Ldexp(1, -20-s.rng.IntN(24))
			}
			return 1
		}
		return s.random(dt, m, k).scaleBy(f), s.random(dt, k, n).scaleBy(f)
	}},
	{"rows and columns of any size", true, true, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		a = s.random(dt, m, k).scaleBy(func(i int) float64 { return math.Ldexp(1, i/k%100-50) })
		b = s.random(dt, k, n).scaleBy(func(i int) float64 { return math.Ldexp(1, i%n%80-40) })
		return a, b
	}},
	{"rows of zeros", true, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		a = s.random(dt, m, k).scaleBy(func(i int) float64 { return float64(i / k % 2) })
		b = s.random(dt, k, n).scaleBy(func(i int) float64 { return float64(i % n % 3) })
		return a, b
	}},
	{"rows of 1e-30 and 1e30", false, true, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		a = s.random(dt, m, k).scaleBy(func(i int) float64 { return [...]float64{1e-30, 1, 1e30}[i/k%3] })
		return a, s.random(dt, k, n)
	}},
	{"200 binades against their mirror", false, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		f := func(i int) float64 { return math.Ldexp(1, 200*i/(k-1)-100) }
		a = s.random(dt, m, k).scaleBy(func(i int) float64 { return f(i % k) })
		return a, s.random(dt, k, n).scaleBy(func(i int) float64 { return 1 / f(i/n) })
	}},
	{"columns of 2^-120", false, true, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		// Half of them float32 holds as subnormal numbers, or nearly.
		b = s.random(dt, k, n).scaleBy(func(i int) float64 { return math.Ldexp(1, -120*(i%n%2)) })
		return s.random(dt, m, k).scaleBy(func(int) float64 { return 0x1p70 }), b
	}},
	{"mostly zeros", false, false, func(s *suite, dt gpk.DType, m, k, n int) (a, b tensor) {
		f := func(int) float64 { return float64(s.rng.IntN(10) / 9) }
		return s.random(dt, m, k).scaleBy(f), s.random(dt, k, n).scaleBy(f)
	}},
}

// testSpread checks that products of data of any spread are within the bound of their precision.
// It also checks that kernels of float16 planes are chosen for data that fit them, and the
// plan's fallback for others.
func testSpread(t *testing.T, s *suite) {
	// Here a few large elements dominate the norm. The other elements are checked by their own
	// bounds.
	const m, k, n = 130, 320, 72
	bounded := func(v variety, sp spread) variety {
		if sp.uneven {
			v.bound = math.Inf(1)
		}
		return v
	}
	for _, v := range varieties {
		if v.in != gpk.Float32 && v.in != gpk.Complex64 {
			continue
		}
		for _, sp := range spreads {
			a, b := sp.make(s, v.in, m, k, n)
			s.check(t, v.name+" "+sp.name, evaluate(t, a.array().MatMul(b.array(), v.opts...)), a, b, bounded(v, sp), epilogue{})
		}
	}
	done := map[string]bool{}
	s.formKernels(func(kernel cutlass.Kernel) {
		key := fmt.Sprint(kernel.Split, kernel.MajorA, kernel.MajorB)
		if done[key] {
			return
		}
		done[key] = true
		for _, v := range varietiesOf(kernel) {
			for _, sp := range spreads {
				a, b := sp.make(s, v.in, m, k, n)
				x, y := as(a, kernel.MajorA), as(b, kernel.MajorB)
				what := fmt.Sprintf("%s %s %s", kernel.Name, v.name, sp.name)
				c := x.MatMul(y, append([]matmul.Option{matmul.WithKernel(kernel.Name)}, v.opts...)...)
				other := fallback(c.Explain())
				if other == "" {
					t.Fatalf("%s: the plan names no kernel to fall back on: %s", what, c.Explain())
				}
				got := evaluate(t, c)
				s.check(t, what, got, a, b, bounded(v, sp), epilogue{})
				missed := sameBits(got, evaluate(t, x.MatMul(y, matmul.WithKernel(other), precisionOf(other))))
				if missed == sp.fits {
					t.Errorf("%s: fits is %v, but whether %s ran is %v", what, sp.fits, other, missed)
				}
			}
			s.formNonFinite(t, kernel, v)
		}
	})
}

// fallback returns the name of the kernel that a plan falls back on.
func fallback(plan string) string {
	for line := range strings.Lines(plan) {
		if before, ok := strings.CutSuffix(strings.TrimSpace(line), ", where it does not"); ok {
			fields := strings.Fields(before)
			return fields[len(fields)-1]
		}
	}
	return ""
}

// precisionOf returns the precision of a kernel of float32 or complex64.
func precisionOf(kernel string) matmul.Precision {
	for _, k := range cutlass.Kernels() {
		if k.Name == kernel && k.Math == "tf32" {
			return gpk.TF32
		}
	}
	return gpk.FullPrecision
}

func sameBits(x, y tensor) bool {
	for i, v := range x.values {
		if !same(real(v), real(y.values[i])) || !same(imag(v), imag(y.values[i])) {
			return false
		}
	}
	return true
}

// formNonFinite checks operands with one Inf or one NaN.
func (s *suite) formNonFinite(t *testing.T, k cutlass.Kernel, v variety) {
	t.Helper()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for side := range 2 {
			a, b := s.random(v.in, 33, 47), s.random(v.in, 47, 29)
			if side == 0 {
				a.values[5*47+13] = complex(bad, 0)
			} else {
				b.values[13*29+7] = complex(bad, 0)
			}
			got := evaluate(t, as(a, k.MajorA).MatMul(as(b, k.MajorB), append([]matmul.Option{matmul.WithKernel(k.Name)}, v.opts...)...))
			for i := range 33 {
				for j := range 29 {
					g := got.values[i*29+j]
					hit := side == 0 && i == 5 || side == 1 && j == 7
					finite := !math.IsNaN(real(g)) && !math.IsInf(real(g), 0) && !math.IsNaN(imag(g)) && !math.IsInf(imag(g), 0)
					if finite == hit || hit && v.in == gpk.Float32 && math.IsInf(bad, 0) && !math.IsInf(real(g), 0) {
						t.Fatalf("%s %s, one %v: element %d, %d is %v", k.Name, v.name, bad, i, j, g)
					}
				}
			}
		}
	}
}
