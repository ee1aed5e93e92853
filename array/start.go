package array

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/chain"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/internal/operror"
	"github.com/gpk-go/gpk/internal/product"
	"github.com/gpk-go/gpk/internal/undo"
	"github.com/gpk-go/gpk/layout"
)

// job is a node that is about to run, with the views of its operands and the chain that it forms with its steps.
type job struct {
	*node
	use
	stream  *device.Stream // the node's stream, or the default stream once that is closed
	views   [3]device.View
	others  []device.View    // views of operands beyond the third
	plan    *planner         // nil: the node has no steps
	spare   *planner         // zero, for the next plan; nil for none
	steps   []*node          // nodes that the job computes as part of the chain
	product *product.Product // a copy of a product node's problem, with the views of its operands
	fused   *chain.Plan
	runs    func(j *job, s *device.Stream, dst device.View) error
}

// view returns the elements of the i-th operand.
func (j *job) view(i int) device.View { return *j.place(i) }

// all returns the elements of every operand. A captured sequence keeps the list.
func (j *job) all() []device.View {
	if j.n <= len(j.views) && j.rec == nil {
		return j.views[:j.n]
	}
	views := make([]device.View, j.n)
	for i := range views {
		views[i] = j.view(i)
	}
	return views
}

func (j *job) place(i int) *device.View {
	if i < len(j.views) {
		return &j.views[i]
	}
	return &j.others[i-len(j.views)]
}

// unready names the step that must come first before a node can run.
type unready struct {
	node  *node        // it must be stored
	in    *operand     // it must be rebuilt: a write has overwritten a part of it
	owner *node        // the node that has the operand in
	alloc func() error // allocates memory that is needed
}

// Error implements error.
func (*unready) Error() string { return "an operand is not there yet" }

// prepare performs the step that u names. If u names none, it waits. The mutex is held, and released meanwhile.
func (s *scheduler) prepare(u *unready) error {
	switch {
	case u.node != nil:
		// The failure of the node is no error here: its consumers will find it. A write may
		// start a node only because the node reads elements that are about to be overwritten.
		if err := s.start(u.node); err != nil && u.node.state == pending {
			return err
		}
		return nil
	case u.in != nil:
		return s.rebuild(u.owner, u.in)
	case u.alloc != nil:
		s.mu.Unlock()
		defer s.mu.Lock()
		return u.alloc()
	}
	s.changed.Wait()
	return nil
}

// ready calls f, and performs the step that an unready error names, until f returns another result. The mutex is held, and released between the calls.
func (s *scheduler) ready(f func() error) error {
	for {
		err := f()
		u, ok := err.(*unready)
		if !ok {
			return err
		}
		if err := s.prepare(u); err != nil {
			return err
		}
	}
}

// start stores a node: it runs the node, or waits if another goroutine runs it. The mutex is held, and released while the node runs.
func (s *scheduler) start(n *node) error {
	j := s.idle
	if j == nil {
		j = &job{}
	}
	s.idle = nil
	defer func() {
		if s.dev.Kind() != device.CPU { // queued work may refer to the job and its plan
			return
		}
		spare := j.spare
		if j.plan != nil {
			spare = j.plan
			*spare = planner{}
		}
		*j = job{spare: spare}
		s.idle = j
	}()
	if err := s.ready(func() error { return s.planPending(j, n) }); err != nil {
		if err != errEnded && n.state == pending && isPermanent(err) {
			s.end(n, failed, n.wrap(err), nil)
		}
		if n.state != pending {
			return n.out.err()
		}
		return n.wrap(err)
	}
	n.state = running
	j.begin()
	s.mu.Unlock()
	buf, err := j.store()
	s.mu.Lock()
	j.end()
	switch {
	case err == nil:
		s.complete(j, buf)
	case isPermanent(err):
		s.end(n, failed, j.wrap(err), nil)
		err = n.err
	default:
		n.state, err = pending, j.wrap(err)
		s.pending.Restore(n)
		s.changed.Broadcast()
	}
	return err
}

