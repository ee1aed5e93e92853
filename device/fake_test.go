package device

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
)

// testBackend is a GPU that records its calls, and fails on request.
type testBackend struct {
	fakeBackend
	mu2     sync.Mutex
	log     []string
	fail    map[string]error // by the name of the call
	live    map[uint64]int64 // bytes by address
	pinned  int              // live pinned allocations
	names   map[uint64]string
	pending bool // events are not done yet
}

func newTestBackend() *testBackend {
	return &testBackend{fail: map[string]error{}, live: map[uint64]int64{}, names: map[uint64]string{}}
}

// say writes a call down and returns the failure that it was given.
func (b *testBackend) say(call string, handles ...uint64) error {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	line := call
	for _, h := range handles {
		if n, ok := b.names[h]; ok {
			line += " " + n
		} else {
			line += fmt.Sprintf(" %d", h)
		}
	}
	b.log = append(b.log, line)
	return b.fail[call]
}

func (b *testBackend) failNext(call string, err error) {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	b.fail[call] = err
}

// take returns the recorded calls and clears them.
func (b *testBackend) take() []string {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	l := b.log
	b.log = nil
	return l
}

func (b *testBackend) count(call string) (n int) {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	for _, l := range b.log {
		if l == call {
			n++
		}
	}
	return n
}

func (b *testBackend) name(handle uint64, name string) {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	b.names[handle] = name
}

func (b *testBackend) bytes() (n int64) {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	for _, x := range b.live {
		n += x
	}
	return n
}

func (b *testBackend) alloc(n int64) (memory, error) {
	if err := b.say("alloc"); err != nil {
		return memory{}, err
	}
	m, err := b.fakeBackend.alloc(n)
	b.mu2.Lock()
	defer b.mu2.Unlock()
	b.live[m.addr] = n
	return m, err
}

func (b *testBackend) free(m memory) error {
	b.mu2.Lock()
	if _, ok := b.live[m.addr]; !ok {
		b.mu2.Unlock()
		return errors.New("memory freed twice")
	}
	delete(b.live, m.addr)
	b.mu2.Unlock()
	return b.say("free")
}

func (b *testBackend) allocHost(n int) (unsafe.Pointer, error) {
	if err := b.say("allocHost"); err != nil {
		return nil, err
	}
	b.mu2.Lock()
	b.pinned++
	b.mu2.Unlock()
	return b.fakeBackend.allocHost(n)
}

func (b *testBackend) freeHost(p unsafe.Pointer) error {
	b.mu2.Lock()
	b.pinned--
	b.mu2.Unlock()
	return b.fakeBackend.freeHost(p)
}

func (b *testBackend) syncStream(s uint64) error { return b.say("sync", s) }

func (b *testBackend) record(e, s uint64) error {
	if err := b.say("record", s); err != nil {
		return err
	}
	return b.fakeBackend.record(e, s)
}

func (b *testBackend) wait(s, e uint64) error { return b.say("wait", s) }

func (b *testBackend) closeStream(s uint64) error { return b.say("closeStream", s) }

func (b *testBackend) closeEvent(e uint64) error {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	return b.fakeBackend.closeEvent(e)
}

func (b *testBackend) eventDone(uint64) (bool, error) {
	b.mu2.Lock()
	defer b.mu2.Unlock()
	return !b.pending, nil
}

func (b *testBackend) copyIn(m memory, off int64, src unsafe.Pointer, n int64, s, e uint64) error {
	if err := b.say("copyIn"); err != nil {
		return err
	}
	return b.fakeBackend.copyIn(m, off, src, n, s, e)
}

func (b *testBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, s, e uint64) error {
	if err := b.say("copyOut"); err != nil {
		return err
	}
	return b.fakeBackend.copyOut(dst, m, off, n, s, e)
}

func (b *testBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, s uint64) error {
	if err := b.say("syncCopyOut"); err != nil {
		return err
	}
	return b.fakeBackend.copyOut(dst, m, off, n, s, 0)
}

func (b *testBackend) updateExec(exec, graph uint64) error { return b.say("update") }
func (b *testBackend) launchExec(exec, s uint64) error     { return b.say("launchExec", s) }
func (b *testBackend) closeExec(exec uint64) error         { return b.say("closeExec") }
func (b *testBackend) closeGraph(g uint64) error           { return b.say("closeGraph") }

// h200 describes a GPU.
func h200(index int) Info {
	return Info{
		Name: "NVIDIA H200", Kind: CUDA, Index: index, SM: 90, MultiProcessors: 132, TotalMemory: 1 << 30, L2Bytes: 50 << 20,
		SharedMemoryPerBlock: 227 << 10, Driver: "580.65.06 (CUDA 13.0)", CUDA: 13000, ClusterLaunch: true, TensorMaps: true,
	}
}

// gpu returns a device over a testBackend, with a limit of its pool.
func gpu(t testing.TB, limit int64) (*Device, *testBackend) {
	t.Helper()
	b := newTestBackend()
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), limit)
	if err != nil {
		t.Fatal(err)
	}
	b.name(d.main.handle, "main")
	return d, b
}

// cpu returns a CPU device with a limit of its pool.
func cpu(t testing.TB, limit int64) *Device {
	t.Helper()
	d, err := newDevice(Info{Name: "test", Kind: CPU, TotalMemory: 1 << 30}, &hostBackend{}, nil, nil, newCollector(), limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Trim() }) // Go's garbage collector does not free the system's memory
	return d
}

// bothKinds runs a test on a CPU and on a GPU.
func bothKinds(t *testing.T, f func(t *testing.T, d *Device)) {
	t.Run("cpu", func(t *testing.T) { f(t, cpu(t, 0)) })
	t.Run("cuda", func(t *testing.T) { d, _ := gpu(t, 0); f(t, d) })
}

func alloc(t testing.TB, d *Device, n int64, s *Stream) *Buffer {
	t.Helper()
	b, err := d.Alloc(n, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func event(t testing.TB, d *Device) *Event {
	t.Helper()
	e, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func stream(t testing.TB, d *Device, name string) *Stream {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := d.backend.(*testBackend); ok {
		b.name(s.handle, name)
	}
	return s
}

// run launches work that does nothing.
func run(t testing.TB, s *Stream, reads, writes []*Buffer) {
	t.Helper()
	if err := s.dev.Launch(s, reads, writes, func(int, uint64) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// testDriver is a driver with the given GPUs.
type testDriver struct {
	infos   []Info
	openErr map[int]error
}

func (d *testDriver) devices() ([]Info, error) { return d.infos, nil }

func (d *testDriver) open(i int) (backend, error) {
	if err := d.openErr[i]; err != nil {
		return nil, err
	}
	return newTestBackend(), nil
}

// machine returns a system with the given GPUs and environment; with a nil driver, one
// without.
func machine(d driver, env map[string]string) *system {
	s := newSystem()
	s.getenv = func(name string) string { return env[name] }
	s.load = func() (driver, error) {
		if d == nil {
			return nil, errors.New("no libcuda.so.1 in this test")
		}
		return d, nil
	}
	s.library = func() (*cutlass.Library, error) { return &cutlass.Library{}, nil }
	s.usable = func(*cutlass.Library, Info) error { return nil }
	return s
}

// install makes s the system of the package's functions during a test.
func install(t *testing.T, s *system) {
	old := current
	current = s
	t.Cleanup(func() { current = old })
}

// eventually waits for something that another goroutine is about to do.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
