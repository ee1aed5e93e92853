package monitor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// fake is a device whose figures, and whose clock, a test sets.
type fake struct {
	mu       sync.Mutex
	memory   Memory
	err      error
	trimErr  error
	trims    int
	collects int
	garbage  int64 // bytes that Collect subtracts from InUse
	buffers  uint64
	live     map[uint64][]device.LiveBuffer // keyed by the argument of LiveBuffers
	at       time.Time
}

func (f *fake) locked(g func()) { f.mu.Lock(); defer f.mu.Unlock(); g() }

func (f *fake) Memory() (m Memory, err error) {
	f.locked(func() { m, err = f.memory, f.err })
	return m, err
}

func (f *fake) Trim() (err error) {
	f.locked(func() { f.trims++; err = f.trimErr })
	return err
}

func (f *fake) Collect() {
	f.locked(func() { f.collects++; f.memory.InUse -= f.garbage; f.garbage = 0 })
}

func (f *fake) Buffers() (n uint64) {
	f.locked(func() { n = f.buffers })
	return n
}

func (f *fake) LiveBuffers(after uint64) (l []device.LiveBuffer) {
	f.locked(func() { l = f.live[after] })
	return l
}

func (f *fake) now() (t time.Time) {
	f.locked(func() { t = f.at })
	return t
}

// used sets the figures to n bytes in use of 1000.
func (f *fake) used(n int64) { f.locked(func() { f.memory = Memory{Total: 1000, Free: 1000 - n} }) }

