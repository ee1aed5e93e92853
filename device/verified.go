package device

import "github.com/gpk-go/gpk/internal/deferred"

// verified is a check of a buffer's contents. It is valid until the buffer is written again.
type verified struct {
	key   any
	write use
	err   *deferred.Error
}

// checkOnce starts a check of the buffer's contents, unless one with the same key was started for
// the same contents and has not failed: one check serves all work that reads them. start launches
// the check and returns its error; it may do more. If nothing is started, the error is that of the
// earlier check, or nil if it found nothing. key must be comparable. Memory that other libraries
// can write without this package's knowledge is checked every time.
func (b *Buffer) checkOnce(key any, start func() (*deferred.Error, error)) (e *deferred.Error, started bool, err error) {
	if b.none() || start == nil {
		return nil, false, errNoBuffer
	}
	a, d := b.a, b.a.dev
	d.mu.Lock()
	write, known := a.write, a.verified
	if a.seen() {
		known = nil
	}
	d.mu.Unlock()
	if known != nil && known.key == key && known.write == write {
		if !known.err.Known() {
			return known.err, false, nil
		}
		if known.err.Wait() == nil {
			return nil, false, nil
		}
	}
	if e, err = start(); err != nil || e == nil {
		return e, true, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.write == write && write.stream != nil {
		a.verified = &verified{key: key, write: write, err: e}
	}
	return e, true, nil
}

// seen reports whether other libraries have access to the memory, and may write it without this
// package's knowledge. dev.mu is held.
func (a *allocation) seen() bool { return a.block == nil || a.exposed || a.state.Owner() != nil }