// planPending makes the job of a node if it is pending. If the node has ended, it returns errEnded.
func (s *scheduler) planPending(j *job, n *node) error {
	switch {
	case n.state == running:
		return &unready{}
	case n.state != pending:
		return errEnded
	case n.rec != nil && n.rec.ended:
		return errIntermediate
	case n.out.scope.isClosed():
		s.end(n, freed, nil, n.out.scope.closed.Load())
		return errEnded
	case n.computed:
		if err := s.storeAgain(n); err != nil {
			return err
		}
	}
	return s.plan(j, n)
}

// complete gives the contents of a job's node the buffer that the job has computed.
func (s *scheduler) complete(j *job, buf *device.Buffer) {
	n, c := j.node, j.out
	m := newMemory(buf, n.lay, n.dt)
	m.current, m.rec = !c.superseded, n.rec
	c.scope.claim(m)
	c.mem = m
	n.keepPlan(j)
	s.end(n, stored, nil, nil)
	if c.scope.isClosed() { // meanwhile
		_ = m.free(c.scope.closed.Load()) // memory of the pool
	}
	if !m.current {
		m.remember(c)
		m.tidy()
	}
}

// keepPlan keeps, for Explain, how a job has computed the node.
func (n *node) keepPlan(j *job) {
	n.fused = j.fused
	if n.product != nil {
		j.product.Detach()
		n.product = j.product
	}
}

// errEnded says that a node is stored, failed or freed, so that there is nothing to start.
var errEnded = errors.New("the node has ended")

// end moves a node to a final state. by is the call that frees it. The mutex is held.
func (s *scheduler) end(n *node, to state, err error, by *call) {
	if by != nil {
		err = n.fail(freedBy(by))
	}
	n.state, n.err = to, err
	n.release()
	s.pending.Ended(n)
	s.changed.Broadcast()
}

// storeAgain handles an intermediate result that is read a second time. It stores the product among its steps, so
// that no product runs more than twice. Later results of the same line do not become steps.
func (s *scheduler) storeAgain(n *node) error {
	if len(s.reread) < maxReread {
		s.reread[n.site] = true
	}
	if h := n.head(); h != nil {
		return &unready{node: h}
	}
	return nil
}

// plan makes the job of a node. The mutex is held.
func (s *scheduler) plan(j *job, n *node) error {
	*j = job{node: n, stream: open(n.stream), runs: n.run, spare: j.spare}
	if extra := n.n - len(j.views); extra > 0 {
		j.others = make([]device.View, extra)
	}
	first := 0
	if n.fuses() {
		var err error
		if j.plan, err = j.chain(); err != nil {
			return err
		}
		if j.plan != nil {
			if first = 1; n.fusion != rowwise { // a norm reads its weights beside the chain
				return nil
			}
		}
	}
	for i := first; i < n.n; i++ {
		v, err := j.locate(n, n.operand(i))
		if err != nil {
			return err
		}
		*j.place(i) = v
	}
	if n.product != nil {
		p := *n.product
		p.Read(j.views[:n.n])
		j.product = &p
	}
	return nil
}

// blame adds, to an error of queued work, the call that should have written the contents.
func (c *contents) blame(err error) error {
	w := c.writer()
	if !isQueued(err) || operror.Named(err) || w.name == "" || c.mem == nil {
		return err
	}
	return operror.With(w.fail(err), c.mem.Layout.Shape, c.mem.DType)
}

// mayFail reports whether the device may find an error of the job that is not known when the job starts.
func (j *job) mayFail() bool {
	if j.stream.Device().Kind() == device.CPU {
		return false
	}
	for _, m := range j.pins {
		if m.buf.State().Uncertain() {
			return true
		}
	}
	return j.checked
}

// begin pins the memories that the job reads, and marks its steps. The mutex is held.
func (j *job) begin() {
	j.use.begin()
	for _, n := range j.steps {
		n.computed = true
	}
}

