package array

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/setting"
	"github.com/gpk-go/gpk/layout"
)

// scheduler guards the arrays of one device: the contents that they show, the references to
// these contents, and the list of pending nodes. Lock order: its mutex comes before the
// device's, and never together with another scheduler's. It is never held while memory is
// allocated, work runs, or a goroutine waits.
type scheduler struct {
	dev *device.Device

	mu      sync.Mutex
	changed sync.Cond // a node has ended, a memory is idle, or a write is done

	// The pending nodes that are not steps of another node, oldest first. The newest has a
	// strong reference, because most arrays are used by the next call and then need no
	// weak pointer. The others have weak references: a result that the program drops is
	// not computed. Nodes that have ended stay in the list until it is full. At most
	// maxPending weak pointers keep no memory alive, and cost less than a search whenever a
	// node ends.
	newest  *node
	pending []weak.Pointer[node]
	// Pending nodes that read elements which have been overwritten.
	outdated []weak.Pointer[node]
	room     int // outdated is pruned once it is longer

	reread map[site]bool // the lines of the program whose intermediate results were read again
	copied int64         // number of bytes that writes have saved and that were rebuilt
}

// maxPending is the largest number of pending nodes of a device. One more starts the
// oldest.
const maxPending = 64

// maxReread is the largest number of lines in reread.
const maxReread = 1024

var schedulers sync.Map // *device.Device -> *scheduler

func schedulerOf(d *device.Device) *scheduler {
	if s, ok := schedulers.Load(d); ok {
		return s.(*scheduler)
	}
	s := &scheduler{dev: d, reread: map[site]bool{}}
	s.changed.L = &s.mu
	old, _ := schedulers.LoadOrStore(d, s)
	return old.(*scheduler)
}

// lock locks the scheduler of the array's device, and returns it.
func (a *Array) lock() *scheduler {
	s := schedulerOf(a.on())
	s.mu.Lock()
	return s
}

// eager makes every operation start on its own line.
var eager atomic.Bool

func init() { eager.Store(setting.On("GPK_EAGER")) }

// waits reports whether a node must still be started by itself: it is pending, no consumer
// computes it or a scope keeps it, and its scope and its capture are open.
func (n *node) waits() bool {
	return n.state == pending && (n.kept || !n.consumed && !n.computed) && !n.out.scope.isClosed() && (n.rec == nil || !n.rec.ended)
}

// add lists a pending node, and starts the oldest one if there are too many. Nodes that
// read overwritten elements do not count. They stay pending until they are needed, because
// their operands must be rebuilt. The mutex is held.
func (s *scheduler) add(n *node) {
	s.loosen()
	s.newest = n
	if len(s.pending) < maxPending {
		return
	}
	var oldest *node
	s.pending = slices.DeleteFunc(s.pending, func(p weak.Pointer[node]) bool {
		x := p.Value()
		if x == nil || !x.waits() {
			return true
		}
		if x.readsLost() {
			s.outdated = append(s.outdated, p)
			return true
		}
		if oldest == nil {
			oldest = x
		}
		return false
	})
	if len(s.outdated) > s.room {
		s.outdated = prune(s.outdated)
		s.room = 2*len(s.outdated) + maxPending
	}
	if len(s.pending) >= maxPending {
		_ = s.start(oldest) // the node keeps the error for its readers
	}
}

// readsLost reports whether a node, or a step of it, reads elements that have been
// overwritten.
func (n *node) readsLost() bool {
	for i := range n.n {
		in := n.operand(i)
		c := in.of
		if c.mem != nil && c.lost(&in.view) {
			return true
		}
		if step := in.pendingStep(); step != nil && !n.repeats(i) && step.readsLost() {
			return true
		}
	}
	return false
}

// loosen makes the reference to the newest node weak, like the others. It reports whether
// there was a newest node. The mutex is held.
func (s *scheduler) loosen() bool {
	n := s.newest
	s.newest = nil
	if n == nil || !n.waits() {
		return false
	}
	s.pending = append(s.pending, weak.Make(n))
	return true
}

// listAgain lists a node that could not run, for example for lack of memory, because it may
// have been removed from the list while it ran. The mutex is held.
func (s *scheduler) listAgain(n *node) {
	if n.waits() && !slices.Contains(s.waiting(s.pending), n) {
		s.pending = append(s.pending, weak.Make(n))
	}
}

// prune removes the nodes of a list that were garbage collected or no longer wait. The
// mutex is held.
func prune(list []weak.Pointer[node]) []weak.Pointer[node] {
	return slices.DeleteFunc(list, func(p weak.Pointer[node]) bool {
		n := p.Value()
		return n == nil || !n.waits()
	})
}

// waiting returns the pending nodes of a list, and the newest node. The mutex is held.
func (s *scheduler) waiting(list []weak.Pointer[node]) []*node {
	var out []*node
	for _, p := range list {
		if n := p.Value(); n != nil && n.waits() {
			out = append(out, n)
		}
	}
	if n := s.newest; n != nil && n.waits() {
		out = append(out, n)
	}
	return out
}

