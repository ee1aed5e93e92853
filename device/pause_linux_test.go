package device

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// timedBackend is a backend whose events are done some time after they were recorded.
type timedBackend struct {
	testBackend
	takes time.Duration
	done  time.Time // when the last one is done
	looks int
}

func (b *timedBackend) record(uint64, uint64) error {
	b.done = time.Now().Add(b.takes)
	return nil
}

func (b *timedBackend) eventDone(uint64) (bool, error) {
	b.looks++
	return !time.Now().Before(b.done), nil
}

func timedDevice(t *testing.T) (*Device, *timedBackend) {
	t.Helper()
	b := &timedBackend{testBackend: *newTestBackend()}
	d, err := newDevice(h200(0), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, b
}

// TestSynchronizeOnTime checks that a cancelable wait for short work ends soon after the
// work; longer delays are logged. A busy machine makes some waits longer, so the test
// takes the best of many.
func TestSynchronizeOnTime(t *testing.T) {
	d, b := timedDevice(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, b.takes = range []time.Duration{20e3, 100e3, 300e3, 700e3, 1e6, 1.5e6, 3e6, 10e6, 100e6} {
		late, most, short := time.Hour, max(b.takes/20, 10*time.Microsecond), b.takes <= shortWork
		for try, end := 0, time.Now().Add(20*time.Second); try < 5 || late > most && (try < 200 || short && time.Now().Before(end)); try++ {
			if err := d.main.Synchronize(ctx); err != nil {
				t.Fatal(err)
			}
			late = min(late, time.Since(b.done))
		}
		t.Logf("work of %v was seen to be done %v late", b.takes, late)
		// Who sleeps wakes up when the system has a processor for him.
		if short && late > most {
			t.Errorf("work of %v was seen to be done %v late, at best", b.takes, late)
		}
	}
}

// TestSynchronizeSleeps checks that a long wait takes little time of the processor and
// few calls of the driver.
func TestSynchronizeSleeps(t *testing.T) {
	d, b := timedDevice(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(1, &r); err != nil { // RUSAGE_THREAD
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.takes = 400 * time.Millisecond
	before := used()
	if err := d.main.Synchronize(ctx); err != nil {
		t.Fatal(err)
	}
	cpu := used() - before
	t.Logf("a wait of %v took %v of the processor and looked %d times", b.takes, cpu, b.looks)
	if cpu > b.takes/8 || b.looks > 20000 {
		t.Errorf("a wait of %v took %v of the processor and looked %d times", b.takes, cpu, b.looks)
	}
}
