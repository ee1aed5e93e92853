package array

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/layout"
)

// write gives the storage of an array new contents, which a node or the function put
// computes. It acquires everything that it needs before it changes anything.
//
// A write of the whole storage takes a fresh buffer if something may still read the old contents. Any other write
// overwrites the elements in place, and first saves those that something may still read.
type write struct {
	call   call
	sched  *scheduler
	place  // the written part
	rec    *recording
	stream *device.Stream

	// The source is one of expr, src and put.
	expr  *node                       // an operation of this write alone, on reads
	reads []*Array                    // the operands of expr
	src   *Array                      // copied or, if pending, computed in place
	put   func(dst device.View) error // writes the elements to any strides

	producer *node   // computes the elements: expr, or the node of src
	from     operand // the stored elements that copy reads
	copy     *node   // copies from
	job      job
	covers   bool // the written part is the whole storage
	fresh    *device.Buffer
	heals    error // an earlier failure of a fixed memory, which this write clears
}

// newWrite begins a write to an array.
func newWrite(c *call, to *Array, s *device.Stream) *write {
	return &write{call: *c, sched: schedulerOf(to.on()), place: place{to: to, Part: undo.Part{Layout: to.lay, DType: to.dt}}, stream: open(s), rec: recordingOn(s)}
}

// do performs the write. It refuses an array whose elements share memory.
func (w *write) do() error {
	if w.Layout.Repeats() {
		return fmt.Errorf("%w: an array of shape %v and strides %v, whose elements share memory, cannot be written; Clone it", layout.ErrShape, w.Layout.Shape, w.Layout.Strides)
	}
	s := w.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.beginWrite(&w.place, w.rec); err != nil {
		return err
	}
	defer func() {
		w.release()
		s.endWrites(&w.place)
	}()
	if err := w.source(); err != nil {
		return err
	}
	err := w.attempt()
	for errors.Is(err, device.ErrOutOfMemory) && w.storeReader() {
		err = w.attempt()
	}
	if err == nil {
		w.commit()
		return nil
	}
	if w.fresh != nil {
		w.fresh.Free()
	}
	if w.covers && w.replaceable() && isData(err) {
		w.carry(err)
		return nil
	}
	return err
}

// attempt acquires what the write needs, and writes. The mutex is held, but released in between.
func (w *write) attempt() error {
	s := w.sched
	err := s.ready(w.prepare)
	if err != nil {
		return err
	}
	s.mu.Unlock()
	op := observe.Begin(w.stream, w.call.name, w.call.site)
	w.job.describe(op)
	err = w.launch()
	op.Done(err)
	s.mu.Lock()
	w.idle()
	if w.put == nil {
		err = w.job.wrap(err)
	}
	return err
}

// storeReader computes one pending node that reads the memory and stores its result. It is the last resort if memory is
// short: without the reader, the write may need neither a fresh buffer nor a copy of the old elements. It reports whether there was such a node and
// memory for it. The mutex is held, but released in between.
func (w *write) storeReader() bool {
	if w.fresh != nil {
		w.fresh.Free()
		w.fresh = nil
	}
	n := w.pendingReader()
	return n != nil && (w.sched.start(n) == nil || n.state != pending)
}

// pendingReader returns a pending node that reads the memory, preferably a step of the write's own operation. It
// returns nil if there is none.
func (w *write) pendingReader() *node {
	if n := w.producer; n != nil && n.state == pending {
		for i := range n.n {
			if step := n.operand(i).pendingStep(); step != nil {
				return step
			}
		}
	}
	if w.old == nil || w.old.mem == nil {
		return nil
	}
	for _, n := range w.sched.pending.Waiting() {
		if n != w.producer && n.refersTo(func(c *contents) bool { return c.mem == w.old.mem }) > 0 {
			return n
		}
	}
	return nil
}

