package deferred

import (
	"slices"
	"sync"
	"sync/atomic"
)

// State is the state of a buffer's contents: their error, the deferred errors that they
// depend on, their owner, and their description in error messages. In the zero value the
// contents are valid. Methods that change a nil State do nothing.
type State struct {
	failed atomic.Pointer[error]
	list   atomic.Pointer[List]

	mu    sync.Mutex
	owner any
	label func() (what, origin string)
}

// Fail makes err the error of the contents, unless it is nil, until Heal.
func (s *State) Fail(err error) {
	if s != nil && err != nil {
		s.failed.Store(&err)
	}
}

// Failed returns the error of Fail, or nil.
func (s *State) Failed() error {
	if p := s.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Heal removes all errors: the contents are about to be overwritten.
func (s *State) Heal() {
	if s == nil {
		return
	}
	s.failed.Store(nil)
	s.list.Store(nil)
}

// Err returns the error of Fail, or a deferred one that is known.
func (s *State) Err() error {
	if p := s.failed.Load(); p != nil {
		return *p
	}
	if l := s.list.Load(); l != nil {
		for _, e := range *l {
			if err := e.found(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Attach makes the contents depend on e, whose work has been put on its stream.
func (s *State) Attach(e *Error) {
	if s == nil || e == nil || e.attached == nil {
		return
	}
	s.Inherit(List{e})
	e.attached(e)
}

// Inherit adds the errors of other contents.
func (s *State) Inherit(more List) {
	for {
		old := s.list.Load()
		var list List
		if old != nil {
			list = *old
		}
		list = list.Union(more)
		if len(list) == 0 || s.list.CompareAndSwap(old, &list) {
			return
		}
	}
}

// Deferred returns the deferred errors that the contents depend on.
func (s *State) Deferred() List {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// Uncertain reports whether the contents depend on deferred errors.
func (s *State) Uncertain() bool { return s != nil && s.list.Load() != nil }

// Clean reports whether the contents carry no error, known or deferred.
func (s *State) Clean() bool { return s.failed.Load() == nil && s.list.Load() == nil }

// DependsOn reports whether the contents depend on all errors of a list already.
func (s *State) DependsOn(list List) bool {
	had := s.list.Load()
	if had == nil {
		return false
	}
	for _, e := range list {
		if !slices.Contains(*had, e) {
			return false
		}
	}
	return true
}

// Resolve waits until the deferred errors are known and returns the first.
func (s *State) Resolve() error {
	l := s.list.Load()
	if l == nil {
		return nil
	}
	for _, e := range *l {
		if err := e.Wait(); err != nil {
			return err
		}
	}
	s.list.CompareAndSwap(l, nil)
	return nil
}

// Settled resolves all deferred errors, which waits for their work, and then returns Err.
func (s *State) Settled() error {
	if s == nil {
		return errNone
	}
	if err := s.Resolve(); err != nil {
		return err
	}
	return s.Err()
}

// Owner returns the value of SetOwner, or nil.
func (s *State) Owner() any {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// SetOwner stores the object that tracks the buffer's readers and writers. x must not keep
// the buffer alive.
func (s *State) SetOwner(x any) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.owner = x
	s.mu.Unlock()
}

// Label returns the function of SetLabel, or nil.
func (s *State) Label() func() (what, origin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.label
}

// SetLabel sets the description of the buffer in errors and lists: f returns its contents,
// such as type and shape, and its origin, such as the operation and the line of the program
// that made it. f is called when a description is needed. It must not refer to the buffer.
func (s *State) SetLabel(f func() (what, origin string)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.label = f
	s.mu.Unlock()
}
