package matmul

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestRecordedProduct: a recorded product computes the same result after the caller has
// changed the Product.
func TestRecordedProduct(t *testing.T) {
	dev := devicetest.CPU(t)
	s, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	elements := func(v device.View) []float32 { return unsafe.Slice((*float32)(v.Buffer.Ptr()), 4) }
	view := func(value float32) device.View {
		b, err := dev.Alloc(4*4, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Free)
		v := device.View{Buffer: b, DType: dtype.Float32, Layout: layout.Dense([]int{2, 2})}
		for i := range elements(v) {
			elements(v)[i] = value
		}
		return v
	}
	a, other, d := view(1), view(5), view(0)
	for name, want := range map[string]float32{"plain": 2, "AbsSquare": 4, "Symmetric": 2} {
		p := Product{A: a, B: a, D: d, AbsSquare: name == "AbsSquare", Symmetric: name == "Symmetric"}
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(s); err != nil {
			t.Fatal(err)
		}
		g, err := s.EndCapture()
		if err != nil {
			t.Fatal(err)
		}
		p.A, p.B = other, other
		if err := g.Launch(s); err != nil {
			t.Fatal(err)
		}
		for i, got := range elements(d) {
			if got != want {
				t.Errorf("%s: element %d is %v, want %v", name, i, got, want)
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
