package array

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Graph is a sequence of operations that Capture recorded, with the memory that it needs.
// Replay runs it as one piece of work. It is safe for use by many goroutines.
//
// A graph refers to memory, not to values: each Replay reads the current elements of its
// arrays. The memory of these arrays is fixed until the graph is freed.
type Graph struct {
	stream *device.Stream
	outs   []*Array

	mu      sync.Mutex // guards the fields below
	run     *device.Graph
	written []*place         // places that each Replay writes
	unset   []*device.Buffer // outputs that wait for the first Replay
	fixed   []*storage
	told    []Replayed
}

// Capture records the computation of f and returns it as a Graph; nothing is computed yet.
// f is called once, with arrays that show the elements of in. The arrays that f returns
// become the graph's outputs: fixed arrays that each Replay overwrites. Each Replay also
// writes the arrays that f writes, which show the new elements from then on.
//
// The sequence consists of every operation that has an array passed to f, or an array
// computed from one, among its operands. Other operands keep their memory, and a Replay
// sees their current elements. Arrays that f makes without operands, and arrays computed
// only from these, are constants that are computed once. Operations of other goroutines are
// not recorded. A call that needs elements while f runs (ToSlice, Item, FromSliceInto, To
// and Into of another device, printing) is ErrUnsupported. So are a Capture within f, and
// reading an intermediate result of f after Capture.
func Capture(in []*Array, f func(in []*Array) []*Array) (*Graph, error) {
	c := call{"Capture", here()}
	g, err := c.capture(in, f)
	return g, c.wrap(err, in...)
}

func (c *call) capture(in []*Array, f func(in []*Array) []*Array) (*Graph, error) {
	if err := check(in...); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("%w: the function to record is nil", expr.ErrUnsupported)
	}
	onto := device.Default().DefaultStream()
	if len(in) > 0 {
		onto = in[0].stream
	}
	dev := onto.Device()
	for _, a := range in {
		if err := sameDevice(in[0], a); err != nil {
			return nil, err
		}
		if r := recordingOn(a.stream); r != nil {
			return nil, r.refuse(c.fail(fmt.Errorf("%w: a capture within a capture", expr.ErrUnsupported), in...))
		}
		if err := a.start(); err != nil {
			return nil, err
		}
	}
	s, err := dev.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // also where f panics
	r := &recording{sched: schedulerOf(dev), stream: s, cur: map[*storage]*contents{}}
	handed := make([]*Array, len(in))
	for i, a := range in {
		handed[i] = a.with(a.lay)
		handed[i].stream = s
	}
	run, outs, err := r.record(s, func() ([]*Array, error) { return r.outputs(f(handed)) })
	if e := s.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = r.err
	}
	if err != nil {
		if run != nil {
			_ = run.Close()
		}
		unfix(r.sched, r.fixed)
		return nil, err
	}
	g := r.graph(run, outs, onto)
	for _, t := range g.told {
		t.Captured(g)
	}
	return g, nil
}

// Outputs returns the arrays that the sequence computes. Each Replay overwrites them.
// Reading them before the first Replay is ErrUnsupported. They outlive the graph.
func (g *Graph) Outputs() []*Array {
	if g == nil {
		return nil
	}
	return slices.Clone(g.outs)
}

// Replay runs the sequence on the current elements of the arrays that it reads, and does
// not wait. Like any operation it is ordered with other work on these arrays, and it
// counts as a write to every array that the sequence writes. A freed array is ErrFreed.
func (g *Graph) Replay() error {
	c := call{"Replay", here()}
	if g == nil {
		return c.fail(fmt.Errorf("%w: a nil Graph", expr.ErrUnsupported))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run == nil {
		return c.fail(fmt.Errorf("%w: the graph", device.ErrFreed))
	}
	stream := open(g.stream)
	sched := schedulerOf(stream.Device())
	var late error
	err := sched.writePlaces(&c, stream, g.written, nil, func([]device.View) (err error) {
		before := make([]error, len(g.unset))
		for i, b := range g.unset {
			before[i] = b.Err()
			b.State().Heal()
		}
		if late, err = g.launch(stream); err != nil {
			for i, b := range g.unset {
				b.State().Fail(before[i])
			}
			return err
		}
		g.unset = nil
		return nil
	})
	if err == nil {
		err = late
	}
	return c.wrap(err)
}

// Free gives the graph and its memory back once its replays have run. The outputs keep
// their memory and elements. Free may be called more than once. A Replay afterwards is
// ErrFreed. A graph that the garbage collector finds unreachable is freed too.
func (g *Graph) Free() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run != nil {
		_ = g.run.Close() // fails only where the driver is gone
		unfix(schedulerOf(g.stream.Device()), g.fixed)
		for _, t := range g.told {
			t.Freed(g)
		}
		g.run, g.written, g.unset, g.fixed, g.told = nil, nil, nil, nil, nil
	}
}
