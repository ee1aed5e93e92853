package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
	"gorgonia.org/tensor"
)

// normal returns a generator of standard normal elements.
func normal[T gpk.Elem](r *rand.Rand) func() T {
	return func() T {
		var v T
		x, y := r.NormFloat64(), r.NormFloat64()
		switch p := any(&v).(type) {
		case *float32:
			*p = float32(x)
		case *float64:
			*p = x
		case *float16.Float16:
			*p = float16.Fromfloat32(float32(x))
		case *bfloat16.BFloat16:
			*p = bfloat16.FromFloat32(float32(x))
		case *complex64:
			*p = complex(float32(x), float32(y))
		case *complex128:
			*p = complex(x, y)
		default:
			panic(fmt.Sprintf("%T", v))
		}
		return v
	}
}

// tolerance returns the largest Frobenius error of a product over n, relative to that of
// the products of absolute values: the bound of n roundings (Higham, Accuracy and Stability
// of Numerical Algorithms, 2002, section 3.5), and of one to the result's type. The engines
// of the tests ask for FullPrecision.
func tolerance[T gpk.Elem](n int) float64 {
	var v T
	steps := float64(n + 2)
	switch any(v).(type) {
	case float16.Float16:
		return 0x1p-11 + steps*0x1p-24
	case bfloat16.BFloat16:
		return 0x1p-8 + steps*0x1p-24
	case float32:
		return steps * 0x1p-24
	case complex64:
		return 3 * steps * 0x1p-24 // 2n products for each part
	case complex128:
		return 3 * steps * 0x1p-53
	}
	return steps * 0x1p-53
}

// compare checks got against the exact product of x and y.
func compare[T gpk.Elem](t *testing.T, got func(i, j int) T, x, y matrix[T]) {
	t.Helper()
	var diff, norm float64
	for i := range x.m {
		for j := range y.n {
			var want complex128
			size := 0.0
			for k := range x.n {
				term := wide(x.at(i, k)) * wide(y.at(k, j))
				want += term
				size += cmplx.Abs(term)
			}
			d := cmplx.Abs(wide(got(i, j)) - want)
			diff += d * d
			norm += size * size
		}
	}
	if rel := math.Sqrt(diff / norm); !(rel <= tolerance[T](x.n)) {
		t.Errorf("%d x %d x %d: relative error %.2g, at most %.2g", x.m, x.n, y.n, rel, tolerance[T](x.n))
	}
}

func engines(t *testing.T) map[string]*Engine {
	t.Helper()
	return map[string]*Engine{
		"small products on the CPU": NewEngine(WithPrecision(gpk.FullPrecision)),
		"all on the device":         NewEngine(WithPrecision(gpk.FullPrecision), WithMinSize(0)),
	}
}

func TestProducts(t *testing.T) {
	t.Run("float32", testProducts[float32])
	t.Run("float64", testProducts[float64])
	t.Run("float16", testProducts[float16.Float16])
	t.Run("bfloat16", testProducts[bfloat16.BFloat16])
	t.Run("complex64", testProducts[complex64])
	t.Run("complex128", testProducts[complex128])
}

func testProducts[T gpk.Elem](t *testing.T) {
	t.Run("MatMul", testMatMul[T])
	t.Run("MatVecMul", testMatVecMul[T])
	t.Run("Outer", testOuter[T])
}

