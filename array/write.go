package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// write gives the storage of an array new contents: those of a node, or what put
// writes. It has everything that it needs before anything changes.
//
// A write of the whole storage takes a fresh buffer where something may still read the
// old contents. Any other write goes where the elements are, and saves what it
// overwrites where something may still read that.
type write struct {
	call  call
	sched *scheduler
	to    *Array
	part  // what is written
	rec   *recording
	// covers is set where the part is the whole storage.
	covers bool

	expr *node // computes the elements: that of src, or made for this write
	mine bool  // made for this write
	copy *node // reads them where they are stored
	put  func(dst device.View) error

	stream *device.Stream
	job    *job
	old    *contents
	fresh  *device.Buffer
	kept   *keep
	heals  error // what a fixed memory has failed with, which the write mends
}

// newWrite begins a write to an array.
func newWrite(c *call, to *Array, s *device.Stream) *write {
	return &write{call: *c, sched: schedulerOf(to.on()), to: to, part: part{to.lay, to.dt}, stream: s, rec: recordingOn(s)}
}

// from has the write copy an array, or compute it in place where it is pending.
func (w *write) from(src *Array) error {
	c, err := src.contents(w.rec)
	if err != nil {
		return err
	}
	if c.mem == nil && c.node.rec == w.rec && c.node.stream == w.stream && sameLayout(&src.lay, &c.node.lay) {
		w.expr = c.node
	}
	w.reads(c, src)
	return nil
}

// reads makes the node that copies contents, as an array sees them.
func (w *write) reads(c *contents, as *Array) {
	n := newNode(w.call)
	n.stream, n.lay, n.dt, n.rec, n.n = w.stream, layout.Dense(as.lay.Shape), as.dt, w.rec, 1
	n.run, n.how, n.strided, n.alias = runCast, oneKernel, true, sameElements
	n.in[0] = operand{of: c, view: device.View{DType: as.dt, Layout: as.lay}}
	c.addReader(nil, &as.lay, as.dt)
	w.copy = n
}

// compute has the write store what a node computes from arrays. The node is part of
// the write: nobody else sees it.
func (w *write) compute(n *node, steps int, reads ...*Array) error {
	n.stream, n.lay, n.dt, n.rec = w.stream, layout.Dense(w.lay.Shape), w.dt, w.rec
	if err := w.sched.bind(n, reads, steps, n.lay.Size()); err != nil {
		return err
	}
	w.expr, w.mine = n, true
	return nil
}

// do does the write, whose source is what source names.
func (w *write) do(source func() error) error {
	s := w.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.begin(); err != nil {
		return err
	}
	defer w.end()
	if source != nil {
		if err := source(); err != nil {
			return err
		}
	}
	err := s.ready(w.prepare)
	if err == nil {
		s.mu.Unlock()
		err = w.launch()
		s.mu.Lock()
		w.idle()
	}
	if err == nil {
		w.commit()
		return nil
	}
	if w.fresh != nil {
		w.fresh.Free()
	}
	if w.kept != nil {
		w.kept.buf.Free()
	}
	if w.replaceable() && isData(err) {
		w.carry(err)
		return nil
	}
	return err
}

// begin waits until nobody else writes to the storage.
func (w *write) begin() error { return w.sched.beginWrite(w.to, w.rec) }

// beginWrite waits until nobody else writes to the storage of an array, and marks it
// as being written. In a capture, a storage from outside is stored first: the
// recording fixes only memory that is there, and not while it is being written.
func (s *scheduler) beginWrite(to *Array, rec *recording) error {
	return s.ready(func() error {
		if to.st.writing {
			return &unready{}
		}
		c, err := to.contents(rec)
		if err != nil {
			return err
		}
		if rec != nil && to.st.rec == nil && c.mem == nil {
			if err := c.err(); err != nil {
				return err
			}
			return &unready{node: c.node}
		}
		to.st.writing = true
		return nil
	})
}

func (w *write) end() {
	w.release()
	w.to.st.writing = false
	w.sched.changed.Broadcast()
}

// release drops the references of the nodes that are part of the write.
func (w *write) release() {
	if w.copy != nil {
		w.copy.release()
	}
	if w.mine && w.expr.state == pending {
		w.expr.state = stored
		w.expr.release()
	}
	w.copy, w.mine = nil, false
}

// replaceable reports whether the write may take a fresh buffer.
func (w *write) replaceable() bool {
	return w.covers && w.to.st.fixed == 0 && (w.rec == nil || w.to.st.rec == w.rec)
}