// alloc allocates memory of a device. If there is none, it drops the strong reference to
// the newest node, which may be the last reference to arrays that the program has dropped,
// and tries once more.
func alloc(d *device.Device, n int64, s *device.Stream) (*device.Buffer, error) {
	buf, err := d.Alloc(n, s)
	if !errors.Is(err, device.ErrOutOfMemory) {
		return buf, err
	}
	sched := schedulerOf(d)
	sched.mu.Lock()
	again := sched.loosen()
	sched.mu.Unlock()
	if again {
		return d.Alloc(n, s)
	}
	return buf, err
}

// bind makes a node refer to the contents that its operands show now, in one critical
// section. Operands that the node's kernel can compute become its steps; other pending
// operands are stored first. The mutex is held, and released while operands are stored.
func (s *scheduler) bind(n *node, reads []*Array, steps, size int) error {
	var tried []*node // nodes that could not be stored; running n tries them again, or finds that they failed
	for {
		next, err := s.tryBind(n, reads, steps, size, tried)
		if err != nil {
			n.n = 0 // it is not counted as a reader yet
			return err
		}
		if next == nil {
			break
		}
		if next.node == nil {
			s.changed.Wait()
		} else if s.start(next.node) != nil {
			tried = append(tried, next.node)
		}
	}
	for i, a := range reads {
		in := n.operand(i)
		in.of.addReader(n.scope, &in.view.Layout, a.dt)
		if step := in.pendingStep(); step != nil {
			step.consumed = true
		}
	}
	return nil
}

// tryBind fills in the operands of a node. It returns the step that must come first, or
// nil. The mutex is held.
func (s *scheduler) tryBind(n *node, reads []*Array, steps, size int, tried []*node) (*unready, error) {
	n.n, n.depth, n.leaves, n.headed, n.scope, n.more = 0, 0, 0, false, nil, nil
	if extra := len(reads) - len(n.in); extra > 0 {
		n.more = make([]operand, 0, extra)
	}
	for i, a := range reads {
		c, err := a.contents(n.rec)
		if u, ok := err.(*unready); ok {
			return u, nil
		}
		if err != nil {
			return nil, err
		}
		if in := newer(n.scope, a.scopeOf()); in.serves(n.rec) {
			n.scope = in
		}
		in := n.addOperand(c, device.View{DType: a.dt, Layout: a.lay})
		c = in.of
		switch {
		case c.mem != nil && c.mem.busy:
			return &unready{}, nil
		case c.mem != nil || c.node.state > running || slices.Contains(tried, c.node):
			n.leaves++
			continue
		case i < steps:
			again := n.isStep(c, i)
			why := s.obstacle(n, c.node, &a.lay, size, again)
			if why == "" {
				in.step = true
				n.depth, n.headed = max(n.depth, c.node.depth+1), n.headed || c.node.begins()
				n.leaves += c.node.chainLeaves()
				continue
			}
			n.apart = why
		}
		return &unready{node: c.node}, nil
	}
	if n.leaves > fused.MaxLeaves && n.fuses() {
		return n.crowded(), nil
	}
	return nil, nil
}

// addOperand adds a reference to contents. A product looks through the conjugates of its factors.
func (n *node) addOperand(c *contents, v device.View) *operand {
	i := n.n
	if i >= len(n.in) {
		n.more = append(n.more, operand{})
	}
	n.n++
	in := n.operand(i)
	*in = operand{of: c, view: v}
	if n.fusion == gemm && i < 2 {
		conj := [...]*bool{&n.product.ConjA, &n.product.ConjB}
		*in, *conj[i] = in.conjugate()
	}
	return in
}

// isStep reports whether contents are one of the first i operands, and a step.
func (n *node) isStep(c *contents, i int) bool {
	for j := range i {
		if in := n.operand(j); in.of == c && in.step {
			return true
		}
	}
	return false
}

// result returns the array of an operation whose operands are reads. The first `steps` of
// these may become steps of the node.
func (n *node) result(s *device.Stream, dt dtype.DType, lay layout.Layout, steps int, reads ...*Array) *Array {
	s = open(s)
	n.stream, n.dt, n.lay, n.rec = s, dt, lay, recordingOn(s)
	sched, size := schedulerOf(s.Device()), lay.Size()
	if n.ends() && len(reads) > 0 {
		size = reads[0].lay.Size()
	}
	sched.mu.Lock()
	defer sched.mu.Unlock()
	if err := sched.bind(n, reads, steps, size); err != nil {
		return n.failed(err, reads...)
	}
	if n.product != nil {
		n.product.Read([]device.View{n.in[0].view, n.in[1].view}) // for Explain
	}
	r := newArray(n.out, lay, dt, s)
	n.out.scope, r.st.scope, r.st.rec = n.scope, n.scope, n.rec
	if eager.Load() {
		_ = sched.start(n) // the node keeps the error for its readers
		sched.listAgain(n)
	} else {
		sched.add(n)
	}
	return r
}
