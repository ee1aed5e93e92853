package cpu

import (
	"runtime"
	"sync/atomic"
)

// A workerPool is the set of goroutines that help the callers of Parallel. A worker that
// has finished a job spins for half a millisecond waiting for the next one, and then ends.
// Waking a thread costs 5 to 15 us, and handing a job to a spinning worker 0.5 us. Without
// spinning, a Jacobi iteration over 256 x 256 takes 1.4 times as long, and 100 steps of
// logistic regression on 50,000 rows 1.7 times. An idle program has no workers.
// If other programs keep every processor busy, spinning may cost more than it saves. With about
// 20 runnable threads on two cores, a training step took 0.2 ms with 200 spins, and in most runs
// 0.6 to 1.0 ms with 2,000; in other runs both took as long.
//
// A worker serves any caller, also one inside a bubble of testing/synctest:
// nothing here is a channel or a WaitGroup made by a caller, which a goroutine
// outside the bubble may not use, and spins are counted, because the clock of a
// bubble stands still.
type workerPool struct {
	started atomic.Uint32 // workers started so far, which is the number of the newest
	idle    atomic.Int32  // spinning workers that no caller has claimed
	jobs    chan *job     // one for each claim
}

var sharedWorkers = newWorkerPool()

func newWorkerPool() *workerPool { return &workerPool{jobs: make(chan *job, 64)} }

const (
	pausesPerSpin = 8    // 0.2 us
	waitSpins     = 200  // spins of a caller, before it blocks until the last worker has left
	idleSpins     = 2000 // spins of a worker, before it ends; suite programs run 0.97 to 1.27 times as fast as with 200 (mlp 1.27; two rounds)
	spinsPerYield = 32   // spins of a worker, before it lets other goroutines run
)

// run executes j with up to n workers besides the caller, and returns when it is done.
func (p *workerPool) run(j *job, n int) {
	j.finished.Lock()
	for range n {
		if p.claim() {
			p.jobs <- j
		} else {
			go p.work(j, int(p.started.Add(1)))
		}
	}
	j.run(0)
	j.wait()
}

// work is the function of the goroutine of a worker. It executes j, and the jobs after it.
func (p *workerPool) work(j *job, worker int) {
	for j != nil {
		j.work(worker)
		j = p.next()
	}
}

// next spins until there is another job. If none arrives in time, it returns nil.
//
// Only a worker that can claim itself may end. If callers have claimed all idle workers, their
// jobs will arrive soon, and the worker continues to spin. Either it receives such a job, or a
// later worker does and leaves its place in the idle count to this worker.
func (p *workerPool) next() *job {
	patience := idleSpins
	if int(p.idle.Add(1)) >= runtime.GOMAXPROCS(0) {
		patience = 0
	}
	for spin := 0; ; spin++ {
		select {
		case j := <-p.jobs:
			return j
		default:
		}
		if spin >= patience && p.claim() {
			return nil
		}
		pause(pausesPerSpin)
		if spin%spinsPerYield == spinsPerYield-1 {
			runtime.Gosched()
		}
	}
}

// claim decrements the number of idle workers. It reports false at zero.
func (p *workerPool) claim() bool {
	for {
		n := p.idle.Load()
		if n == 0 {
			return false
		}
		if p.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
}