// isData reports whether an error comes of the elements: an index of Take, say.
func isData(err error) bool {
	var queued *device.SubmitError
	return isPermanent(err) && !isFreed(err) && !asError(err, &queued)
}

// prepare has everything that the write needs, or says what is missing. In the end it
// holds the memories that the write uses.
func (w *write) prepare() error {
	old, err := w.to.contents(w.rec)
	if err != nil {
		return err
	}
	w.old, w.covers = old, w.lay.Size() == w.to.st.size(w.dt) && !w.lay.Repeats()
	w.job = nil
	if w.put == nil {
		if w.job, err = w.plan(); err != nil {
			return err
		}
	}
	if w.job != nil && !w.job.strided && !w.lay.IsDense() {
		return w.aside()
	}
	if w.replaceable() && w.replaces() {
		if w.fresh == nil {
			return &unready{alloc: w.allocFresh}
		}
	} else if err := w.inPlace(); err != nil {
		return err
	}
	if w.job != nil {
		w.job.begin()
	}
	if w.fresh == nil {
		old.mem.busy = true
	}
	return nil
}

// plan makes the job that computes the elements: in place where nobody has computed
// them before, else as a copy.
func (w *write) plan() (*job, error) {
	if n := w.expr; n != nil && !n.computed {
		switch n.state {
		case running:
			return nil, &unready{}
		case pending:
			j, err := w.sched.plan(n)
			if err != nil || !w.mine {
				return j, err
			}
			return j, nil
		}
	}
	if w.copy == nil { // of what was made for this write, and stored meanwhile
		w.reads(w.expr.out, &Array{lay: w.expr.lay, dt: w.expr.dt})
	}
	return w.sched.plan(w.copy)
}

// aside has the elements stored elsewhere first: the job cannot write over what it
// reads.
func (w *write) aside() error {
	if n := w.expr; n != nil && n.state == pending && !n.computed {
		return &unready{node: n}
	}
	in := &w.copy.in[0]
	n := newNode(w.call)
	n.stream, n.lay, n.dt, n.rec, n.n = w.stream, w.copy.lay, w.copy.dt, w.rec, 1
	n.run, n.how, n.strided = runCast, oneKernel, true
	n.in[0] = *in
	in.of.addReader(nil, &in.view.Layout, in.view.DType)
	w.copy.release()
	w.reads(n.out, &Array{lay: n.lay, dt: n.dt})
	return &unready{node: n}
}

// own is the number of references to the old contents that end with the write.
func (w *write) own() int {
	n := 0
	for _, x := range []*node{w.copy, w.expr} {
		if x == nil || x == w.expr && !w.mine {
			continue
		}
		for i := range x.n {
			if x.operand(i).of == w.old {
				n++
			}
		}
	}
	return n
}

// replaces reports whether the write takes a fresh buffer: there is no other, it has
// failed, something may still read it, or the write may fail once it has begun.
func (w *write) replaces() bool {
	m := w.old.mem
	if m == nil || m.err() != nil || m.buf.Doubtful() || m.pins > 0 || m.busy || w.old.needed(w.own()) {
		return true
	}
	if m.prune(); len(m.olds) > 0 {
		return true
	}
	return w.job != nil && (w.job.mayFail() || !w.job.allows(w.view(m.buf)))
}

// mayFail reports whether only the device finds out that the job cannot be done.
func (j *job) mayFail() bool {
	if j.stream.Device().Kind() == device.CPU {
		return false
	}
	for _, m := range j.pins {
		if m.buf.Doubtful() {
			return true
		}
	}
	return j.code == expr.Take
}

// view is the part that is written, in a buffer.
func (w *write) view(buf *device.Buffer) device.View {
	return device.View{Buffer: buf, DType: w.dt, Layout: w.lay}
}

// inPlace prepares a write to the memory that is there.
func (w *write) inPlace() error {
	m := w.old.mem
	if m == nil {
		if err := w.old.err(); err != nil {
			return err
		}
		return &unready{node: w.old.node}
	}
	if err := m.err(); err != nil {
		if !w.covers || isFreed(err) {
			return w.old.blame(err)
		}
		w.heals = err
	}
	if m.busy || m.pins > 0 {
		return &unready{}
	}
	if w.job != nil && !w.job.allows(w.view(m.buf)) {
		return w.aside()
	}
	return w.sched.saveFirst(w.old, w.own(), w.part, &w.kept, w.stream)
}

