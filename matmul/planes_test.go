package matmul

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
)

// TestFreedPlanes: a product whose planes another goroutine frees between the plan and the launch runs once
// more, without them. A product with planes that are there, and one that fails for another reason, runs once.
func TestFreedPlanes(t *testing.T) {
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s := dev.DefaultStream()
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
