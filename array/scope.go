package array

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/weaklist"
)

// Scope is a set of arrays that are freed together. A result belongs to the newest scope
// among its operands. A scope keeps no array alive. It is safe for use by many goroutines.
//
// Writes in place do not move their target into a scope. Outputs of graphs belong to no
// scope. A result of a captured sequence belongs to a scope only if In was called within
// the capture: the rest of the sequence then uses the memory again that the scope frees.
type Scope struct {
	id     uint64
	made   call
	closed atomic.Pointer[call]
	rec    atomic.Pointer[recording] // the last capture in which In marked an array

	mu   sync.Mutex // locked after a scheduler's mutex
	kept []*Array   // arrays that Close computes
	mems weaklist.List[memory]
	room int // mems is pruned once it is longer
}

var lastScope atomic.Uint64

// NewScope opens a scope. The function that opens it must close it, on errors too:
//
//	s := gpk.NewScope()
//	defer s.Close()
//
// Scoped does both.
func NewScope() *Scope { return newScope(call{"NewScope", here()}) }

func newScope(c call) *Scope { return &Scope{id: lastScope.Add(1), made: c} }

// Scoped calls f with a new scope and closes it, even if f panics. It returns the error of
// f joined with that of Close.
func Scoped(f func(s *Scope) error) (err error) {
	c := call{"Scoped", here()}
	if f == nil {
		return c.fail(fmt.Errorf("%w: no function", expr.ErrUnsupported))
	}
	s := newScope(c)
	defer func() { err = errors.Join(err, s.close(&c)) }()
	return f(s)
}

// newer returns the scope that was opened last; nil is none.
func newer(a, b *Scope) *Scope {
	if a == nil || b != nil && b.id > a.id {
		return b
	}
	return a
}

// serves reports whether results that are computed in the capture rec can belong to the
// scope. Outside of captures (rec is nil) they can. In a capture they can if In has marked
// an array of it: later parts of the sequence then reuse the memory that Close frees.
// Otherwise they cannot, because the graph needs its results for as long as it lives.
func (s *Scope) serves(rec *recording) bool { return rec == nil || s != nil && s.rec.Load() == rec }

func (s *Scope) isClosed() bool { return s != nil && s.closed.Load() != nil }

// err returns the error of using an array of a closed scope.
func (s *Scope) err() error {
	if !s.isClosed() {
		return nil
	}
	return freedBy(s.closed.Load())
}

// check returns the reason why an array cannot be used with the scope, or nil.
func (s *Scope) check(c *call, a *Array) error {
	if s == nil || s.id == 0 {
		return c.fail(fmt.Errorf("%w: a nil or zero Scope; NewScope makes one", expr.ErrUnsupported), a)
	}
	if err := c.first(a); err != nil {
		return err
	}
	return c.wrap(s.err(), a)
}

// In returns a view of a whose results belong to the scope. The array a itself does not. If
// several scopes have marked an array, the newest one counts.
func (s *Scope) In(a *Array) *Array {
	c := call{"In", here()}
	if err := s.check(&c, a); err != nil {
		return failedArray(err)
	}
	b := a.with(a.lay)
	b.in = newer(a.in, s)
	if r := recordingOn(a.stream); r != nil {
		s.rec.Store(r)
	}
	return b
}

// Own moves an array to the scope, which frees it and its views. It returns a. An array of
// another scope is ErrUnsupported.
func (s *Scope) Own(a *Array) *Array { return s.own(&call{"Own", here()}, a) }

func (s *Scope) own(c *call, a *Array) *Array {
	err := s.check(c, a)
	if err == nil {
		err = s.move(c, a, nil, s)
	}
	if err != nil {
		return failedArray(err)
	}
	return a
}

