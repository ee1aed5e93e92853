package device

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// Doubt is an error that work finds on the device, or does not find: nobody knows
// before the work is done. It travels with the contents that depend on it, from
// the buffers that work reads to those that it writes, and is cleared up where
// somebody waits: at a copy to the host, and before work whose writes cannot be
// taken back.
type Doubt struct {
	dev    *Device
	stream *Stream
	flags  *Buffer
	judge  func(flags [2]int64) error
	check  atomic.Pointer[verified] // see CheckOnce

	mu    sync.Mutex
	clear atomic.Bool // err is what came of it
	err   error
}

// mostDoubts is how many a buffer carries; beyond, the work that would add one
// waits.
const mostDoubts = 32

// NewDoubt makes a doubt about work that is about to be put on s (nil: the default
// stream). The work writes Flags, which nobody has written yet; judge says what
// they mean, nil that all is well.
func (d *Device) NewDoubt(s *Stream, judge func(flags [2]int64) error) (*Doubt, error) {
	s, err := d.own(s)
	if err != nil {
		return nil, err
	}
	if judge == nil {
		return nil, errorf("a doubt that nobody judges")
	}
	flags, err := d.Alloc(int64(unsafe.Sizeof([2]int64{})), s)
	if err != nil {
		return nil, err
	}
	return &Doubt{dev: d, stream: s, flags: flags, judge: judge}, nil
}

// Flags returns the two int64 that the work writes.
func (t *Doubt) Flags() *Buffer {
	if t == nil {
		return nil
	}
	return t.flags
}

// Wait waits for the work and returns the error that it found.
func (t *Doubt) Wait() error {
	if t == nil || t.dev == nil {
		return errNoDoubt
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clear.Load() {
		return t.err
	}
	d, s := t.dev, t.stream
	d.mu.Lock()
	if s.closing || s.capture != nil {
		s = nil
	}
	d.mu.Unlock()
	var flags [2]int64
	if err := d.CopyToHost(unsafe.Slice((*byte)(unsafe.Pointer(&flags)), unsafe.Sizeof(flags)), t.flags, 0, s); err != nil {
		return err
	}
	t.err = t.judge(flags)
	t.clear.Store(true)
	if v := t.check.Load(); v != nil && t.err == nil {
		v.fine.Store(true)
	}
	t.flags.Free()
	t.judge = nil
	return t.err
}

// known is the error, as far as it is known without waiting.
func (t *Doubt) known() error {
	if t.clear.Load() {
		return t.err
	}
	return nil
}

// doubts is what a buffer carries. A list never changes once it is stored.
type doubts = []*Doubt

// Doubt has the buffer's contents depend on t, whose work has been put on its
// stream.
func (b *Buffer) Doubt(t *Doubt) {
	if b.none() || t == nil || t.dev == nil {
		return
	}
	b.a.carry(doubts{t})
	d := t.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.doubted) == cap(d.doubted) { // it would grow
		d.doubted = slices.DeleteFunc(d.doubted, func(p weak.Pointer[Doubt]) bool {
			q := p.Value()
			return q == nil || q.clear.Load()
		})
	}
	d.doubted = append(d.doubted, weak.Make(t))
}

// settleDoubted waits for the doubts that somebody may still ask about, and returns the
// first error. mu is not held.
func (d *Device) settleDoubted() error {
	d.mu.Lock()
	list := d.doubted
	d.doubted = nil
	d.mu.Unlock()
	var first error
	for _, p := range list {
		if t := p.Value(); t != nil && !t.clear.Load() {
			if err := t.Wait(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

// Settled is Err, known for certain: it waits for work that may have found one.
func (b *Buffer) Settled() error {
	if b.none() {
		return errNoBuffer
	}
	if err := b.a.settleDoubts(); err != nil {
		return err
	}
	return b.Err()
}

// Doubtful reports whether the contents depend on an error that nobody knows yet.
func (b *Buffer) Doubtful() bool { return !b.none() && b.a.doubts.Load() != nil }

// Fresh reports whether nothing has been written to the buffer yet, so that
// nothing is lost where work on it fails.
func (b *Buffer) Fresh() bool {
	if b.none() {
		return false
	}
	d := b.a.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	return b.a.fresh()
}

// fresh is Buffer.Fresh; dev.mu is held.
func (a *allocation) fresh() bool { return a.block != nil && a.write.stream == nil }

// carry adds doubts.
func (a *allocation) carry(more doubts) {
	for {
		old := a.doubts.Load()
		var list doubts
		if old != nil {
			list = *old
		}
		list = union(list, more)
		if len(list) == 0 || a.doubts.CompareAndSwap(old, &list) {
			return
		}
	}
}

// union is both lists, without doubts that came to nothing.
func union(a, b doubts) doubts {
	out := make(doubts, 0, len(a)+len(b))
	for _, t := range a {
		if !t.clear.Load() || t.err != nil {
			out = append(out, t)
		}
	}
	for _, t := range b {
		if (!t.clear.Load() || t.err != nil) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// doubted is the error of the doubts, as far as it is known.
func (a *allocation) doubted() error {
	if list := a.doubts.Load(); list != nil {
		for _, t := range *list {
			if err := t.known(); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleDoubts waits until the doubts are cleared up and returns the first error.
func (a *allocation) settleDoubts() error {
	list := a.doubts.Load()
	if list == nil {
		return nil
	}
	for _, t := range *list {
		if err := t.Wait(); err != nil {
			return err
		}
	}
	a.doubts.CompareAndSwap(list, nil)
	return nil
}

// settleAll waits for the doubts of all buffers.
func settleAll(buffers []*Buffer) error {
	for _, b := range buffers {
		if !b.none() {
			if err := b.a.settleDoubts(); err != nil {
				return err
			}
		}
	}
	return nil
}

// inherit returns the doubts that the writes of work on s take over from its reads.
// Where a write would destroy contents that do not depend on them, and where s is
// being captured, it waits for them instead. mu is not held.
func (d *Device) inherit(s *Stream, reads, writes []*Buffer) (doubts, error) {
	var list doubts
	for _, b := range reads {
		if !b.none() {
			if more := b.a.doubts.Load(); more != nil {
				list = union(list, *more)
			}
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	wait := len(list) > mostDoubts
	d.mu.Lock()
	wait = wait || s.capture != nil
	for _, b := range writes {
		wait = wait || !b.none() && !b.a.fresh() && !b.a.carries(list)
	}
	d.mu.Unlock()
	if wait {
		return nil, settleAll(reads)
	}
	return list, nil
}

// carries reports whether the contents depend on all of the doubts already.
func (a *allocation) carries(list doubts) bool {
	had := a.doubts.Load()
	if had == nil {
		return false
	}
	for _, t := range list {
		if !slices.Contains(*had, t) {
			return false
		}
	}
	return true
}
