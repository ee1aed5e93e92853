package device

import (
	"errors"
	"testing"
)

// TestFit fills in grids and blocks on a fake GPU, whose occupancy is a block of 256 and
// a grid of 264.
func TestFit(t *testing.T) {
	f, err := newCoder(t, "").dev.Compile(Code{Source: "a", Kernel: "k"})
	if err != nil {
		t.Fatal(err)
	}
	type dims = [3]int
	for _, c := range []struct {
		grid, block dims
		shared      int
		elements    int
		wantGrid    dims
		wantBlock   dims
		ok          bool
	}{
		{elements: 0, wantGrid: dims{264, 1, 1}, wantBlock: dims{256, 1, 1}, ok: true},
		{elements: 1, wantGrid: dims{1, 1, 1}, wantBlock: dims{256, 1, 1}, ok: true},
		{elements: 256, wantGrid: dims{1, 1, 1}, wantBlock: dims{256, 1, 1}, ok: true},
		{elements: 257, wantGrid: dims{2, 1, 1}, wantBlock: dims{256, 1, 1}, ok: true},
		{elements: 257, block: dims{16, 4}, wantGrid: dims{5, 1, 1}, wantBlock: dims{16, 4, 1}, ok: true},
		{elements: 257, grid: dims{3, 0, 2}, wantGrid: dims{3, 1, 2}, wantBlock: dims{256, 1, 1}, ok: true},
		{elements: 257, grid: dims{0, 7}, block: dims{0, 8}, wantGrid: dims{1, 7, 1}, wantBlock: dims{1, 8, 1}, ok: true},
		{elements: 9, block: dims{-1}, grid: dims{}},
		{elements: 9, block: dims{2000}},
		{elements: 9, block: dims{1}, grid: dims{1, -1}},
		{elements: 9, shared: -1},
		{elements: 9, shared: 1 << 30, block: dims{1}, grid: dims{1}},
	} {
		got, err := f.Fit(Launch{Grid: c.grid, Block: c.block, Shared: c.shared}, c.elements)
		switch {
		case !c.ok:
			if !errors.Is(err, ErrDevice) {
				t.Errorf("%+v: %+v, %v", c, got, err)
			}
		case err != nil || got.Grid != c.wantGrid || got.Block != c.wantBlock:
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	if _, err := f.Fit(Launch{Shared: -1}, 9); err == nil || err.Error() != "device: a launch with -1 bytes of dynamic shared memory; the size must not be negative" {
		t.Errorf("%v", err)
	}
}

// TestFunctionWork starts a kernel as work, which the device's queue takes too.
func TestFunctionWork(t *testing.T) {
	var started []byte
	d := newFakeWithCode(h200(0), CapabilitiesOf(90), FakeCode{
		Compile: func(Code) ([]int, string) { return []int{4}, "" },
		Start: func(kernel string, l Launch, params []byte) error {
			if kernel != "k" || l.Grid != [3]int{7, 1, 1} {
				t.Errorf("%s starts with %+v", kernel, l)
			}
			started = params
			return nil
		},
	})
	f, err := d.Compile(Code{Source: "a", Kernel: "k"})
	if err != nil {
		t.Fatal(err)
	}
	w := f.Work(Launch{Grid: [3]int{7, 1, 1}, Block: [3]int{1, 1, 1}}, []byte{1, 2, 3, 4})
	if _, ok := w.(Queued); !ok {
		t.Error("the queue does not take it")
	}
	if err := d.LaunchWork(nil, nil, nil, w); err != nil {
		t.Fatal(err)
	}
	if err := d.Synchronize(t.Context()); err != nil || string(started) != "\x01\x02\x03\x04" {
		t.Errorf("parameters %v, %v", started, err)
	}
	if err := (*Function)(nil).Work(Launch{}, nil).Start(0, 0); !errors.Is(err, ErrDevice) {
		t.Errorf("of a nil function: %v", err)
	}
}
