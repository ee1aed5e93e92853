package array

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/setting"
	"github.com/gpk-go/gpk/internal/weaklist"
	"github.com/gpk-go/gpk/layout"
)

// scheduler guards the arrays of one device: the contents that they show, the references to these contents, and the
// list of pending nodes. Lock order: its mutex comes before the device's, and never together with another
// scheduler's. It is never held while memory is allocated, work runs, or a goroutine waits.
type scheduler struct {
	dev *device.Device

	mu      sync.Mutex
	changed sync.Cond // a node has ended, a memory is idle, or a write is done

	// The pending nodes that are not steps of another node. One more than the list holds starts the oldest. Nodes
	// that read overwritten elements are Deferred, because their operands must be rebuilt.
	pending weaklist.Queue[node, *node]

	idle *job // an empty job for the next start; nil for none

	reread map[site]bool // the lines of the program whose intermediate results were read again
	copied int64         // number of bytes that writes have saved and that were rebuilt
}

// maxReread is the maximum length of reread.
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

// Waits reports whether a node must still be started by itself: it is pending, no consumer computes it or a scope keeps it, and its scope and its capture are open.
func (n *node) Waits() bool {
	return n.state == pending && (n.kept || !n.consumed && !n.computed) && !n.out.scope.isClosed() && (n.rec == nil || !n.rec.ended)
}

// Deferred reports whether a node, or a step of it, reads elements that have been
// overwritten.
func (n *node) Deferred() bool {
	for i := range n.n {
		in := n.operand(i)
		c := in.of
		if c.mem != nil && c.lost(&in.view) {
			return true
		}
		if step := in.pendingStep(); step != nil && n.earlier(i) < 0 && step.Deferred() {
			return true
		}
	}
	return false
}

// alloc allocates memory of a device. If there is none, it drops the strong reference to the newest node, which may
// be the last reference to arrays that the program has dropped, and tries once more.
func alloc(d *device.Device, n int64, s *device.Stream) (*device.Buffer, error) {
	buf, err := d.Alloc(n, s)
	if !errors.Is(err, device.ErrOutOfMemory) {
		return buf, err
	}
	sched := schedulerOf(d)
	sched.mu.Lock()
	again := sched.pending.Loosen()
	sched.mu.Unlock()
	if again {
		return d.Alloc(n, s)
	}
	return buf, err
}

// bind makes a node refer to the contents that its operands show now, in one critical section. Operands that the node's kernel
// can compute become its steps; other pending operands are stored first. The mutex is held, and released while they are stored.
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
		in.of.readers.Add(readerScope{n.scope}, &in.view.Layout, a.dt)
		if step := in.pendingStep(); step != nil {
			step.consumed = true
		}
	}
	return nil
}

// tryBind fills in the operands of a node. It returns the step that must come first, or nil. The mutex is held.
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
			why := s.obstacle(n, c.node, &a.lay, size, n.earlier(i) >= 0) // an earlier operand that is stored by now is not pending
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
		_ = sched.start(n) // the node keeps the error and gives it to its readers
		sched.pending.Restore(n)
	} else if oldest := sched.pending.Add(n); oldest != nil {
		_ = sched.start(oldest) // the node keeps the error
	}
	return r
}