func testMatMul[T gpk.Elem](t *testing.T) {
	r := testrand.New(t)
	value := normal[T](r)
	for name, e := range engines(t) {
		t.Run(name, func(t *testing.T) {
			with := tensor.WithEngine(e)
			for _, la := range layoutNames {
				for _, lb := range layoutNames {
					m, k, n := 2+r.IntN(16), 2+r.IntN(16), 2+r.IntN(16)
					a := newMatrix(t, la, m, k, value, with)
					b := newMatrix(t, lb, k, n, value, with)
					t.Run(la+" by "+lb, func(t *testing.T) {
						fresh, err := a.MatMul(b.Dense)
						if err != nil {
							t.Fatal(err)
						}
						if fresh.Engine() != tensor.Engine(e) {
							t.Errorf("the result's engine is %T", fresh.Engine())
						}
						got := elementsOf[T](t, fresh)
						compare(t, func(i, j int) T { return got[i*n+j] }, a, b)

						// Into memory of the caller's, poisoned with other values.
						lc := layoutNames[r.IntN(len(layoutNames))]
						c := newMatrix(t, lc, m, n, value, with)
						if err := e.MatMul(a.Dense, b.Dense, c.Dense); err != nil {
							t.Fatalf("into %s: %v", lc, err)
						}
						compare(t, c.at, a, b)
					})
				}
			}
			// Large enough for the device with either engine.
			a := newMatrix(t, "inner block", 65, 127, value, with)
			b := newMatrix(t, "transposed", 127, 70, value, with)
			c := newMatrix(t, "column-major", 65, 70, value, with)
			if err := e.MatMul(a.Dense, b.Dense, c.Dense); err != nil {
				t.Fatal(err)
			}
			compare(t, c.at, a, b)
		})
	}
}

func testMatVecMul[T gpk.Elem](t *testing.T) {
	r := testrand.New(t)
	value := normal[T](r)
	for name, e := range engines(t) {
		t.Run(name, func(t *testing.T) {
			for _, layout := range layoutNames {
				for _, form := range [][]int{{0}, {0, 1}, {1, 0}} {
					m, n := 2+r.IntN(20), 2+r.IntN(20)
					a := newMatrix(t, layout, m, n, value, tensor.WithEngine(e))
					b := newMatrix(t, "row-major", n, 1, value)
					shape := make([]int, len(form))
					for i, one := range form {
						shape[i] = max(one, 1)
						if one == 0 {
							shape[i] = n
						}
					}
					x := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(b.base))
					y, err := a.MatVecMul(x)
					if err != nil {
						t.Fatalf("%s by %v: %v", layout, shape, err)
					}
					got := elementsOf[T](t, y)
					if len(y.Shape()) != 1 {
						t.Errorf("%s by %v: shape %v", layout, shape, y.Shape())
					}
					compare(t, func(i, _ int) T { return got[i] }, a, b)
				}
			}
			// A column of a matrix: its elements lie a row apart.
			m, n := 9, 7
			a := newMatrix(t, "row-major", m, n, value, tensor.WithEngine(e))
			wide := newMatrix(t, "row-major", n, 5, value)
			column, err := wide.Slice(nil, tensor.S(3))
			if err != nil {
				t.Fatal(err)
			}
			y, err := a.MatVecMul(column)
			if err != nil {
				t.Fatal(err)
			}
			got := elementsOf[T](t, y)
			b := matrix[T]{base: wide.base, m: n, n: 1, place: func(i, _ int) int { return i*5 + 3 }}
			compare(t, func(i, _ int) T { return got[i] }, a, b)
		})
	}
}

