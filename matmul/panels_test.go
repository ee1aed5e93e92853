package matmul

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/layout"
)

// TestPanels compares a product of a prepared operand with one of the operand itself, bit by bit: without
// memory for panels, when they are made, when another goroutine frees them as the product is about to read
// them, and after Free.
func TestPanels(t *testing.T) {
	dev := devicetest.CPU(t)
	rng := testrand.New(t)
	s := dev.DefaultStream()
	elements := func(v device.View) []float32 {
		return unsafe.Slice((*float32)(v.Buffer.Ptr()), v.Layout.Size())
	}
	view := func(shape ...int) device.View {
		v := device.View{DType: dtype.Float32, Layout: layout.Dense(shape)}
		var err error
		if v.Buffer, err = dev.Alloc(int64(4*v.Layout.Size()), s); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Buffer.Free)
		for i := range elements(v) {
			elements(v)[i] = float32(rng.NormFloat64())
		}
		return v
	}
	const m, n, k = 40, 300, 700
	a, b, d := view(m, k), view(k, n), view(m, n)
	multiply := func(p *Packed) []float32 {
		t.Helper()
		clear(elements(d))
		if err := (&Product{A: a, B: b, D: d, Packed: p}).Run(s); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(elements(d))
	}
	want := multiply(nil)
	p, err := Prepare(s, b, FullPrecision)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		before func()
		after  func()
		made   bool
	}{
		{name: "no memory", before: func() { dev.SetMemoryLimit(1) }, after: func() { dev.SetMemoryLimit(0) }},
		{name: "made", made: true},
		{name: "kept", made: true},
		{name: "freed meanwhile", before: func() { p.panels.buf.Free() }, made: true},
		{name: "after Free", before: p.Free},
	} {
		if c.before != nil {
			c.before()
		}
		got := multiply(p)
		if c.after != nil {
			c.after()
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: another product", c.name)
		}
		if made := p.panels.buf != nil; made != c.made {
			t.Errorf("%s: panels %v, want %v", c.name, made, c.made)
		}
	}
}