// saveFirst says what must happen before a write in place to a part of a memory,
// whose newest version c shows. It fills in what the write is to save; nil for
// nothing.
func (s *scheduler) saveFirst(c *contents, own int, p part, kept **keep, stream *device.Stream) error {
	m := c.mem
	if !m.needs(c, own, &p) {
		if *kept != nil {
			(*kept).buf.Free()
			*kept = nil
		}
		return nil
	}
	k := m.keeping(p)
	if old := *kept; old != nil {
		if old.mem == m && old.whole == k.whole {
			return nil
		}
		old.buf.Free()
		*kept = nil
	}
	if n := s.cheaperReader(c, own, k.cost()); n != nil {
		return &unready{node: n}
	}
	return &unready{alloc: func() error {
		if err := k.alloc(stream); err != nil {
			return err
		}
		*kept = &k
		return nil
	}}
}

// cost is the number of bytes that saving moves.
func (k *keep) cost() int64 {
	if k.whole {
		return 2 * k.mem.bytes()
	}
	return 2 * int64(k.lay.Size()) * int64(k.dt.Size())
}

// cheaperReader returns a pending node whose run makes saving unnecessary, and moves
// fewer bytes: the only reader of c beside the write's own. It returns nil where
// there is none.
func (s *scheduler) cheaperReader(c *contents, own int, bytes int64) *node {
	if len(c.mem.olds) > 0 || c.count() != own+1 {
		return nil
	}
	for _, n := range s.waiting() {
		moved, reads := int64(n.lay.Size())*int64(n.dt.Size()), false
		for i := range n.n {
			in := n.operand(i)
			reads = reads || in.of == c
			moved += int64(in.view.Layout.Size()) * int64(in.view.DType.Size())
		}
		if reads && !n.fuses() && moved <= bytes {
			return n
		}
	}
	return nil
}

// allocFresh gets a buffer for the whole storage.
func (w *write) allocFresh() (err error) {
	w.fresh, err = alloc(w.stream.Device(), int64(w.lay.Size())*int64(w.dt.Size()), w.stream)
	if err == nil {
		label(w.fresh, &w.call, w.lay.Shape, w.dt)
	}
	return err
}

// launch saves what must be saved, and writes. The mutex is not held.
func (w *write) launch() error {
	if w.fresh != nil {
		// The layout may be a view of the whole, transposed say.
		return w.write(w.view(w.fresh))
	}
	m := w.old.mem
	if w.kept != nil {
		if err := w.kept.save(w.stream); err != nil {
			return err
		}
	}
	if w.heals != nil {
		m.buf.Heal()
	}
	err := w.write(w.view(m.buf))
	if err != nil && w.heals != nil {
		m.buf.Fail(w.heals)
	}
	return err
}

func (w *write) write(dst device.View) error {
	if w.put != nil {
		return w.put(dst)
	}
	return w.job.wrap(w.job.run(dst))
}

// idle ends the use of the memories. The mutex is held.
func (w *write) idle() {
	if w.fresh == nil {
		w.old.mem.busy = false
	}
	if w.job != nil {
		w.job.end()
	}
}

// commit gives the storage its new contents.
func (w *write) commit() {
	c := &contents{origin: w.call, how: "written in place"}
	if n := w.expr; n != nil && w.job != nil && n == w.job.out.node {
		n.fused, n.apart = w.job.fused, w.job.apart
		if n.product != nil && w.mine {
			n.product = w.job.product.detached()
		}
		if w.mine { // it describes the contents
			n.out, c.node = c, n
		} else {
			n.computed = true
		}
	}
	w.release()
	if w.fresh != nil {
		lay := layout.Dense(w.lay.Shape)
		if !w.lay.IsDense() {
			lay = layout.Dense([]int{w.lay.Size()})
		}
		c.mem = newMemory(w.fresh, lay, w.dt)
		w.to.st.scope.own(c.mem)
		w.old.supersede()
	} else {
		m := w.old.mem
		m.commit(w.old, w.kept)
		c.mem, c.version = m, m.version
	}
	w.install(c)
}

// carry gives the storage contents that have failed.
func (w *write) carry(err error) {
	w.release()
	n := newNode(w.call)
	n.stream, n.lay, n.dt = w.stream, layout.Dense(w.lay.Shape), w.dt
	n.state, n.err, n.how = failed, err, "failed"
	w.old.supersede()
	w.install(n.out)
}

func (w *write) install(c *contents) {
	if w.rec != nil && w.to.st.rec == nil {
		w.rec.install(w.to.st, c, w.part)
		return
	}
	w.to.st.cur = c
}

// errBroadcast refuses a write to elements that lie on each other.
func errBroadcast(a *Array) error {
	return fmt.Errorf("%w: a broadcast array of shape %v cannot be written", layout.ErrShape, a.lay.Shape)
}
