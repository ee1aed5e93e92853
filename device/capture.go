package device

import (
	"runtime"
	"sync"
	"unsafe"
)

// capture is the state of a stream that records a sequence of work. Guarded by the device's
// mutex.
type capture struct {
	reads, writes map[*Buffer]struct{}
	own           map[*allocation]struct{} // allocated and freed in the sequence
	idle          map[int64][]*block       // blocks of these allocations; they belong to the graph
	steps         []Work                   // CPU: the recorded work
}

// Keeper is Work that its owner reuses after LaunchWork has returned. A sequence that is
// recorded on the CPU stores the copy that Keep returns.
type Keeper interface {
	Work
	Keep() Work
}

// record stores a piece of CPU work for replays.
func (c *capture) record(reads, writes []*Buffer, w Work) {
	c.note(reads, writes)
	if k, ok := w.(Keeper); ok {
		w = k.Keep()
	}
	c.steps = append(c.steps, w)
}

// recording reports whether the capture is still in progress.
func (c *capture) recording() bool { return c.reads != nil }

// take returns a block that the sequence freed, or nil.
func (c *capture) take(size int64) *block {
	blocks := c.idle[size]
	if len(blocks) == 0 {
		return nil
	}
	c.idle[size] = blocks[:len(blocks)-1]
	return blocks[len(blocks)-1]
}

// put keeps the block of an allocation that the sequence made and freed.
func (c *capture) put(a *allocation) {
	c.own[a] = struct{}{}
	c.idle[a.block.size] = append(c.idle[a.block.size], a.block)
}

func (c *capture) note(reads, writes []*Buffer) {
	for _, b := range reads {
		if b != nil {
			c.reads[b] = struct{}{}
		}
	}
	for _, b := range writes {
		if b != nil {
			c.writes[b] = struct{}{}
		}
	}
}

// buffers lists the buffers that the sequence uses and does not own.
func (c *capture) buffers(set map[*Buffer]struct{}) (out []*Buffer) {
	for b := range set {
		if _, own := c.own[b.a]; !own {
			out = append(out, b)
		}
	}
	return out
}

// Graph is a recorded sequence of work that is launched as one. It keeps the
// buffers that it uses alive, and owns the memory that was allocated and freed
// while it was recorded.
type Graph struct {
	dev *Device
	*graphState
	cleanup runtime.Cleanup
	running sync.Mutex // held during a launch on the CPU: launches share the sequence's memory
}

// graphState is the state behind a Graph. Guarded by the device's mutex.
type graphState struct {
	graph, exec   uint64
	steps         []Work // on the CPU: the recorded work
	reads, writes []*Buffer
	blocks        []*block
	last          []use // launches for which the memory has to wait
	closed        bool
}

// BeginCapture starts to record the work of the stream. Until EndCapture none of it runs.
// BeginCapture waits for calls that use the stream. Other streams are not affected, and the
// recording goroutine may move between threads. During the capture, transfers to and from
// the host and waits are errors on this stream.
func (s *Stream) BeginCapture() error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for waits := true; waits; {
		if err := s.check(); err != nil {
			return err
		}
		if s.capture != nil {
			return errorf("BeginCapture: the stream is already being captured")
		}
		if waits = s.waiters > 0; waits {
			d.left.Wait()
		}
	}
	// Other streams may have to wait for earlier work. Record the event for that now.
	// During the capture it would become part of the sequence.
	if s.seq > s.marked {
		if err := s.markUpTo(s.seq); err != nil {
			return err
		}
	}
	if err := d.backend.beginCapture(s.handle); err != nil {
		return err
	}
	s.capture = &capture{
		reads: map[*Buffer]struct{}{}, writes: map[*Buffer]struct{}{},
		own: map[*allocation]struct{}{}, idle: map[int64][]*block{},
	}
	return nil
}

// EndCapture ends the recording and returns the sequence, ready to be
// launched. Close it when it is no longer needed.
func (s *Stream) EndCapture() (*Graph, error) {
	d, err := s.owner()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := s.capture
	if c == nil {
		return nil, errorf("EndCapture: the stream is not being captured; call BeginCapture first")
	}
	s.capture = nil
	g := &Graph{dev: d, graphState: &graphState{}}
	for _, blocks := range c.idle {
		g.blocks = append(g.blocks, blocks...)
	}
	if g.graph, err = d.backend.endCapture(s.handle); err == nil {
		g.exec, err = d.backend.newExec(g.graph)
	}
	if err != nil {
		_ = d.release(g.graphState)
		*c = capture{}
		return nil, err
	}
	g.reads, g.writes, g.steps = c.buffers(c.reads), c.buffers(c.writes), c.steps
	*c = capture{} // live allocations refer to c: it must not keep their buffers alive
	g.cleanup = runtime.AddCleanup(g, d.dropped.pushGraph, g.graphState)
	d.captured()
	return g, nil
}

