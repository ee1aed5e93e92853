package product

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

func cpu(t *testing.T) *device.Device {
	t.Helper()
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// TestRefusals checks that New gives the reason why operands and options have no product.
func TestRefusals(t *testing.T) {
	dev, square := cpu(t), []int{3, 3}
	for name, c := range map[string]struct {
		dt   dtype.DType
		a, b []int
		bias bool
		act  matmul.Activation
		o    matmul.Options
		want error
	}{
		"plain":                {dt: dtype.Float32, a: square, b: square},
		"inner lengths":        {dt: dtype.Float32, a: []int{2, 3}, b: []int{2, 3}, want: layout.ErrShape},
		"0-d":                  {dt: dtype.Float32, b: square, want: layout.ErrShape},
		"bool":                 {dt: dtype.Bool, a: square, b: square, want: dtype.ErrDType},
		"GELU of integers":     {dt: dtype.Int32, a: square, b: square, act: matmul.GELU, want: dtype.ErrDType},
		"a bias of symmetric":  {dt: dtype.Float32, a: square, b: square, bias: true, o: matmul.Options{Symmetric: true}, want: expr.ErrUnsupported},
		"symmetric":            {dt: dtype.Float32, a: square, b: square, o: matmul.Options{Symmetric: true}},
		"symmetric, 2 x 3":     {dt: dtype.Float32, a: []int{2, 3}, b: square, o: matmul.Options{Symmetric: true}, want: layout.ErrShape},
		"a kernel on the CPU":  {dt: dtype.Float32, a: square, b: square, o: matmul.Options{Kernel: "any"}, want: expr.ErrUnsupported},
		"symmetric of vectors": {dt: dtype.Float32, a: []int{3}, b: square, o: matmul.Options{Symmetric: true}, want: layout.ErrShape},
	} {
		if _, err := New(dev, c.dt, c.a, c.b, c.bias, c.act, &c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestReadAgain: a product of a stack of vectors and a matrix reads other elements, and writes to
// another place, after a second Read and Place.
func TestReadAgain(t *testing.T) {
	dev := cpu(t)
	const seed, k, n = 11, 5, 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	x, w, out := make([]float64, 2*k), make([]float64, k*n), slices.Repeat([]float64{-99}, 2*n)
	for i := range x {
		x[i] = float64(rng.IntN(9) - 4) // small integers: every order of the sum is exact
	}
	for i := range w {
		w[i] = float64(rng.IntN(9) - 4)
	}
	view := func(data []float64, offset int, shape ...int) device.View {
		buf, err := device.WrapHost(dev, unsafe.Pointer(&data[0]), int64(8*len(data)), nil)
		if err != nil {
			t.Fatal(err)
		}
		lay := layout.Dense(shape)
		lay.Offset = offset
		return device.View{Buffer: buf, DType: dtype.Float64, Layout: lay}
	}
	p, err := New(dev, dtype.Float64, []int{k}, []int{k, n}, false, matmul.NoActivation, &matmul.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Shapes.Shape(nil); !slices.Equal(got, []int{n}) {
		t.Fatalf("shape %v, want [%d]", got, n)
	}
	for i := range 2 {
		p.Read([]device.View{view(x, i*k, k), view(w, 0, k, n)})
		p.Place(view(out, i*n, n))
		if err := p.Run(dev.DefaultStream()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range out {
		want := 0.0
		for j := range k {
			want += x[i/n*k+j] * w[j*n+i%n]
		}
		if out[i] != want {
			t.Errorf("element %d is %v, want %v", i, out[i], want)
		}
	}
	p.Detach()
	if p.A.Buffer != nil || p.Explain() == "" {
		t.Errorf("%v after Detach, which Explain prints as %q", p.A.Buffer, p.Explain())
	}
}
