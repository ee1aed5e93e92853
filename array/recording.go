package array

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/undo"
)

// recording is a capture under way. Nothing is computed during the capture, so a storage has two contents: within
// the capture those that the sequence will write, and outside of it the current ones. A recording therefore has
// contents and memories of its own over the same buffers.
//
// The scheduler's mutex guards cur, written, fixed and ended.
type recording struct {
	sched   *scheduler
	stream  *device.Stream
	cur     map[*storage]*contents
	written []*place
	fixed   []*storage
	ended   bool

	mu   sync.Mutex
	err  error // the first error that prevents the capture
	told []Replayed
}

// recordings maps each stream that is being captured to its capture. recorded counts them,
// so that a program without captures pays only one atomic load.
var (
	recordings sync.Map // *device.Stream -> *recording
	recorded   atomic.Int32
)

// recordingOn returns the capture of a stream, or nil.
func recordingOn(s *device.Stream) *recording {
	if recorded.Load() == 0 {
		return nil
	}
	if r, ok := recordings.Load(s); ok {
		return r.(*recording)
	}
	return nil
}

// refuse records the error with which the capture will end, and returns it.
func (r *recording) refuse(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return err
}

// errWaits is the cause of the error of a call that needs elements during a capture.
var errWaits = fmt.Errorf("%w: elements cannot be copied between the host and a device during Capture, which computes nothing before Replay", expr.ErrUnsupported)

// unwaited refuses a call on operands that would wait for elements on a stream that is being captured.
func unwaited(c *call, s *device.Stream, operands ...*Array) error {
	if r := recordingOn(s); r != nil {
		return r.refuse(c.fail(errWaits, operands...))
	}
	return nil
}

// streamOf returns the stream of an operation: the stream of its first operand, unless
// another operand's stream is being captured.
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

// errIntermediate is the cause of the error of reading an intermediate result of a
// captured sequence outside of the sequence.
var errIntermediate = fmt.Errorf("%w: an intermediate result of a captured sequence cannot be used outside of it; return it from the function to make it an output", expr.ErrUnsupported)

// contents returns the contents that a storage from outside shows in the sequence, and fixes its memory. Contents
// that are not stored yet are returned unchanged. The mutex is held.
func (r *recording) contents(st *storage) (*contents, error) {
	if c := r.cur[st]; c != nil {
		return c, nil
	}
	if st.writing { // the write may replace the buffer
		return nil, &unready{}
	}
	c := st.cur
	if c.mem == nil {
		return c, nil
	}
	m := *c.mem
	m.pins, m.busy, m.log, m.olds, m.scope, m.rec = 0, false, undo.Log{}, nil, nil, r
	in := &contents{mem: &m, version: m.version, origin: &origin{*c.writer(), "as it is at each Replay"}}
	st.holds++
	r.fixed, r.cur[st] = append(r.fixed, st), in
	return in, nil
}

// install records that the sequence writes a part of a storage from outside. In the
// sequence the storage shows c from then on. The mutex is held.
func (r *recording) install(st *storage, c *contents, p undo.Part) {
	r.cur[st] = c
	for _, w := range r.written {
		if w.to.st == st {
			if w.DType != p.DType || !w.Layout.Equal(&p.Layout) { // both are a part of the whole memory
				w.Part = c.mem.Part
			}
			return
		}
	}
	r.written = append(r.written, &place{to: &Array{st: st, stream: r.stream, dt: p.DType}, Part: p})
}

// record runs f while s is captured.
func (r *recording) record(s *device.Stream, f func() ([]*Array, error)) (run *device.Graph, outs []*Array, err error) {
	if err := s.BeginCapture(); err != nil {
		return nil, nil, err
	}
	recordings.Store(s, r)
	recorded.Add(1)
	returned := false
	defer func() { // deferred, because a panic of f must end the capture too
		recorded.Add(-1)
		recordings.Delete(s)
		r.sched.mu.Lock()
		r.ended = true
		r.sched.mu.Unlock()
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

// outputs starts the arrays that f returned, as a part of the sequence.
func (r *recording) outputs(as []*Array) ([]*Array, error) {
	for i, a := range as {
		if err := a.start(); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		if a.stream != r.stream && !r.writes(a.st) {
			return nil, fmt.Errorf("%w: output %d is not computed from the arrays that Capture hands to its function", expr.ErrUnsupported, i)
		}
	}
	return as, nil
}

func (r *recording) writes(st *storage) bool {
	r.sched.mu.Lock()
	defer r.sched.mu.Unlock()
	return slices.ContainsFunc(r.written, func(w *place) bool { return w.to.st == st })
}

// graph makes the graph of the sequence. Its outputs become ordinary arrays in fixed memory.
func (r *recording) graph(run *device.Graph, outs []*Array, onto *device.Stream) *Graph {
	s := r.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &Graph{stream: onto, run: run, written: r.written, fixed: r.fixed, told: r.told}
	for _, w := range r.written {
		w.to.stream = onto
	}
	for _, a := range outs {
		b := a.with(a.lay)
		b.stream, b.in = onto, nil
		g.outs = append(g.outs, b)
		st := a.st
		if st.rec != r || st.ended != nil {
			continue // an array from outside keeps its contents, and one that was freed meanwhile has none
		}
		m := st.cur.mem
		// New contents have no readers: nodes of the sequence that were not computed do not count.
		st.cur = &contents{node: st.cur.node, origin: st.cur.origin, mem: m, version: st.cur.version}
		st.rec, st.scope, st.holds = nil, nil, st.holds+1
		m.scope, m.log, m.olds, m.rec = nil, undo.Log{}, nil, nil
		g.written = append(g.written, &place{to: &Array{st: st, stream: onto, dt: m.DType, lay: m.Layout}, Part: m.Part})
		g.unset = append(g.unset, m.buf)
		m.buf.State().Fail(fmt.Errorf("%w: an output of a captured sequence has no elements before its first Replay", expr.ErrUnsupported))
	}
	return g
}

// unfix ends a graph's claim on the memory of storages.
func unfix(s *scheduler, list []*storage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range list {
		st.holds--
	}
}
