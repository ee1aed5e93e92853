package cpu

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// waitForGoroutines fails the test when there are still more than n goroutines
// after a minute.
func waitForGoroutines(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after\n%s", n, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}

// quietGoroutines returns the number of goroutines once it has not changed for
// 20 ms, which is when the workers of earlier tests have ended.
func quietGoroutines(t *testing.T) int {
	t.Helper()
	n, since := runtime.NumGoroutine(), time.Now()
	for time.Since(since) < 20*time.Millisecond {
		time.Sleep(time.Millisecond)
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
	}
	return n
}

// TestParallelNested calls Parallel inside Parallel from many goroutines, so that jobs reach
// workers on every path, and counts the elements.
func TestParallelNested(t *testing.T) {
	before := quietGoroutines(t)
	for _, procs := range []int{2, 3, 8} {
		old := runtime.GOMAXPROCS(procs)
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 200 {
					const outer, inner = 9, 33
					var seen [outer * inner]int8
					Parallel(outer, 1, func(lo, hi int) {
						for i := lo; i < hi; i++ {
							Parallel(inner, 2, func(lo, hi int) {
								for j := lo; j < hi; j++ {
									seen[i*inner+j]++ // parts are disjoint, or -race says so
								}
							})
						}
					})
					for i, n := range seen {
						if n != 1 {
							t.Errorf("GOMAXPROCS %d: element %d visited %d times", procs, i, n)
							return
						}
					}
				}
			})
		}
		callers.Wait()
		runtime.GOMAXPROCS(old)
	}
	waitForGoroutines(t, before)
	idle := func() (int, int) { return int(sharedWorkers.idle.Load()), len(sharedWorkers.jobs) }
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if n, m := idle(); n == 0 && m == 0 {
			break
		}
	}
	if n, m := idle(); n != 0 || m != 0 {
		t.Errorf("%d idle workers and %d jobs are left", n, m)
	}
}

// TestParallelWaitsForWorkers gives the worker the longer part, longer than the
// caller spins.
func TestParallelWaitsForWorkers(t *testing.T) {
	old := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(old)
	for range 20 {
		var begun, ended atomic.Int32
		Parallel(2, 1, func(lo, hi int) {
			if begun.Add(1) == 1 {
				// The caller or the worker. The other one takes part 2, and leaves first.
				for begun.Load() == 1 {
					runtime.Gosched()
				}
				time.Sleep(2 * time.Millisecond)
			}
			ended.Add(1)
		})
		if n := ended.Load(); n != 2 {
			t.Fatalf("Parallel returned after %d of 2 parts", n)
		}
	}
}

// TestHomes checks that a worker starts with the parts of its own range, and then takes over
// those of others.
func TestHomes(t *testing.T) {
	for worker, want := range [][]int{{0, 1, 2, 3, 4, 5, 6}, {4, 5, 6, 0, 1, 2, 3}, {2, 3, 4, 5, 6, 0, 1}, {4, 5, 6, 0, 1, 2, 3}} {
		var got []int
		j := &job{f: func(lo, hi int) { got = append(got, lo/2) }, n: 13, size: 2, parts: 7}
		j.cut(3)
		if j.run(worker); !slices.Equal(got, want) {
			t.Errorf("worker %d: %v, want %v", worker, got, want)
		}
	}
	for _, procs := range []int{1, 2, 3, 8} {
		old := runtime.GOMAXPROCS(procs)
		for n := range 70 {
			seen := make([]int8, n)
			parallelNear(n, 2, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					seen[i]++ // parts are disjoint, or -race says so
				}
			})
			if slices.ContainsFunc(seen, func(n int8) bool { return n != 1 }) {
				t.Errorf("GOMAXPROCS %d: visits %v", procs, seen)
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

func TestClosedJobTurnsWorkersAway(t *testing.T) {
	j := &job{f: func(lo, hi int) { t.Errorf("part [%d, %d)", lo, hi) }, n: 4, size: 1, parts: 4}
	j.finished.Lock()
	j.wait()
	j.work(1)
	if n := j.running.Load(); n != jobClosed {
		t.Errorf("running is %#x, want %#x", n, jobClosed)
	}
}

// TestParallelInBubble shares workers between a bubble of synctest and callers outside it.
// The runtime ends the program if a channel or WaitGroup of a bubble is used outside.
func TestParallelInBubble(t *testing.T) {
	old := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(old)
	sum := func() (n int64) {
		var total atomic.Int64
		Parallel(64, 1, func(lo, hi int) { total.Add(int64(hi - lo)) })
		return total.Load()
	}
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				sum()
			}
		}
	}()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			for range 100 {
				if n := sum(); n != 64 {
					t.Errorf("%d of 64 elements", n)
				}
			}
			time.Sleep(time.Second)
		})
	}
	close(stop)
	<-stopped
}
