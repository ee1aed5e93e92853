package matmul

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestFreedPlanes: a product whose planes another goroutine frees between the plan and the launch runs once
// more, without them. A product with planes that are there, and one that fails for another reason, runs once.
func TestFreedPlanes(t *testing.T) {
	dev := devicetest.CPU(t)
	s := dev.DefaultStream()
	var err error
	other := errors.New("another reason")
	for _, c := range []struct {
		name         string
		packed, free bool
		fails        error // on the device
		runs         int
		want         error
	}{
		{name: "no planes", runs: 1},
		{name: "planes", packed: true, runs: 1},
		{name: "freed meanwhile", packed: true, free: true, runs: 2},
		{name: "freed meanwhile, and a failure", packed: true, free: true, fails: other, runs: 2, want: other},
		{name: "a failure", packed: true, fails: other, runs: 1, want: other},
	} {
		p := &Product{Normwise: true}
		if c.packed {
			p.Packed = &Packed{}
			if p.Packed.buf, err = dev.Alloc(64, s); err != nil {
				t.Fatal(err)
			}
		}
		p.planned.c = &candidate{}
		runs := 0
		err := p.withoutFreed(s, func(p *Product, s *device.Stream) error {
			runs++
			if !p.Normwise || runs == 2 && (p.Packed != nil || p.planned.c != nil) {
				t.Errorf("%s: run %d is of another product", c.name, runs)
			}
			planes := p.Packed.Planes()
			if c.free && planes != nil {
				planes.Free()
			}
			return dev.Launch(s, []*device.Buffer{planes}, nil, func(int, uint64) error { return c.fails })
		})
		if runs != c.runs || !errors.Is(err, c.want) {
			t.Errorf("%s: %d runs, %v; want %d, %v", c.name, runs, err, c.runs, c.want)
		}
		p.Packed.Free()
	}
}

// TestFreedPlanesSteps: if the kernel without planes cannot apply an epilogue of steps, which it never can on
// the CPU, separate operations apply the scale, the bias and the activation to the product.
func TestFreedPlanesSteps(t *testing.T) {
	dev := devicetest.CPU(t)
	s := dev.DefaultStream()
	var err error
	view := func(data []float32, shape ...int) device.View {
		buf, err := device.WrapHost(dev, unsafe.Pointer(&data[0]), int64(4*len(data)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return device.View{Buffer: buf, DType: dtype.Float32, Layout: layout.Dense(shape)}
	}
	const scale = float32(0.1)
	product, bias := []float32{1, -2, 3, 0.25, 5e7, 7}, []float32{0.5, 1, -0.3}
	want := make([]float32, len(product))
	for i, x := range product {
		scaled := float32(x * scale)
		want[i] = max(0, scaled+bias[i%3])
	}
	other := errors.New("another reason")
	for _, fails := range []error{nil, other} {
		out := slices.Repeat([]float32{-99}, 6)
		p := &Product{A: view(make([]float32, 2), 2, 1), B: view(make([]float32, 3), 1, 3), D: view(out, 2, 3), Packed: &Packed{}}
		p.EpilogueArgs = EpilogueArgs{Scale: float64(scale), Bias: view(bias, 3), Activation: ReLU, Steps: true}
		if p.Packed.buf, err = dev.Alloc(64, s); err != nil {
			t.Fatal(err)
		}
		p.Packed.buf.Free()
		runs := 0
		err := p.withoutFreed(s, func(p *Product, s *device.Stream) error {
			runs++
			if runs == 1 {
				return dev.Launch(s, []*device.Buffer{p.Packed.buf}, nil, func(int, uint64) error { return nil })
			}
			if p.Packed != nil || p.Steps || p.Bias.Buffer != nil || p.Activation != NoActivation {
				t.Error("the second run has planes or an epilogue")
			}
			copy(out, product)
			return fails
		})
		if runs != 2 || !errors.Is(err, fails) {
			t.Errorf("%d runs, %v; want 2, %v", runs, err, fails)
		}
		if fails == nil && !slices.Equal(out, want) {
			t.Errorf("%v, want %v", out, want)
		}
	}
}