// source takes references to the contents that the write reads.
func (w *write) source() error {
	if n := w.expr; n != nil {
		n.stream, n.lay, n.dt, n.rec = w.stream, w.to.dense(), w.DType, w.rec
		w.producer = n
		return w.sched.bind(n, w.reads, len(w.reads), n.lay.Size())
	}
	if w.src == nil {
		return nil
	}
	var c *contents
	err := w.sched.ready(func() (err error) {
		c, err = w.src.contents(w.rec)
		return err
	})
	if err != nil {
		return err
	}
	if n := c.node; c.mem == nil && n.rec == w.rec && n.stream == w.stream && w.src.lay.Equal(&n.lay) {
		w.producer = n
	}
	w.hold(c, w.src.lay)
	return nil
}

// hold makes the write a reader of contents, viewed through lay, until release.
func (w *write) hold(c *contents, lay layout.Layout) {
	c.readers.Add(readerScope{nil}, &lay, w.DType)
	w.from, w.copy = operand{of: c, view: device.View{DType: w.DType, Layout: lay}}, nil
}

// release drops the references of the write.
func (w *write) release() {
	if n := w.expr; n != nil && n.state == pending {
		n.state = stored
		n.release()
	}
	if w.copy != nil {
		w.from = w.copy.in[0] // rebuild may have replaced it
	}
	if w.from.of != nil {
		w.from.of.dropReader(nil)
	}
	w.from, w.copy = operand{}, nil
}

// replaceable reports whether the write may take a fresh buffer.
func (w *write) replaceable() bool {
	return w.covers && !w.to.st.fixed() && (w.rec == nil || w.to.st.rec == w.rec)
}

// prepare acquires everything that the write needs, or returns the step that must come
// first. After the last call the write holds the memories that it uses.
func (w *write) prepare() error {
	old, err := w.to.contents(w.rec)
	if err != nil {
		return err
	}
	w.old, w.covers = old, w.Layout.Size() == w.to.st.size(w.DType) && !w.Layout.Repeats()
	if w.put == nil {
		if err := w.plan(); err != nil {
			return err
		}
		if !w.job.strided && !w.Layout.IsDense() {
			return w.aside()
		}
	}
	if w.covers && w.replaceable() && w.replaces() {
		if w.fresh == nil {
			return &unready{alloc: w.allocFresh}
		}
	} else if err := w.inPlace(); err != nil {
		return err
	}
	w.job.begin()
	if w.fresh == nil {
		old.mem.busy = true
	}
	return nil
}

// plan makes the job that computes the elements: in place if they were not computed before, else as a copy.
func (w *write) plan() error {
	if n := w.producer; n != nil && n.state == running {
		return &unready{}
	} else if n != nil && n.state == pending && !n.computed {
		return w.sched.plan(&w.job, n)
	}
	if w.copy == nil {
		if w.from.of == nil { // expr has been stored meanwhile
			w.hold(w.expr.out, w.expr.lay)
		}
		w.copy = w.copyOf(w.from)
		w.copy.aliases = true
	}
	return w.sched.plan(&w.job, w.copy)
}

// copyOf returns a node that copies an operand.
func (w *write) copyOf(in operand) *node {
	n := newNode(w.call)
	n.stream, n.lay, n.dt, n.rec, n.n = w.stream, w.to.dense(), w.DType, w.rec, 1
	n.rule, n.how, n.strided = cast, oneKernel, true
	n.run = runElementwise
	n.in[0] = in
	return n
}

// aside first stores the elements in other memory, because the job cannot write to its
// destination directly: the destination overlaps an operand, or is not dense.
func (w *write) aside() error {
	if n := w.producer; n != nil && n.state == pending && !n.computed {
		return &unready{node: n}
	}
	n := w.copyOf(w.copy.in[0])
	w.hold(n.out, n.lay)
	return &unready{node: n}
}

// own returns the number of references to the old contents that the write drops when it ends.
func (w *write) own() int {
	n := 0
	if w.from.of == w.old {
		n++
	}
	if x := w.expr; x != nil {
		for i := range x.n {
			if x.operand(i).of == w.old {
				n++
			}
		}
	}
	return n
}