func newFake(o Options) (*fake, *Monitor) {
	f := &fake{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Source, o.Now = f, f.now
	return f, New(nil, o)
}

func TestPressure(t *testing.T) {
	for _, c := range []struct {
		used int64
		want Pressure
	}{{0, Low}, {599, Low}, {600, Moderate}, {799, Moderate}, {800, High}, {899, High}, {900, Critical}, {1000, Critical}} {
		f, m := newFake(Options{})
		f.used(c.used)
		if got := m.Snapshot(); got.Pressure != c.want || m.Pressure() != c.want {
			t.Errorf("%d of 1000 used: %v, %v; want %v", c.used, got.Pressure, m.Pressure(), c.want)
		}
	}
	// The bounds hold exactly for totals that are no power of ten.
	for _, total := range []int64{5, 15, 35, 141 << 30 / 5 * 5, 80*1000*1000*1000 + 5} {
		for part, want := range map[int64]Pressure{3: Moderate, 4: High} {
			if got := pressureOf(Memory{Total: total, Free: total - total/5*part}.Used()); got != want {
				t.Errorf("%d/5 of %d: %v, want %v", part, total, got, want)
			}
		}
	}
	for _, m := range []Memory{{}, {Total: -1, Free: 5}, {Total: 5, Free: 9}} {
		if m.Used() != 0 {
			t.Errorf("%+v: %v used", m, m.Used())
		}
	}
	if used := (Memory{Total: 5, Free: -9}).Used(); used != 1 {
		t.Errorf("with a negative number of free bytes %v are used", used)
	}
	names := []string{"low", "moderate", "high", "critical", "Pressure(4)"}
	for i, want := range names {
		if got := Pressure(i).String(); got != want {
			t.Errorf("level %d is %q, want %q", i, got, want)
		}
	}
}

func TestCanAllocate(t *testing.T) {
	for _, c := range []struct {
		memory Memory
		bytes  int64
		margin float64
		want   bool
	}{
		{Memory{Total: 1000, Free: 549}, 500, 0.1, false},
		{Memory{Total: 1000, Free: 550}, 500, 0.1, true},
		{Memory{Total: 1000, Free: 500, Cached: 49}, 500, 0.1, false},
		{Memory{Total: 1000, Free: 500, Cached: 50}, 500, 0.1, true},
		{Memory{Total: 1000, Free: 500}, 500, 0, true},
		{Memory{Total: 1000}, 0, 0.5, true},
		{Memory{Total: 1000}, 1, 0, false},
		{Memory{Total: 1000, Free: 1000}, -1, 0, false},
		{Memory{Total: 1000, Free: 1000}, 1, -0.5, false},
		{Memory{Total: 1 << 40, Free: 1 << 40}, 1<<63 - 1, 9, false},
		{Memory{Total: 1 << 40, Free: 1 << 40}, 1, 1e300, false},
	} {
		f, m := newFake(Options{})
		f.memory = c.memory
		if got := m.CanAllocate(c.bytes, c.margin); got != c.want {
			t.Errorf("%d bytes, margin %v of %+v: %v", c.bytes, c.margin, c.memory, got)
		}
		f.err = errors.New("gone")
		if m.CanAllocate(0, 0) {
			t.Error("without figures there is room")
		}
	}
}

func TestTrim(t *testing.T) {
	f, m := newFake(Options{})
	trims := 0
	for _, c := range []struct {
		used int64
		trim bool
	}{
		{849, false},
		{850, true},
		{990, false},
		{800, false},
		{850, false}, // not below 80 % since
		{799, false},
		{849, false},
		{851, true},
		{100, false},
		{900, true},
	} {
		f.used(c.used)
		if c.trim {
			trims++
		}
		if s := m.Snapshot(); s.Trimmed != c.trim || f.trims != trims || s.Err != nil {
			t.Errorf("%d of 1000: trimmed %v, %d times, %v; want %v, %d", c.used, s.Trimmed, f.trims, s.Err, c.trim, trims)
		}
	}
	f.used(0)
	m.Snapshot()
	f.trimErr = errors.New("stuck")
	f.used(850)
	if s := m.Snapshot(); !errors.Is(s.Err, f.trimErr) || !s.Trimmed {
		t.Errorf("a trim that fails: %+v", s)
	}
}

func TestCallbacks(t *testing.T) {
	f, m := newFake(Options{})
	var told []Pressure
	remove := m.OnPressure(func(s Snapshot) {
		told = append(told, s.Pressure)
		// All of these take the mutex, and the first measures again.
		m.Snapshot()
		m.History(-1)
		m.Leaks()
		m.Pressure()
		m.CanAllocate(1, 0)
		m.OnPressure(func(Snapshot) {})()
	})
	for _, n := range []int64{0, 100, 600, 650, 910, 910, 810, 0} {
		f.used(n)
		m.Snapshot()
	}
	if want := []Pressure{Moderate, Critical, High, Low}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	remove()
	remove()
	f.used(999)
	m.Snapshot()
	if len(told) != 4 {
		t.Error("a callback that was removed is called")
	}
}

// TestCallbackChange changes the level within a callback: the next snapshot tells of it.
func TestCallbackChange(t *testing.T) {
	f, m := newFake(Options{})
	var told []Pressure
	m.OnPressure(func(s Snapshot) {
		told = append(told, s.Pressure)
		f.used(1000 - 1000*int64(len(told)%2))
		m.Snapshot()
	})
	f.used(700)
	for range 3 {
		m.Snapshot()
	}
	if want := []Pressure{Moderate, Low, Critical}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestErrors(t *testing.T) {
	f, m := newFake(Options{})
	f.err = errors.New("gone")
	if s := m.Snapshot(); !errors.Is(s.Err, f.err) || len(m.History(-1)) != 0 || m.Leaks() != nil {
		t.Errorf("without figures: %+v, %d kept", s, len(m.History(-1)))
	}
	if s := New(nil, Options{Trace: true}).Snapshot(); !errors.Is(s.Err, device.ErrDevice) {
		t.Errorf("without a device: %v", s.Err)
	}
}

func TestHistory(t *testing.T) {
	f, m := newFake(Options{Keep: 4})
	for i := range 50 {
		f.used(int64(i))
		f.at = f.at.Add(time.Second)
		m.Snapshot()
		for _, n := range []int{-1, 0, 1, 3, 4, 5, 100} {
			want := min(i+1, 4)
			if n >= 0 {
				want = min(want, n)
			}
			got := m.History(n)
			if len(got) != want {
				t.Fatalf("after %d snapshots, the last %d are %d, want %d", i+1, n, len(got), want)
			}
			for j, s := range got {
				if s.Free != 1000-int64(i-want+1+j) {
					t.Fatalf("after %d snapshots, number %d of the last %d has %d free", i+1, j, n, s.Free)
				}
			}
		}
	}
	f.at = f.at.Add(-time.Hour) // a snapshot that was overtaken
	m.Snapshot()
	if h := m.History(-1); !slices.IsSortedFunc(h, func(a, b Snapshot) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("not in the order of time: %v", h)
	}
}

// TestMarks takes very many snapshots: few are kept, and the window is still compared.
func TestMarks(t *testing.T) {
	f, m := newFake(Options{Keep: 10})
	for range 30_000 {
		f.at = f.at.Add(time.Second / 10)
		f.memory.InUse++
		m.Snapshot()
	}
	if n, k := len(m.history.list), len(m.history.marks); n >= 20 || k > marksPerWindow+1 {
		t.Errorf("%d snapshots and %d marks are kept", n, k)
	}
	l, _ := m.growth()
	if d := l.To.Time.Sub(l.From.Time); d < 300*time.Second || d > 303*time.Second {
		t.Errorf("the window is %v", d)
	}
}

// TestStart has a clock of its own: snapshots come at the interval, and Close leaves no
// goroutine, for which synctest would wait.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{memory: Memory{Total: 1000, Free: 900}}
		m := New(nil, Options{Source: f, Interval: 10 * time.Second})
		for range 2 { // the second does nothing
			if err := m.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if n := len(m.History(-1)); n != 3 {
			t.Errorf("%d snapshots in 25 s, want 3", n)
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		if n := len(m.History(-1)); n != 3 {
			t.Errorf("%d snapshots after Close, want 3", n)
		}
		_, _, line, _ := runtime.Caller(0)
		err := m.Start(t.Context())
		var oe *gpk.OpError
		if want := fmt.Sprint("monitor/monitor_test.go:", line+1); !errors.As(err, &oe) || oe.Op != "monitor.Start" || oe.Site != want {
			t.Errorf("%v does not name the call at %s", err, want)
		}
		if !errors.Is(err, ErrClosed) {
			t.Errorf("Start after Close: %v", err)
		}
	})
}

func TestStartContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{memory: Memory{Total: 1000, Free: 900}}
		m := New(nil, Options{Source: f})
		for i := range 2 { // a context that has ended does not prevent another Start
			ctx, cancel := context.WithCancel(t.Context())
			if err := m.Start(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
			if n := len(m.History(-1)); n != i+1 {
				t.Errorf("%d snapshots, want %d", n, i+1)
			}
		}
		if err := m.Start(nil); !errors.Is(err, gpk.ErrUnsupported) { //nolint:staticcheck // the test's subject
			t.Error("a nil context is accepted")
		}
	})
}

// TestCloseInCallback closes the monitor in the goroutine that Close waits for.
func TestCloseInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{memory: Memory{Total: 1000, Free: 0}}
		m := New(nil, Options{Source: f})
		closed := false
		m.OnPressure(func(Snapshot) { closed = m.Close() == nil })
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !closed {
			t.Error("Close in a callback does not return")
		}
	})
}

func TestConcurrent(t *testing.T) {
	f, m := newFake(Options{Keep: 16})
	before := runtime.NumGoroutine()
	var told sync.Mutex
	m.OnPressure(func(Snapshot) {
		if !told.TryLock() {
			t.Error("two callbacks run at once")
			return
		}
		defer told.Unlock()
		m.Snapshot()
	})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 200 {
				f.used(int64(i*j) % 1000)
				f.locked(func() { f.at = f.at.Add(time.Second); f.memory.InUse = int64(j) })
				m.Snapshot()
				m.History(3)
				m.Leaks()
			}
		})
	}
	group.Wait()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // a goroutine ends a moment after it says so
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