// elementsOf returns the elements of a tensor in row-major order.
func elementsOf[T gpk.Elem](t *testing.T, x *tensor.Dense) []T {
	t.Helper()
	got, err := gpk.ToSlice[T](FromDense(x))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func testOuter[T gpk.Elem](t *testing.T) {
	r := testrand.New(t)
	value := normal[T](r)
	for name, e := range engines(t) {
		t.Run(name, func(t *testing.T) {
			m, n := 2+r.IntN(30), 2+r.IntN(30)
			a := newMatrix(t, "row-major", m, 1, value)
			b := newMatrix(t, "row-major", 1, n, value)
			x := tensor.New(tensor.WithShape(m), tensor.WithBacking(a.base), tensor.WithEngine(e))
			y := tensor.New(tensor.WithShape(n), tensor.WithBacking(b.base))
			z, err := x.Outer(y)
			if err != nil {
				t.Fatal(err)
			}
			got := elementsOf[T](t, z)
			compare(t, func(i, j int) T { return got[i*n+j] }, a, b)
		})
	}
}

// TestThroughTensor checks the ways in which the tensor package reaches an
// engine: Dot, TensorMul, WithIncr and WithReuse.
func TestThroughTensor(t *testing.T) {
	r := testrand.New(t)
	value := normal[float64](r)
	e := NewEngine(WithMinSize(0))
	with := tensor.WithEngine(e)
	a := newMatrix(t, "transposed", 5, 6, value, with)
	b := newMatrix(t, "inner block", 6, 7, value, with)

	dot, err := tensor.Dot(a.Dense, b.Dense)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, func(i, j int) float64 { return dot.Data().([]float64)[i*7+j] }, a, b)

	reuse := newMatrix(t, "row-major", 5, 7, value, with)
	if _, err := a.MatMul(b.Dense, tensor.WithReuse(reuse.Dense)); err != nil {
		t.Fatal(err)
	}
	compare(t, reuse.at, a, b)

	before := newMatrix(t, "row-major", 5, 7, value, with)
	sum := before.Clone().(*tensor.Dense)
	if _, err := a.MatMul(b.Dense, tensor.WithIncr(sum)); err != nil {
		t.Fatal(err)
	}
	compare(t, func(i, j int) float64 { return sum.Data().([]float64)[i*7+j] - before.at(i, j) }, a, b)

	x := newMatrix(t, "row-major", 4, 6, value, with)
	y := newMatrix(t, "row-major", 6, 3, value, with)
	z, err := x.TensorMul(y.Dense, []int{1}, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, func(i, j int) float64 { return z.Data().([]float64)[i*3+j] }, x, y)
}

// TestMinSize checks which of the two multiplies: the allocations of the CPU device show
// whether gpk does.
func TestMinSize(t *testing.T) {
	cpu := devicetest.CPU(t)
	r := testrand.New(t)
	allocated := func(e *Engine, m, k, n int) bool {
		t.Helper()
		a := newMatrix(t, "row-major", m, k, normal[float32](r), tensor.WithEngine(e))
		b := newMatrix(t, "row-major", k, n, normal[float32](r))
		before := cpu.Pool()
		if _, err := a.MatMul(b.Dense); err != nil {
			t.Fatal(err)
		}
		after := cpu.Pool()
		return before.Allocs+before.Reuses != after.Allocs+after.Reuses
	}
	onCPU := WithDevice(cpu)
	for _, c := range []struct {
		name    string
		e       *Engine
		m, k, n int
		want    bool
	}{
		{"64 x 64 x 64", NewEngine(onCPU), 64, 64, 64, true},
		{"64 x 64 x 63", NewEngine(onCPU), 64, 64, 63, false},
		{"2 x 2 x 2, everything on the device", NewEngine(onCPU, WithMinSize(0)), 2, 2, 2, true},
		{"64 x 64 x 64, from 100^3", NewEngine(onCPU, WithMinSize(1e6)), 64, 64, 64, false},
	} {
		if got := allocated(c.e, c.m, c.k, c.n); got != c.want {
			t.Errorf("%s: on gpk %v, want %v", c.name, got, c.want)
		}
	}
}

// TestDevice checks the device of the engine, including one that does not exist.
func TestDevice(t *testing.T) {
	cpu := devicetest.CPU(t)
	elsewhere := new(device.Device)
	for _, c := range []struct {
		e    *Engine
		work int
		want *device.Device
	}{
		{NewEngine(WithDevice(elsewhere)), DefaultMinSize - 1, cpu},
		{NewEngine(WithDevice(elsewhere)), DefaultMinSize, elsewhere},
		{NewEngine(WithDevice(elsewhere), WithMinSize(0)), 1, elsewhere},
		{NewEngine(), DefaultMinSize, device.Default()},
	} {
		if got, err := c.e.device(c.work); got != c.want || err != nil {
			t.Errorf("%d multiply-adds: %v, %v; want %v", c.work, got, err, c.want)
		}
	}
}