// replaces reports whether the write takes a fresh buffer: because there is none, the old
// one has failed, something may still read it, or the write may fail after it has begun.
func (w *write) replaces() bool {
	m := w.old.mem
	if m == nil || m.err() != nil || m.buf.State().Uncertain() || m.inUse() || w.old.needed(w.own()) {
		return true
	}
	if m.prune(); len(m.olds) > 0 {
		return true
	}
	return w.put == nil && (w.job.mayFail() || !w.job.allows(w.In(m.buf)))
}

// inPlace prepares a write to the existing memory.
func (w *write) inPlace() error {
	m := w.old.mem
	if m == nil {
		return w.old.missing()
	}
	if m.err() == nil && m.buf.State().Uncertain() { // wait for the check on the device
		return &unready{alloc: func() error {
			if err := m.buf.State().Settled(); err != nil && !w.covers {
				return err
			}
			return nil
		}}
	}
	if err := m.err(); err != nil {
		if !w.covers || isFreed(err) {
			return w.old.blame(err)
		}
		w.heals = err
	}
	if w.put == nil && !w.job.allows(w.In(m.buf)) {
		return w.aside()
	}
	return w.saveFirst(w.own(), w.stream)
}

// allocFresh gets a buffer for the whole storage.
func (w *write) allocFresh() (err error) {
	op := observe.Begin(w.stream, w.call.name, w.call.site)
	w.fresh, err = alloc(w.stream.Device(), int64(w.Layout.Size())*int64(w.DType.Size()), w.stream)
	op.Done(err)
	if err == nil {
		label(w.fresh, &w.call, w.Layout.Shape, w.DType)
	}
	return err
}

// launch saves the elements that must be saved, and writes. The mutex is not held.
func (w *write) launch() error {
	if w.fresh != nil {
		// The layout may be a view of the whole storage, for example transposed.
		return w.write(w.In(w.fresh))
	}
	m := w.old.mem
	if err := w.kept.Save(w.stream); err != nil {
		return err
	}
	if w.heals != nil {
		m.buf.State().Heal()
	}
	err := w.write(w.In(m.buf))
	if err != nil && w.heals != nil {
		m.buf.State().Fail(w.heals)
	}
	return err
}

func (w *write) write(dst device.View) error {
	if w.put != nil {
		return w.put(dst)
	}
	return w.job.compute(dst)
}

// idle ends the write's use of the memories. The mutex is held.
func (w *write) idle() {
	if w.fresh == nil {
		w.old.mem.busy = false
	}
	w.job.end()
}

// commit gives the storage its new contents.
func (w *write) commit() {
	var c *contents
	switch n := w.producer; {
	case n != nil && n == w.job.node && n == w.expr: // it describes the contents
		n.keepPlan(&w.job)
		c = n.out
	case n != nil && n == w.job.node:
		n.fused, n.computed = w.job.fused, true
		fallthrough
	default:
		c = &contents{origin: &origin{w.call, "written in place"}}
	}
	c.scope = w.to.st.scope
	w.release()
	if w.fresh != nil {
		lay := layout.Dense(w.Layout.Shape)
		if !w.Layout.IsDense() {
			lay = layout.Dense([]int{w.Layout.Size()})
		}
		c.mem = newMemory(w.fresh, lay, w.DType)
		c.mem.rec = w.rec
		w.to.st.scope.claim(c.mem)
		w.old.supersede()
	} else {
		w.next(c)
	}
	w.show(c, w.rec)
}

// carry gives the storage contents that carry err.
func (w *write) carry(err error) {
	w.release()
	n := newNode(w.call)
	n.stream, n.lay, n.dt = w.stream, layout.Dense(w.Layout.Shape), w.DType
	n.state, n.err, n.how = failed, err, "failed"
	w.old.supersede()
	w.show(n.out, w.rec)
}
