package device

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestCollectGarbageWaits checks that slow finalizers, each a little slow, are waited
// for, but one that hangs is not.
func TestCollectGarbageWaits(t *testing.T) {
	const n, each = 15, 10 * time.Millisecond
	var done atomic.Int32
	drop := func(count int, cleanup func()) {
		for range count {
			x := new([1 << 10]byte)
			runtime.AddCleanup(x, func(int) { cleanup() }, 0)
		}
	}
	drop(n, func() {
		time.Sleep(each)
		done.Add(1)
	})
	collectGarbage()
	awaitCleanups(time.Minute) // more than cleanupTime: a busy machine may stop them
	if got := done.Load(); got != n {
		t.Errorf("%d of %d cleanups had run", got, n)
	}
	hang := make(chan struct{})
	drop(1, func() { <-hang })
	begun := time.Now()
	collectGarbage()
	awaitCleanups(cleanupTime)
	if took := time.Since(begun); took < cleanupTime || took > time.Minute {
		t.Errorf("a cleanup that hangs was waited for for %v", took)
	}
	close(hang)
}
