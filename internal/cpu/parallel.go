package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// partsPerWorker is how many parts Parallel aims to cut for each worker: more
// than one, so that a worker that was held up leaves its share to the others.
const partsPerWorker = 4

// Parallel calls f on consecutive parts [lo, hi) that together cover [0, n)
// once, from up to GOMAXPROCS goroutines at the same time. Every lo is a
// multiple of grain, and no part but the last is shorter than grain; grain
// below 1 counts as 1. When one part would do, f runs in the caller's
// goroutine. Parallel returns when every call has returned.
//
// How many parts there are depends on GOMAXPROCS: a caller whose result would
// depend on the cuts must let grain alone decide what belongs together.
func Parallel(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	grains := (n-1)/grain + 1
	workers := min(runtime.GOMAXPROCS(0), grains)
	if workers == 1 {
		f(0, n)
		return
	}
	step := max(grains/(workers*partsPerWorker), 1)
	parts := (grains-1)/step + 1
	var next atomic.Int64
	work := func() {
		for {
			part := int(next.Add(1)) - 1
			if part >= parts {
				return
			}
			// The last part's end would pass n, and near MaxInt overflow.
			lo := part * step * grain
			hi := n
			if part < parts-1 {
				hi = lo + step*grain
			}
			f(lo, hi)
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
