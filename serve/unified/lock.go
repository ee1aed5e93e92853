package unified

import (
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk/internal/goroutine"
)

// lock is a mutex that records which goroutine holds it during a callback, so that a call
// within the callback is an error and not a deadlock.
type lock struct {
	mu     sync.Mutex
	holder atomic.Uint64 // the goroutine that runs a callback; 0: none
}

// enter locks the mutex. In a callback of the goroutine that holds it, it reports false
// and locks nothing.
func (l *lock) enter() bool {
	if l.mu.TryLock() {
		return true
	}
	if l.inside() {
		return false
	}
	l.mu.Lock()
	return true
}

// inside reports whether this goroutine is running a callback.
func (l *lock) inside() bool {
	h := l.holder.Load()
	return h != 0 && h == goroutine.ID()
}

func (l *lock) leave() { l.mu.Unlock() }

// during runs a callback. The mutex is held.
func (l *lock) during(f func() error) error {
	l.holder.Store(goroutine.ID())
	defer l.holder.Store(0)
	return f()
}