// Launch puts the sequence on s (nil: the default stream). If a buffer that it uses has
// been freed since, the error is ErrFreed.
func (g *Graph) Launch(s *Stream) error {
	if g == nil || g.dev == nil {
		return errNoGraph
	}
	d := g.dev
	s, err := d.own(s)
	if err != nil {
		return err
	}
	m := d.observe(Replaying, s, 0)
	if d.info.Kind == CPU {
		err = g.launchHost(m, s)
	} else {
		err = g.launch(m, s)
	}
	m.done(err)
	return err
}

// launch is Launch on a GPU.
func (g *Graph) launch(m *Measurement, s *Stream) error {
	d := g.dev
	d.mu.Lock()
	reads := g.reads
	d.mu.Unlock()
	if err := resolveOf(reads); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.closed {
		return errorf("the graph is closed")
	}
	if s.capture != nil {
		return errorf("cannot launch a graph on a stream that is being captured")
	}
	if err := d.begin(s, g.reads, g.writes); err != nil {
		return err
	}
	// The launch reuses the sequence's own memory.
	for _, u := range g.last {
		if err := d.order(s, u); err != nil {
			return err
		}
	}
	d.note(s, g.reads, g.writes)
	g.last = append(g.last[:0], use{s, s.seq})
	m.start(s)
	defer m.stop(s)
	return d.backend.launchExec(g.exec, s.handle)
}

// launchHost runs the sequence in this goroutine.
func (g *Graph) launchHost(m *Measurement, s *Stream) error {
	d := g.dev
	g.running.Lock()
	defer g.running.Unlock()
	d.mu.Lock()
	closed, capturing, reads, writes, steps := g.closed, s.capture != nil, g.reads, g.writes, g.steps
	d.mu.Unlock()
	switch {
	case closed:
		return errorf("the graph is closed")
	case capturing:
		return errorf("cannot launch a graph on a stream that is being captured")
	}
	return d.launchHost(m, s, reads, writes, work(func(ordinal int, stream uint64) error {
		for _, w := range steps {
			if err := w.Start(ordinal, stream); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Update makes g launch the sequence of from, and closes from. It is cheaper than a new
// graph. On the CPU it waits for a launch in progress. If the sequences differ in more than
// addresses and sizes, the driver returns an error, and both graphs remain unchanged.
func (g *Graph) Update(from *Graph) error {
	if g == nil || g.dev == nil {
		return errNoGraph
	}
	d := g.dev
	if from == nil || from.dev != d || from == g {
		return errorf("the graph to update from is nil, the same graph, or of another device")
	}
	first, second := g, from
	if uintptr(unsafe.Pointer(first)) > uintptr(unsafe.Pointer(second)) {
		first, second = second, first // a fixed order avoids deadlock
	}
	first.running.Lock()
	defer first.running.Unlock()
	second.running.Lock()
	defer second.running.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.closed || from.closed {
		return errorf("the graph is closed")
	}
	if err := d.backend.updateExec(g.exec, from.graph); err != nil {
		return err
	}
	// Closing `from` releases its old executable, and the old sequence and memory of g.
	was := *g.graphState
	*g.graphState = *from.graphState
	g.exec, g.last = was.exec, append(was.last, from.last...)
	was.exec, was.last = from.exec, g.last
	*from.graphState = was
	return d.release(from.graphState)
}

// Close releases the graph, after its launches. Closing it twice does nothing.
func (g *Graph) Close() error {
	if g == nil || g.dev == nil {
		return errNoGraph
	}
	d := g.dev
	g.running.Lock()
	defer g.running.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.release(g.graphState)
}

// release frees a graph's handles and memory, once; mu is held.
func (d *Device) release(g *graphState) error {
	if g.closed {
		return nil
	}
	var err error
	if g.exec != 0 {
		err = d.backend.closeExec(g.exec)
	}
	if g.graph != 0 {
		if e := d.backend.closeGraph(g.graph); err == nil {
			err = e
		}
	}
	for _, b := range g.blocks {
		if b.home.closed {
			b.home = d.main
		}
		b.uses = b.uses[:0]
		for _, u := range g.last {
			if b.home.behind(u) {
				b.uses = append(b.uses, u)
			}
		}
		d.pool.unuse(b.size, b.born)
		d.pool.shelve(b)
	}
	*g = graphState{closed: true}
	return err
}