func TestEngineErrors(t *testing.T) {
	for name, e := range engines(t) {
		t.Run(name, func(t *testing.T) { testEngineErrors(t, e) })
	}
}

func testEngineErrors(t *testing.T, e *Engine) {
	matrix := func(m, n int) *tensor.Dense { return tensor.New(tensor.WithShape(m, n), tensor.Of(tensor.Float32)) }
	masked := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(make([]float32, 4), make([]bool, 4)))
	double := tensor.New(tensor.WithShape(2, 2), tensor.Of(tensor.Float64))
	vector := tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float32))
	csr := tensor.CSRFromCoord(tensor.Shape{2, 2}, []int{0}, []int{0}, []float32{1})
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"masked operand", e.MatMul(masked, matrix(2, 2), matrix(2, 2)), gpk.ErrUnsupported},
		{"masked result", e.MatMul(matrix(2, 2), matrix(2, 2), masked), gpk.ErrUnsupported},
		{"masked vector", e.MatVecMul(masked, vector, vector), gpk.ErrUnsupported},
		{"masked outer", e.Outer(vector, vector, masked), gpk.ErrUnsupported},
		{"sparse operand", e.MatMul(csr, matrix(2, 2), matrix(2, 2)), gpk.ErrUnsupported},
		{"mixed types", e.MatMul(matrix(2, 2), double, matrix(2, 2)), gpk.ErrDType},
		{"inner lengths", e.MatMul(matrix(2, 3), matrix(2, 3), matrix(2, 3)), gpk.ErrShape},
		{"result's shape", e.MatMul(matrix(2, 3), matrix(3, 2), matrix(3, 2)), gpk.ErrShape},
		{"a vector for a matrix", e.MatMul(vector, matrix(2, 2), vector), gpk.ErrShape},
		{"a matrix for a vector", e.MatVecMul(matrix(2, 2), matrix(2, 2), vector), gpk.ErrShape},
		{"a long vector", e.MatVecMul(matrix(2, 3), vector, vector), gpk.ErrShape},
		{"outer of matrices", e.Outer(matrix(2, 2), vector, matrix(4, 2)), gpk.ErrShape},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
}

// TestGoroutines shares an engine and its operands.
func TestGoroutines(t *testing.T) {
	r := testrand.New(t)
	e := NewEngine(WithMinSize(0), WithPrecision(gpk.FullPrecision))
	a := newMatrix(t, "inner block", 33, 20, normal[float32](r), tensor.WithEngine(e))
	b := newMatrix(t, "row-major", 20, 17, normal[float32](r))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			c := matrix[float32]{base: make([]float32, 33*17)}
			out := tensor.New(tensor.WithShape(33, 17), tensor.WithBacking(c.base))
			if err := e.MatMul(a.Dense, b.Dense, out); err != nil {
				t.Error(err)
				return
			}
			compare(t, func(i, j int) float32 { return c.base[i*17+j] }, a, b)
		})
	}
	wg.Wait()
}

// BenchmarkMatMul shows from which size on gpk is the faster, and with it
// whether DefaultMinSize is right.
func BenchmarkMatMul(b *testing.B) {
	for _, n := range []int{8, 16, 32, 64, 128, 256, 512} {
		for _, c := range []struct {
			name string
			e    tensor.Engine
		}{{"tensor", tensor.StdEng{}}, {"gpk", NewEngine(WithMinSize(0))}} {
			b.Run(fmt.Sprintf("n=%d/engine=%s", n, c.name), func(b *testing.B) {
				x := tensor.New(tensor.WithShape(n, n), tensor.WithBacking(tensor.Random(tensor.Float32, n*n)), tensor.WithEngine(c.e))
				y := tensor.New(tensor.WithShape(n, n), tensor.WithBacking(tensor.Random(tensor.Float32, n*n)))
				z := tensor.New(tensor.WithShape(n, n), tensor.Of(tensor.Float32))
				for b.Loop() {
					if _, err := x.MatMul(y, tensor.WithReuse(z)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
