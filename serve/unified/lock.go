package unified

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// lock is a mutex that knows which goroutine holds it while a callback runs, so that a
// call from within the callback is an error and not a deadlock.
//
// Go does not tell a goroutine's number but in a stack trace, whose first line is
// "goroutine 18 [running]:". The number is read around callbacks, and by who finds the
// mutex taken: 1 to 2 us, where the callback's copies take more.
type lock struct {
	mu     sync.Mutex
	holder atomic.Uint64 // the goroutine that runs a callback; 0: none
}

// enter takes the mutex. It reports false, and takes nothing, in a callback of the
// goroutine that holds it.
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

// inside reports whether this goroutine runs a callback.
func (l *lock) inside() bool {
	h := l.holder.Load()
	return h != 0 && h == goroutine()
}

func (l *lock) leave() { l.mu.Unlock() }

// during runs a callback. The mutex is held.
func (l *lock) during(f func() error) error {
	l.holder.Store(goroutine())
	defer l.holder.Store(0)
	return f()
}

// goroutine returns the number of this goroutine; 0 where the trace does not say.
func goroutine() uint64 {
	var buf [48]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line, _ = bytes.CutPrefix(line, []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
