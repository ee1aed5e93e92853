package device

import (
	"sync/atomic"
	"weak"
)

// verified is what is known of a check of a buffer's contents. It holds for as long as the last write
// of the buffer is the one that the check has read.
type verified struct {
	key   any
	write use
	fine  atomic.Bool         // it has found nothing
	doubt weak.Pointer[Doubt] // before that; what was dropped unread is nobody's error
}

// CheckOnce starts a check of the buffer's contents, unless one with the same key was started for
// the same contents before and has not failed: one check serves all work that reads them. start
// launches the check and returns its doubt; it may do more. Without a start the doubt is that of the check
// before, nil where that has found nothing. key is comparable. Memory that others can write unseen is checked
// every time.
func (b *Buffer) CheckOnce(key any, start func() (*Doubt, error)) (doubt *Doubt, started bool, err error) {
	if b.none() || start == nil {
		return nil, false, errNoBuffer
	}
	a, d := b.a, b.a.dev
	d.mu.Lock()
	write := a.write
	known := a.verified != nil && a.verified.key == key && a.verified.write == write && !a.seen()
	if known {
		doubt, known = a.verified.state()
	}
	d.mu.Unlock()
	if known {
		return doubt, false, nil
	}
	if doubt, err = start(); err != nil || doubt == nil {
		return doubt, true, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.write == write && write.stream != nil {
		a.verified = &verified{key: key, write: write, doubt: weak.Make(doubt)}
		doubt.check.Store(a.verified)
	}
	return doubt, true, nil
}

// seen reports whether others know the memory, and may write it. dev.mu is held.
func (a *allocation) seen() bool { return a.block == nil || a.exposed || a.owner != nil }

// state returns the doubt of the check, nil where it found nothing. It reports false where the check failed or
// was dropped. The device's mutex is held.
func (v *verified) state() (*Doubt, bool) {
	if v.fine.Load() {
		return nil, true
	}
	t := v.doubt.Value()
	switch {
	case t == nil:
		return nil, false
	case !t.clear.Load():
		return t, true
	}
	return nil, t.err == nil
}
