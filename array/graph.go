package array

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Graph is a sequence of operations that Capture recorded, with the memory that
// it needs. Replay runs it as one piece of work. It is safe for use by many
// goroutines.
//
// A graph refers to places: it reads what its arrays show at each Replay. Their memory
// is fixed until the graph is freed.
type Graph struct {
	stream *device.Stream
	outs   []*Array

	mu      sync.Mutex // guards what follows
	run     *device.Graph
	written []*place         // by each Replay
	unset   []*device.Buffer // outputs until the first
	fixed   []*storage
}

// Capture records what f computes from the arrays that it is handed, which show
// the elements of in, and returns it as a Graph; nothing is computed yet. What f
// returns are the graph's outputs: fixed arrays that each Replay overwrites. What
// f writes into arrays is written by each Replay too, and shows from then on.
//
// Recorded is what is computed from the arrays handed in, also together with
// others: those keep their memory, and a Replay sees what is in it by then.
// Arrays that f makes from nothing, and what is computed from them alone, are
// constants, made once. Other goroutines are not recorded. Whatever needs
// elements while f runs (ToSlice, Item, FromSliceInto, To and Into of another
// device, printing) is ErrUnsupported, and so are a Capture inside of f, and reading
// what f has computed and not returned after Capture.
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
		return nil, fmt.Errorf("%w: no function to record", expr.ErrUnsupported)
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
	r := newRecording(s)
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
	return r.graph(run, outs, onto), nil
}

// Outputs returns the arrays that the sequence computes, overwritten by each
// Replay. Before the first they answer ErrUnsupported. They outlive the graph.
func (g *Graph) Outputs() []*Array {
	if g == nil {
		return nil
	}
	return slices.Clone(g.outs)
}

// Replay runs the sequence on what the arrays hold that it reads, and does not
// wait. It is ordered with other work on them, like any operation, and is a write to
// what the sequence writes. An array that was freed is ErrFreed.
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
	return c.wrap(sched.writePlaces(&c, stream, g.written, nil, func([]device.View) error {
		before := make([]error, len(g.unset))
		for i, b := range g.unset {
			before[i] = b.Err()
			b.State().Heal()
		}
		err := g.run.Launch(stream)
		if err != nil {
			for i, b := range g.unset {
				b.State().Fail(before[i])
			}
			return err
		}
		g.unset = nil
		return nil
	}))
}

// Free gives the graph and its memory back, behind what was replayed. The outputs
// keep theirs, and what is in it. It may be called more than once; a Replay
// afterwards is ErrFreed. A graph that is dropped is freed too.
func (g *Graph) Free() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run != nil {
		_ = g.run.Close() // fails only where the driver is gone
		unfix(schedulerOf(g.stream.Device()), g.fixed)
		g.run, g.written, g.unset, g.fixed = nil, nil, nil, nil
	}
}
