// Package deferred has errors that a device finds during its work, for example an index of
// Take that is out of range. Such an error is not known before the work is done. It follows
// the data from the buffers that work reads to those that it writes. Calls that wait
// resolve it: copies to the host, and work whose writes cannot be undone.
package deferred

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// errNone is the error of an Error that New has not made.
var errNone = errors.New("a nil or zero deferred error; NewDeferredError returns one")

// Error is an error that is not known yet.
type Error struct {
	resolve  func() (found, failed error)
	attached func(*Error)

	mu    sync.Mutex
	known atomic.Bool // err is the result
	err   error
}

// New returns an Error. resolve waits for the work and returns the error that it found, or
// nil, and a failure if the result could not be determined. It is called until it does not
// fail. attached is called, outside of all locks of this package, when the Error is
// attached to a State.
func New(resolve func() (found, failed error), attached func(*Error)) *Error {
	return &Error{resolve: resolve, attached: attached}
}

// Wait waits for the work and returns the error that it found.
func (e *Error) Wait() error {
	if e == nil {
		return errNone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known.Load() {
		return e.err
	}
	if e.resolve == nil {
		return errNone
	}
	found, failed := e.resolve()
	if failed != nil {
		return failed
	}
	e.err, e.resolve = found, nil
	e.known.Store(true)
	return found
}

// Known reports whether Wait returns at once.
func (e *Error) Known() bool { return e.known.Load() }

// found returns the error as far as it is known without waiting.
func (e *Error) found() error {
	if e.known.Load() {
		return e.err
	}
	return nil
}

// List is the errors that contents depend on. A List never changes.
type List []*Error

// Union returns both lists, without errors that are known to be nil.
func (l List) Union(m List) List {
	out := make(List, 0, len(l)+len(m))
	for _, e := range l {
		if !e.known.Load() || e.err != nil {
			out = append(out, e)
		}
	}
	for _, e := range m {
		if (!e.known.Load() || e.err != nil) && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
