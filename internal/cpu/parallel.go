package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// partsPerWorker is the number of parts for each worker into which Parallel tries to divide the work. It is more than
// one, so that other workers can take over the parts of a delayed one.
const partsPerWorker = 4

// Parallel calls f on consecutive parts [lo, hi) that together cover [0, n) once, from up
// to GOMAXPROCS goroutines at the same time. Every lo is a multiple of grain, and only the
// last part may be shorter than grain; a grain below 1 counts as 1. A single part runs in
// the caller's goroutine. Parallel returns when every call has returned.
//
// The number of parts depends on GOMAXPROCS. A caller whose result would depend on the
// partition must choose grain so that it does not.
func Parallel(n, grain int, f func(lo, hi int)) { parallel(n, grain, 1, f) }

// parallelNear is Parallel for calls that read the same memory again, as the steps of a decoder and the products of an
// iterative solver do. While a worker lives, it starts every call with the same parts, whose data may still be in its
// core's cache. It then helps with the other parts.
func parallelNear(n, grain int, f func(lo, hi int)) { parallel(n, grain, runtime.GOMAXPROCS(0), f) }

// parallel is Parallel with the parts divided into at most `homes` ranges.
func parallel(n, grain, homes int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	grains := (n-1)/grain + 1
	if grains == 1 { // GOMAXPROCS takes a lock of the runtime
		f(0, n)
		return
	}
	threads := min(runtime.GOMAXPROCS(0), grains)
	if threads == 1 {
		f(0, n)
		return
	}
	step := max(grains/(threads*partsPerWorker), 1)
	j := &job{f: f, n: n, size: step * grain, parts: (grains-1)/step + 1}
	j.cut(min(homes, threads))
	sharedWorkers.run(j, threads-1)
}

// job is one call of Parallel.
type job struct {
	f              func(lo, hi int)
	n, size, parts int
	homes          []home
	single         [1]home // backs homes if there is one range
	// running is the number of workers inside work. The caller adds jobClosed when no part is left: a worker that
	// arrives later does not enter, so the caller never waits for a thread that is still waking up.
	running  atomic.Int32
	finished sync.Mutex // locked from the start, unlocked by the last worker to leave a closed job
}

const jobClosed = 1 << 30

// home is a range of consecutive parts, with which a goroutine starts. Two workers may start with the same one.
type home struct {
	next atomic.Int64 // the first part that no goroutine has taken
	end  int64
	_    [48]byte // several homes lie in different cache lines
}

// cut divides the parts into ranges, one a home.
func (j *job) cut(homes int) {
	j.homes = j.single[:]
	if homes > 1 {
		j.homes = make([]home, homes)
	}
	for i := range j.homes {
		j.homes[i].next.Store(int64(i * j.parts / homes))
		j.homes[i].end = int64((i + 1) * j.parts / homes)
	}
}

// run calls f for parts until none is left. The caller of Parallel is worker 0 and starts with home 0. The others share
// the remaining homes.
func (j *job) run(worker int) {
	first, n := 0, len(j.homes)
	if worker > 0 && n > 1 {
		first = 1 + worker%(n-1)
	}
	for i := range n {
		h := &j.homes[(first+i)%n]
		for h.next.Load() < h.end {
			part := h.next.Add(1) - 1
			if part >= h.end {
				break
			}
			j.runPart(int(part))
		}
	}
}

// runPart calls f for a part.
func (j *job) runPart(part int) {
	// The last part's end would pass n, and near MaxInt overflow.
	lo, hi := part*j.size, j.n
	if part < j.parts-1 {
		hi = lo + j.size
	}
	j.f(lo, hi)
}

// work is run for a worker. It does nothing in a closed job.
func (j *job) work(worker int) {
	for {
		n := j.running.Load()
		if n >= jobClosed {
			return
		}
		if j.running.CompareAndSwap(n, n+1) {
			break
		}
	}
	j.run(worker)
	if j.running.Add(-1) == jobClosed {
		j.finished.Unlock()
	}
}

// wait closes the job and returns when every worker has left it.
func (j *job) wait() {
	if j.running.Add(jobClosed) == jobClosed {
		return
	}
	for range waitSpins {
		if j.running.Load() == jobClosed {
			return
		}
		pause(pausesPerSpin)
	}
	j.finished.Lock()
}