// Keep removes an array, with its storage, from the scope and returns it. The array outlives
// the scope. A pending array is computed by Close, or by Free of one of its operands, whichever
// comes first. An array of another scope is ErrUnsupported. An array of no scope stays without one.
func (s *Scope) Keep(a *Array) *Array {
	c := call{"Keep", here()}
	if err := s.check(&c, a); err != nil {
		return failedArray(err)
	}
	b := a
	if a.in != nil {
		b = a.with(a.lay)
		b.in = nil
	}
	if err := s.move(&c, b, s, nil); err != nil {
		return failedArray(err)
	}
	return b
}

// move moves the storage of an array from one scope to another; nil is none.
func (s *Scope) move(c *call, a *Array, from, to *Scope) error {
	sched := a.lock()
	defer sched.mu.Unlock()
	cur, err := a.contents(recordingOn(a.stream))
	if err != nil {
		return c.fail(err, a)
	}
	st := a.st
	if st.scope != from {
		if st.scope == to {
			return nil
		}
		of := "no scope"
		if st.scope != nil {
			of = fmt.Sprintf("the scope of %s at %v", st.scope.made.name, st.scope.made.site)
		}
		return c.fail(fmt.Errorf("%w: the array belongs to %s, not to that of %s at %v", expr.ErrUnsupported, of, s.made.name, s.made.site), a)
	}
	st.scope, cur.scope = to, to
	if cur.mem != nil {
		cur.mem.scope = to
		to.register(cur.mem)
	} else if to == nil {
		cur.node.kept = true
		sched.pending.Restore(cur.node)
		s.mu.Lock()
		s.kept = append(s.kept, a)
		s.mu.Unlock()
	}
	return nil
}

// claim registers a memory that Close frees.
func (s *Scope) claim(m *memory) {
	if m.scope == nil && m.current {
		m.scope = s
	}
	s.register(m)
}

// register adds a memory to those that Close frees, if it belongs to the scope, or tidies,
// if nodes of the scope read older contents of it.
func (s *Scope) register(m *memory) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mems) >= max(s.room, 64) { // prune freed memories, at amortized constant cost
		s.mems.Keep(func(m *memory) bool { return !m.buf.Freed() })
		s.room = 2 * len(s.mems)
	}
	s.mems.Add(m)
}

// Close computes the kept arrays and frees all others of the scope, even if computing
// fails. Like Eval, it returns the first error that is known without waiting for a GPU.
// Afterwards every array of the scope, and every view that In returned, is ErrFreed. A second
// Close is ErrFreed.
func (s *Scope) Close() error { return s.close(&call{"Close", here()}) }

func (s *Scope) close(c *call) error {
	if s == nil || s.id == 0 {
		return c.fail(fmt.Errorf("%w: a nil or zero Scope; NewScope makes one", expr.ErrUnsupported))
	}
	s.mu.Lock()
	kept := s.kept
	s.kept = nil
	s.mu.Unlock()
	if err := s.err(); err != nil {
		return c.fail(err)
	}
	var first error
	for _, a := range kept {
		if err := a.start(); err != nil && first == nil && a.usable() == nil { // an array that was freed meanwhile is no error
			first = c.wrap(err, a)
		}
	}
	if !s.closed.CompareAndSwap(nil, c) {
		return c.fail(s.err())
	}
	s.mu.Lock()
	mems := s.mems
	s.mems = nil
	s.mu.Unlock()
	for m := range mems.All() {
		if handOver := m.sched.leave(m, s); handOver != nil {
			handOver()
		}
	}
	return first
}

// leave frees a memory of a closed scope, or the saved elements that only nodes of the
// scope needed. It returns the call that hands foreign memory to its owner, or nil.
func (s *scheduler) leave(m *memory, of *Scope) (handOver func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []*node
	for {
		for m.inUse() { // before readers are started, as in Free
			s.changed.Wait()
		}
		if m.scope != of {
			break
		}
		if left = s.startReaders(nil, m); !m.inUse() { // in newer scopes
			break
		}
	}
	switch {
	case m.scope != of || !m.current:
		m.tidy()
	case len(left) > 0:
		m.outlive(left, of.closed.Load())
	default:
		handOver = m.free(of.closed.Load())
	}
	s.changed.Broadcast()
	return handOver
}
