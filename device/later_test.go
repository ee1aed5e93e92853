package device

import (
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// laterBackend is a fake GPU that runs enqueued work only when a caller waits for it, so that
// copies read and write host memory as late as possible.
type laterBackend struct {
	fakeBackend
	late   sync.Mutex
	work   map[uint64][]laterWork   // by stream: all work enqueued so far
	done   map[uint64]int           // by stream: how many pieces of work have run
	behind map[uint64]laterMoment   // by event: where it was recorded last
	calls  map[string]int           // number of driver calls, by name
	on     map[uint64]chan struct{} // by event: a waiter first waits for this channel
	early  bool                     // a waiter held by on waits for the moment recorded before it was held
	waits  map[uint64]int           // by event: number of waiters
	torn   []uint64                 // events that were closed while somebody waited for them
	ended  []uint64                 // all closed events
	fault  error                    // returned to every waiter
}

// laterWork is one enqueued piece of work.
type laterWork struct {
	call string
	f    func()
}

// laterMoment is the moment at which a stream has run its first n pieces of work.
type laterMoment struct {
	stream uint64
	n      int
}

func laterDevice(t *testing.T) (*Device, *laterBackend) {
	t.Helper()
	b := &laterBackend{work: map[uint64][]laterWork{}, done: map[uint64]int{}, behind: map[uint64]laterMoment{}, calls: map[string]int{}, on: map[uint64]chan struct{}{}, waits: map[uint64]int{}}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, b
}

// take returns the number of driver calls by name, and resets the counts.
func (b *laterBackend) take() map[string]int {
	b.late.Lock()
	defer b.late.Unlock()
	c := b.calls
	b.calls = map[string]int{}
	return c
}

// run runs the first n pieces of work of a stream that have not run yet. late is held.
func (b *laterBackend) run(stream uint64, n int) {
	for b.done[stream] < n {
		w := b.work[stream][b.done[stream]]
		b.done[stream]++
		w.f()
	}
}

func (b *laterBackend) put(call string, stream, event uint64, f func()) {
	b.late.Lock()
	defer b.late.Unlock()
	b.calls[call]++
	b.work[stream] = append(b.work[stream], laterWork{call, f})
	if event != 0 {
		b.behind[event] = laterMoment{stream, len(b.work[stream])}
	}
}

func (b *laterBackend) copyIn(m memory, off int64, src unsafe.Pointer, n int64, stream, event uint64) error {
	b.put("copyIn", stream, event, func() { copy(part(m.host, off, n), part(src, 0, n)) })
	return nil
}

func (b *laterBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error {
	b.put("copyOut", stream, event, func() { copy(part(dst, 0, n), part(m.host, off, n)) })
	return nil
}

func (b *laterBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error {
	_ = b.copyOut(dst, m, off, n, stream, 0)
	return b.syncStream(stream)
}

func (b *laterBackend) record(event, stream uint64) error {
	b.put("record", stream, event, func() {})
	return nil
}

func (b *laterBackend) wait(stream, event uint64) error {
	b.late.Lock()
	m := b.behind[event]
	b.late.Unlock()
	b.put("wait", stream, 0, func() { b.run(m.stream, m.n) })
	return nil
}

func (b *laterBackend) syncStream(stream uint64) error {
	b.late.Lock()
	defer b.late.Unlock()
	b.calls["syncStream"]++
	if b.fault != nil {
		return b.fault
	}
	b.run(stream, len(b.work[stream]))
	return nil
}

func (b *laterBackend) syncEvent(event uint64) error {
	b.late.Lock()
	c, m := b.on[event], b.behind[event]
	b.waits[event]++
	b.late.Unlock()
	if c != nil {
		c <- struct{}{}
		<-c
	}
	b.late.Lock()
	defer b.late.Unlock()
	b.waits[event]--
	b.calls["syncEvent"]++
	if b.fault != nil {
		return b.fault
	}
	if !b.early {
		m = b.behind[event]
	}
	b.run(m.stream, m.n)
	return nil
}

func (b *laterBackend) closeEvent(event uint64) error {
	b.late.Lock()
	b.ended = append(b.ended, event)
	if b.waits[event] > 0 {
		b.torn = append(b.torn, event)
	}
	b.late.Unlock()
	return b.fakeBackend.closeEvent(event)
}

// hold makes waits for an event send to the returned channel and then block until they
// receive from it.
func (b *laterBackend) hold(event uint64) chan struct{} {
	b.late.Lock()
	defer b.late.Unlock()
	c := make(chan struct{})
	b.on[event] = c
	return c
}

// release ends the effect of hold: it resumes the held wait, and later waits do not block.
func (b *laterBackend) release(event uint64, held chan struct{}) {
	b.late.Lock()
	delete(b.on, event)
	b.late.Unlock()
	held <- struct{}{}
}

func (b *laterBackend) eventDone(event uint64) (bool, error) { return true, b.syncEvent(event) }

// copying reports whether a copy on a stream has not run yet.
func (b *laterBackend) copying(stream uint64) bool {
	b.late.Lock()
	defer b.late.Unlock()
	return slices.ContainsFunc(b.work[stream][b.done[stream]:], func(w laterWork) bool { return w.call != "record" })
}
