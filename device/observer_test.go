package device

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testObserver records its calls.
type testObserver struct {
	mu       sync.Mutex
	work     []*Measurement
	begun    int
	inUse    map[uint64]int64
	last     BufferUse
	captures int
}

func (o *testObserver) lock() func() {
	o.mu.Lock()
	return o.mu.Unlock
}

func (o *testObserver) BeginWork(*Measurement) {
	defer o.lock()()
	o.begun++
}

func (o *testObserver) EndWork(m *Measurement) {
	defer o.lock()()
	o.work = append(o.work, m)
}

func (o *testObserver) Allocated(b BufferUse) {
	defer o.lock()()
	if o.inUse == nil {
		o.inUse = map[uint64]int64{}
	}
	o.inUse[b.ID] += b.Bytes
	o.last = b
}

func (o *testObserver) Freed(b BufferUse) {
	defer o.lock()()
	o.inUse[b.ID] -= b.Bytes
	o.last = b
}

func (o *testObserver) Captured(*Device)                      { defer o.lock()(); o.captures++ }
func (o *testObserver) KernelCompiled(*Device, time.Duration) {}

func observing(t testing.TB) (*testObserver, *observerSession) {
	t.Helper()
	o := &testObserver{}
	x, err := observe(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Stop)
	return o, x
}

// waitingBackend counts waits for the GPU, and the objects that exist.
type waitingBackend struct {
	*testBackend
	waits   atomic.Int64
	streams atomic.Int64
}

func (b *waitingBackend) syncStream(s uint64) error {
	b.waits.Add(1)
	return b.testBackend.syncStream(s)
}

func (b *waitingBackend) syncEvent(e uint64) error { b.waits.Add(1); return b.testBackend.syncEvent(e) }

func (b *waitingBackend) newStream() (uint64, error) {
	b.streams.Add(1)
	return b.testBackend.newStream()
}

func (b *waitingBackend) closeStream(s uint64) error {
	b.streams.Add(-1)
	return b.testBackend.closeStream(s)
}

func (b *waitingBackend) liveEvents() int {
	b.hostBackend.mu.Lock()
	defer b.hostBackend.mu.Unlock()
	return len(b.events)
}

// noEvents checks that all events have been freed.
func noEvents(t *testing.T, b *waitingBackend) {
	t.Helper()
	if n := b.liveEvents(); n != 0 {
		t.Errorf("%d events are left", n)
	}
}

func waitingGPU(t testing.TB) (*Device, *waitingBackend) {
	t.Helper()
	b := &waitingBackend{testBackend: newTestBackend()}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.name(d.main.handle, "main")
	return d, b
}
