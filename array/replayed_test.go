package array

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
)

// witness is a Replayed that counts its calls and answers with errors.
type witness struct {
	captured, freed, begun, ended int
	before, after                 error
}

func (w *witness) Captured(*Graph)             { w.captured++ }
func (w *witness) Freed(*Graph)                { w.freed++ }
func (w *witness) Before(*device.Stream) error { w.begun++; return w.before }

func (w *witness) After(*device.Stream, []*device.Buffer, error) error {
	w.ended++
	return w.after
}

// TestReplayErrors checks that after an error of Before nothing is written. After an error of
// After the work has started: the outputs have the error, and arrays computed from them keep
// their values.
func TestReplayErrors(t *testing.T) {
	x, first, second := FromSlice([]float32{1, 2}), &witness{}, &witness{}
	g, err := Capture([]*Array{x}, func(in []*Array) []*Array {
		for _, w := range []*witness{first, second} {
			must(t, NewOperation("Test", in).OnReplay(in[0].Stream(), w))
		}
		return []*Array{in[0].Mul(2)}
	})
	must(t, err)
	must(t, g.Replay())
	out := g.Outputs()[0]
	wants(t, out, 2, 4)

	above, below := out.Add(1), out.Sub(1) // of two readers none is computed instead of what it reads being saved
	must(t, x.CopyFrom(5))
	second.before = errors.New("refused")
	if err := g.Replay(); !errors.Is(err, second.before) {
		t.Errorf("%v; want %v", err, second.before)
	}
	wants(t, out, 2, 4)

	second.before, first.after = nil, errors.New("late")
	if err := g.Replay(); !errors.Is(err, first.after) {
		t.Errorf("%v; want %v", err, first.after)
	}
	wants(t, above, 3, 5)
	wants(t, below, 1, 3)
	wants(t, out, 10, 10)
	g.Free()
	g.Free()
	if *first != (witness{1, 1, 3, 3, nil, first.after}) || *second != (witness{1, 1, 3, 2, nil, nil}) {
		t.Errorf("calls: %+v, %+v", *first, *second)
	}
}
