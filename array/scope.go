package array

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/expr"
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
	rec    atomic.Pointer[recording] // of the capture in which In marked an array last

	mu   sync.Mutex // taken after a scheduler's
	kept []*Array   // to be computed by Close
	mems []weak.Pointer[memory]
	room int // of mems, before those that are gone are dropped
}

var lastScope atomic.Uint64

// NewScope opens a scope. Close it, also where the function that opened it fails:
//
//	s := gpk.NewScope()
//	defer s.Close()
//
// Scoped does this.
func NewScope() *Scope { return newScope(call{"NewScope", here()}) }

func newScope(c call) *Scope { return &Scope{id: lastScope.Add(1), made: c} }

// Scoped calls f with a new scope and closes it, also where f panics. It returns the
// error of f joined with that of Close.
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

// serves reports whether the scope frees what a capture computes; nil is none. One that has marked
// arrays of the capture does: a part of the sequence behind its Close uses the memory again. Another
// does not, because the graph needs what it computes for as long as it lives.
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

// In returns a view of a whose results belong to the scope. The array a itself does not.
// If an array is marked by several scopes, the newest one counts.
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

// Own hands an array over to the scope, which frees it and its views. It returns a. An
// array of another scope is ErrUnsupported.
func (s *Scope) Own(a *Array) *Array {
	c := call{"Own", here()}
	if err := s.check(&c, a); err != nil {
		return failedArray(err)
	}
	if err := s.move(&c, a, nil, s); err != nil {
		return failedArray(err)
	}
	return a
}

// Keep takes an array, with all its storage, out of the scope and returns it. Close
// computes the array, which outlives the scope. An array of another scope is
// ErrUnsupported. An array of no scope stays without one.
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

// move takes the storage of an array from one scope to another.
func (s *Scope) move(c *call, a *Array, from, to *Scope) error {
	sched := schedulerOf(a.on())
	sched.mu.Lock()
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
		s.mu.Lock()
		s.kept = append(s.kept, a)
		s.mu.Unlock()
	}
	return nil
}

// own registers a memory that Close frees.
func (s *Scope) own(m *memory) {
	if m.scope == nil && m.current {
		m.scope = s
	}
	s.register(m)
}

// register makes Close free a memory of the scope, or tidy a memory whose older contents
// the scope's nodes read.
func (s *Scope) register(m *memory) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mems) >= max(s.room, 64) { // half of them may be gone
		kept := s.mems[:0]
		for _, p := range s.mems {
			if m := p.Value(); m != nil && !m.buf.Freed() {
				kept = append(kept, p)
			}
		}
		clear(s.mems[len(kept):])
		s.mems, s.room = kept, 2*len(kept)
	}
	s.mems = append(s.mems, weak.Make(m))
}

// Close computes the kept arrays and frees all others of the scope, even if computing
// fails. It returns the first error. From then on every array of the scope, and every view
// that In has returned, is ErrFreed. A second Close is ErrFreed.
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
		if err := a.start(); err != nil && first == nil && a.usable() == nil { // freed since is no error
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
	for _, p := range mems {
		if m := p.Value(); m != nil {
			if handOver := m.sched.leave(m, s); handOver != nil {
				handOver()
			}
		}
	}
	return first
}

// leave frees a memory of a closed scope, or the elements that were saved in it for nodes
// of the scope. It returns the call that hands foreign memory to its owner, else nil.
func (s *scheduler) leave(m *memory, of *Scope) (handOver func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for m.scope == of && s.startReader(nil, m) { // of a newer scope
	}
	for m.pins > 0 || m.busy {
		s.wait()
	}
	if m.scope == of && m.current {
		handOver = m.free(of.closed.Load())
	} else {
		m.tidy()
	}
	s.changed.Broadcast()
	return handOver
}
