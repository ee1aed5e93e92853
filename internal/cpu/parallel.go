package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// partsPerWorker is how many parts Parallel aims to cut for each worker: more than one, so
// that the other workers take over the parts of a delayed one.
const partsPerWorker = 4

// Parallel calls f on consecutive parts [lo, hi) that together cover [0, n) once, from up
// to GOMAXPROCS goroutines at the same time. Every lo is a multiple of grain, and only the
// last part may be shorter than grain; a grain below 1 counts as 1. A single part runs in
// the caller's goroutine. Parallel returns when every call has returned.
//
// The number of parts depends on GOMAXPROCS. A caller whose result would depend on the
// partition must choose grain so that it does not.
func Parallel(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	grains := (n-1)/grain + 1
	threads := min(runtime.GOMAXPROCS(0), grains)
	if threads == 1 {
		f(0, n)
		return
	}
	step := max(grains/(threads*partsPerWorker), 1)
	sharedWorkers.run(&job{f: f, n: n, size: step * grain, parts: (grains-1)/step + 1}, threads-1)
}

// job is one call of Parallel.
type job struct {
	f              func(lo, hi int)
	n, size, parts int
	begun          atomic.Int64 // parts that a goroutine has taken
	// running is the number of workers inside work. The caller adds jobClosed
	// when no part is left: a worker that comes later does not enter, so the
	// caller never waits for a thread that is still waking up.
	running  atomic.Int32
	finished sync.Mutex // locked from the start, unlocked by the last worker to leave a closed job
}

const jobClosed = 1 << 30

// run calls f until no part is left.
func (j *job) run() {
	for {
		part := int(j.begun.Add(1)) - 1
		if part >= j.parts {
			return
		}
		// The last part's end would pass n, and near MaxInt overflow.
		lo, hi := part*j.size, j.n
		if part < j.parts-1 {
			hi = lo + j.size
		}
		j.f(lo, hi)
	}
}

// work is run for a worker. It does nothing in a closed job.
func (j *job) work() {
	for {
		n := j.running.Load()
		if n >= jobClosed {
			return
		}
		if j.running.CompareAndSwap(n, n+1) {
			break
		}
	}
	j.run()
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
