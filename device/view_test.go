package device

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// TestOverlaps compares views of one buffer, and of buffers over one piece of memory,
// with the bytes that they span.
func TestOverlaps(t *testing.T) {
	host, err := Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]float64, 16)
	wrap := func(from, n int) *Buffer {
		b, err := WrapHost(host, unsafe.Pointer(&data[from]), int64(8*n), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Free)
		return b
	}
	whole, tail := wrap(0, 16), wrap(8, 8)
	view := func(b *Buffer, dt dtype.DType, offset, n, stride int) View {
		return View{Buffer: b, DType: dt, Layout: layout.Layout{Shape: []int{n}, Strides: []int{stride}, Offset: offset}}
	}
	const f32, f64 = dtype.Float32, dtype.Float64
	for i, c := range []struct {
		a, b View
		want bool
	}{
		{view(whole, f64, 0, 4, 1), view(whole, f64, 3, 4, 1), true},
		{view(whole, f64, 0, 4, 1), view(whole, f64, 4, 4, 1), false},
		{view(whole, f64, 0, 4, 1), view(whole, f32, 7, 4, 1), true},
		{view(whole, f64, 0, 4, 1), view(whole, f32, 8, 4, 1), false},
		{view(whole, f64, 7, 4, -1), view(whole, f64, 4, 1, 1), true},
		{view(whole, f64, 7, 4, -1), view(whole, f64, 3, 1, 1), false},
		{view(whole, f64, 0, 9, 1), view(tail, f64, 0, 1, 1), true},
		{view(whole, f64, 0, 8, 1), view(tail, f64, 0, 8, 1), false},
		{view(whole, f64, 0, 0, 1), view(whole, f64, 0, 4, 1), false},
		{view(nil, f64, 0, 4, 1), view(whole, f64, 0, 4, 1), false},
	} {
		if got, back := c.a.Overlaps(c.b), c.b.Overlaps(c.a); got != c.want || back != c.want {
			t.Errorf("%d: %v and %v, want %v", i, got, back, c.want)
		}
	}
}

func TestStart(t *testing.T) {
	v := View{DType: dtype.Float32, Layout: layout.Layout{Shape: []int{3}, Strides: []int{1}, Offset: 5}}
	if v.Start() != 20 {
		t.Errorf("%d", v.Start())
	}
	v.Layout.Shape = []int{0}
	if v.Start() != 0 {
		t.Errorf("of nothing: %d", v.Start())
	}
}