// store runs the job into a new buffer. The mutex is not held.
func (j *job) store() (*device.Buffer, error) {
	op := observe.Begin(j.stream, j.name, j.site)
	j.describe(op)
	buf, err := filled(&j.call, j.stream, j.dt, j.lay, j.compute)
	op.Done(err)
	return buf, err
}

// filled allocates memory of dense elements for a call, and lets fill write it.
func filled(c *call, s *device.Stream, dt dtype.DType, lay layout.Layout, fill func(dst device.View) error) (*device.Buffer, error) {
	buf, err := alloc(s.Device(), int64(lay.Size())*int64(dt.Size()), s)
	if err != nil {
		return nil, err
	}
	label(buf, c, lay.Shape, dt)
	if err := fill(device.View{Buffer: buf, DType: dt, Layout: lay}); err != nil {
		buf.Free()
		return nil, err
	}
	return buf, nil
}

// compute computes the node's elements into dst. The mutex is not held.
func (j *job) compute(dst device.View) error {
	if j.plan != nil {
		err := j.plan.Run(j.stream, dst)
		j.fused = j.plan.Plan(j.stream.Device())
		return err
	}
	return j.runs(j, j.stream, dst)
}

// allows reports whether the job may write to dst.
func (j *job) allows(dst device.View) bool {
	if !j.strided && !dst.Layout.IsDense() {
		return false
	}
	if j.plan != nil {
		for i := range j.plan.Views() {
			if !j.allowsView(&j.plan.Views()[i], &dst) {
				return false
			}
		}
	}
	for i := range j.n {
		if v := j.view(i); v.Buffer != nil && !j.allowsView(&v, &dst) {
			return false
		}
	}
	return true
}

func (j *job) allowsView(v, dst *device.View) bool {
	if !v.Overlaps(*dst) {
		return true
	}
	return j.aliases && v.DType.Size() == dst.DType.Size() && v.Layout.Equal(&dst.Layout)
}

// rebuild restores older contents, which an operand of a node reads, into another buffer.
// The mutex is held, and released while the elements are copied.
func (s *scheduler) rebuild(n *node, in *operand) error {
	c := in.of
	m := c.mem
	r := m.log.Rebuild(c.version, undo.PartOf(&in.view), m.Part)
	m.pins++
	s.mu.Unlock()
	stream := open(n.stream)
	buf, err := alloc(stream.Device(), int64(r.High-r.Low), stream)
	if err == nil {
		if err = r.Into(stream, buf, m.buf); err != nil {
			buf.Free()
		}
	}
	s.mu.Lock()
	m.unpin()
	if err != nil {
		return err
	}
	if in.of != c || c.mem != m || n.state > running { // another goroutine was faster
		buf.Free()
		return nil
	}
	s.copied += buf.Size()
	old := &memory{sched: s, buf: buf, Part: m.Part, scope: m.scope, rec: n.rec}
	if r.Whole {
		c.mem, c.version = old, 0
		old.remember(c)
	} else {
		old.Layout = layout.Dense([]int{(r.High - r.Low) / m.DType.Size()})
		c2 := &contents{mem: old, origin: &origin{call: *c.writer()}, superseded: true}
		in.view.Layout.Offset -= r.Low / in.view.DType.Size()
		in.of = c2
		c2.readers.Add(readerScope{n.scope}, &in.view.Layout, in.view.DType)
		old.remember(c2)
		c.dropReader(n.scope)
	}
	m.tidy()
	s.changed.Broadcast()
	return nil
}

// label describes a buffer for the list of the largest live arrays.
func label(buf *device.Buffer, c *call, shape []int, dt dtype.DType) {
	if !buf.WantsLabel() {
		return
	}
	name, at := c.name, c.site
	buf.State().SetLabel(func() (what, origin string) {
		return fmt.Sprintf("%v %v", shape, dt), fmt.Sprintf("%s at %v", name, at)
	})
}
