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

// testLongK checks products with few tiles and a long k, which a GPU computes in parts (split-K): with epilogues,
// followed by chains, and into odd rows of larger arrays. The results are the same in each run.
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

// needSM90 skips a test of kernels for SM 90 on another device.
func (s *suite) needSM90(t *testing.T) {
	t.Helper()
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 {
		t.Skip("the kernels are for SM 90")
	}
}

// needKernels returns the library's SM 90 kernels for which pick is true. If the device is not of SM 90, or there
// is no such kernel, it skips the test.
func (s *suite) needKernels(t *testing.T, pick func(k *cutlass.Kernel) bool) []cutlass.Kernel {
	t.Helper()
	s.needSM90(t)
	var found []cutlass.Kernel
	for _, k := range cutlass.Kernels() {
		if !pick(&k) {
			continue
		}
		if _, ok := s.dev.Library().KernelIndex(k.Name); ok {
			found = append(found, k)
		} else {
			t.Logf("not in this library: %s", k.Name)
		}
	}
	if len(found) == 0 {
		t.Skip("NOT RUN: the kernel library has none of the kernels of this test")
	}
	return found
}

// testOddRows forces the kernels whose stored rows may begin at any element, into parts of larger arrays. No
// other element is written.
func testOddRows(t *testing.T, s *suite) {
	s.needSM90(t)
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

// testStreamK forces the stream-K kernels, whose CTAs share the tiles of the last, partial wave. It tries less
// than a wave, a little more than one and than two, and a batch. All of D is written, with the same bits in each
// run.
func testStreamK(t *testing.T, s *suite) {
	for _, k := range s.needKernels(t, func(k *cutlass.Kernel) bool { return k.Schedule == "streamk" }) {
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
}

// testShortK forces the kernels for large products with such a short k that a CTA multiplies next to nothing
// between the stores of two tiles. So a tile's store begins while the previous one is still under way. Sums of
// small integers are exact in any order, so every element is compared.
func testShortK(t *testing.T, s *suite) {
	for _, k := range s.needKernels(t, func(k *cutlass.Kernel) bool {
		return k.Large && k.A == gpk.BFloat16 && k.MajorA == cutlass.RowMajor && k.MajorB == cutlass.RowMajor
	}) {
		for _, depth := range []int{8, 136} {
			m, n := 16*k.Tile[0]-8, 18*k.Tile[1]-64
			whole := func(rows, cols int) ([]float32, *gpk.Array) {
				x := make([]float32, rows*cols)
				for i := range x {
					x[i] = float32(s.rng.IntN(3) - 1)
				}
				return x, gpk.FromSlice(x, rows, cols).Cast(gpk.BFloat16)
			}
			a, x := whole(m, depth)
			b, y := whole(depth, n)
			want := make([]float32, m*n)
			for i := range m {
				row := want[i*n : (i+1)*n]
				for p, e := range a[i*depth : (i+1)*depth] {
					if e != 0 {
						for j, f := range b[p*n : (p+1)*n] {
							row[j] += e * f
						}
					}
				}
			}
			for run := range 3 {
				d := poison(gpk.BFloat16, m, n)
				if err := gpk.Into(d, x.MatMul(y, matmul.WithKernel(k.Name))); err != nil {
					t.Fatalf("%s: %v", k.Name, err)
				}
				got := read(t, d)
				wrong, at := 0, 0
				for i, v := range got.values {
					if real(v) != float64(want[i]) {
						if wrong == 0 {
							at = i
						}
						wrong++
					}
				}
				if wrong > 0 {
					t.Errorf("%s, k = %d, run %d: %d elements are wrong, first [%d, %d]: %v, not %v", k.Name, depth, run+1, wrong, at/n, at%n, real(got.values[at]), want[at])
				}
				d.Free()
			}
			x.Free()
			y.Free()
		}
	}
}
