package array

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Graph is a sequence of operations that Capture recorded, with the memory that
// it needs. Replay runs it as one piece of work. It is safe for use by many
// goroutines.
type Graph struct {
	stream *device.Stream
	outs   []*Array

	mu      sync.Mutex // guards what follows
	run     *device.Graph
	written []*value         // by each Replay
	pending []*device.Buffer // outputs until the first
}

// recording is a capture under way.
type recording struct {
	mu      sync.Mutex
	err     error // the first thing that cannot be recorded
	written []*value
}

// recordings are the captures under way by their streams; recorded counts them,
// so that other programs pay one load.
var (
	recordings sync.Map // *device.Stream -> *recording
	recorded   atomic.Int32
)

// recordingOn returns the capture of a stream, nil where there is none.
func recordingOn(s *device.Stream) *recording {
	if recorded.Load() == 0 {
		return nil
	}
	if r, ok := recordings.Load(s); ok {
		return r.(*recording)
	}
	return nil
}

// refuse notes an error that the capture ends with, and returns it.
func (r *recording) refuse(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return err
}

// errWaits is the cause of what needs elements before they are there.
var errWaits = fmt.Errorf("%w: moving elements between the host and devices while a sequence is captured, which computes nothing before Replay", expr.ErrUnsupported)

// unwaited refuses an operation that waits on a stream that is captured.
func unwaited(op *operation, s *device.Stream) error {
	if r := recordingOn(s); r != nil {
		return r.refuse(op.fail(errWaits))
	}
	return nil
}

// writes notes, where s is captured, that the sequence writes to v.
func writes(s *device.Stream, v *value) {
	if r := recordingOn(s); r != nil {
		r.mu.Lock()
		if !slices.Contains(r.written, v) {
			r.written = append(r.written, v)
			v.noted.Store(true) // the graph keeps it: it must not become another array's
		}
		r.mu.Unlock()
	}
}

// streamOf is the stream on which operands meet: that of the first, unless another is
// part of a sequence that is captured.
func streamOf(as ...*Array) *device.Stream {
	if recorded.Load() != 0 {
		for _, a := range as {
			if a != nil && a.stream != nil && recordingOn(a.stream) != nil {
				return a.stream
			}
		}
	}
	return as[0].stream
}

// Capture records what f computes from the arrays that it is handed, which show
// the elements of in, and returns it as a Graph; nothing is computed yet. What f
// returns are the graph's outputs: fixed arrays that each Replay overwrites. What
// f writes into arrays is written by each Replay too.
//
// Recorded is what is computed from the arrays handed in, also together with
// others: those keep their memory, and a Replay sees what is in it by then.
// Arrays that f makes from nothing, and what is computed from them alone, are
// constants, made once. Other goroutines are not recorded. Whatever needs
// elements while f runs (ToSlice, Item, FromSliceInto, To and Into of another
// device, printing) is ErrUnsupported, and so is a Capture inside of f.
func Capture(in []*Array, f func(in []*Array) []*Array) (*Graph, error) {
	op := newOp("Capture", here(), in...)
	g, err := capture(op, in, f)
	if err != nil {
		return nil, op.wrap(err)
	}
	return g, nil
}

func capture(op *operation, in []*Array, f func(in []*Array) []*Array) (*Graph, error) {
	if err := op.first(in...); err != nil {
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
	inputs := make([]*device.Buffer, len(in))
	for i, a := range in {
		if a.on() != dev {
			return nil, otherDevice(in[0], a)
		}
		if r := recordingOn(a.stream); r != nil {
			return nil, r.refuse(op.fail(fmt.Errorf("%w: a capture within a capture", expr.ErrUnsupported)))
		}
		_, buf, err := a.stored()
		if err != nil {
			return nil, err
		}
		inputs[i] = buf
	}
	s, err := dev.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // also where f panics
	r := &recording{}
	handed := make([]*Array, len(in))
	for i, a := range in {
		handed[i] = a.with(a.lay)
		handed[i].stream = s
	}
	run, outs, err := r.record(s, func() ([]*Array, error) { return r.outputs(op, s, f(handed)) })
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
		return nil, err
	}
	g := &Graph{stream: onto, run: run, written: r.written}
	for _, a := range outs {
		b := a.with(a.lay)
		b.stream = onto
		g.outs = append(g.outs, b)
		buf := b.v.buf.Load()
		b.v.mu.Lock()
		made := b.v.stream == s // by the sequence: what was there before keeps what it holds
		b.v.mu.Unlock()
		if !made || slices.Contains(inputs, buf) || slices.Contains(g.pending, buf) {
			continue
		}
		g.pending = append(g.pending, buf)
		if !slices.Contains(g.written, b.v) {
			g.written = append(g.written, b.v)
		}
		buf.Fail(fmt.Errorf("%w: an output of a captured sequence before its first Replay", expr.ErrUnsupported))
	}
	return g, nil
}

// record runs f while s is captured.
func (r *recording) record(s *device.Stream, f func() ([]*Array, error)) (run *device.Graph, outs []*Array, err error) {
	if err := s.BeginCapture(); err != nil {
		return nil, nil, err
	}
	recordings.Store(s, r)
	recorded.Add(1)
	returned := false
	defer func() { // also where f panics: the stream is of no use before
		recorded.Add(-1)
		recordings.Delete(s)
		g, e := s.EndCapture()
		if err == nil && returned {
			run, err = g, e
		} else if e == nil {
			_ = g.Close()
		}
	}()
	outs, err = f()
	returned = true
	return nil, outs, err
}

// outputs starts what f returned, as a part of the sequence.
func (r *recording) outputs(op *operation, s *device.Stream, as []*Array) ([]*Array, error) {
	for i, a := range as {
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		v, _, err := a.stored()
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		if a.stream != s && !slices.Contains(r.written, v) {
			return nil, op.fail(fmt.Errorf("%w: output %d is not computed from the arrays that Capture hands to its function", expr.ErrUnsupported, i))
		}
	}
	return as, nil
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
// wait. It is ordered with other work on them, like any operation. An array that
// was freed is ErrFreed.
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
	for _, v := range g.written {
		v.settle(nil)
	}
	for _, v := range g.written {
		v.changedBy(c.name, &c.site)
	}
	before := make([]error, len(g.pending))
	for i, b := range g.pending {
		before[i] = b.Err()
		b.Heal()
	}
	err := g.run.Launch(g.stream)
	if err != nil {
		for i, b := range g.pending {
			if before[i] != nil { // an Into may have filled it before the first Replay
				b.Fail(before[i])
			}
		}
		return c.wrap(err)
	}
	g.pending = nil
	return nil
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
		g.run, g.written, g.pending = nil, nil, nil
	}
}
