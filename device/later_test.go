package device

import (
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// laterBackend is a GPU that does nothing before somebody waits for it: copies read and
// write the host's memory as late as they may.
type laterBackend struct {
	fakeBackend
	late   sync.Mutex
	work   map[uint64][]laterWork   // of each stream, all of it
	done   map[uint64]int           // how much of it is done
	behind map[uint64]laterMoment   // by event
	calls  map[string]int           // of the driver
	on     map[uint64]chan struct{} // by event: who waits for it waits for this first
	early  bool                     // he waits for what the event stood for before that
	waits  map[uint64]int           // by event: who waits for it
	torn   []uint64                 // events that were closed meanwhile
	ended  []uint64                 // all that were closed
	fault  error                    // of whoever waits
}

type laterWork struct {
	call string
	f    func()
}

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

// take returns how often the driver was called, by name, and begins anew.
func (b *laterBackend) take() map[string]int {
	b.late.Lock()
	defer b.late.Unlock()
	c := b.calls
	b.calls = map[string]int{}
	return c
}

// run does what is on a stream up to the n-th piece; late is held.
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

// hold makes the next wait for an event report to the channel, and go on when it is sent
// something back.
func (b *laterBackend) hold(event uint64) chan struct{} {
	b.late.Lock()
	defer b.late.Unlock()
	c := make(chan struct{})
	b.on[event] = c
	return c
}

// release has later waits for the event be as usual, and the held one go on.
func (b *laterBackend) release(event uint64, held chan struct{}) {
	b.late.Lock()
	delete(b.on, event)
	b.late.Unlock()
	held <- struct{}{}
}

func (b *laterBackend) eventDone(event uint64) (bool, error) { return true, b.syncEvent(event) }

// copying reports whether some copy on a stream is not done.
func (b *laterBackend) copying(stream uint64) bool {
	b.late.Lock()
	defer b.late.Unlock()
	return slices.ContainsFunc(b.work[stream][b.done[stream]:], func(w laterWork) bool { return w.call != "record" })
}
