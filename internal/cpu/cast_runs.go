package cpu

import "unsafe"

const (
	// longestRun is the longest run, in bytes, for which copyRuns is faster than a call for each run.
	longestRun = 4096
	// loopedRun is the longest run, in elements, that a loop copies faster than copyBytes.
	loopedRun = 8
	// fewestRuns is the length of an axis from which a loop of its own is worth it.
	fewestRuns = 8
)

// copyRuns copies operand 1 of a nest to operand 0, of the same type, if their elements are in
// short runs along the innermost axis, as those of Windows and of exchanged outer axes are. A call for every run would
// take as long as its copy, so copyRuns visits the runs along one other axis in a loop. It reports
// whether it copied.
func copyRuns(t nest) bool {
	last := len(t.axes) - 1
	run := t.axes[last]
	size := t.size[0]
	if last == 0 || run.n*size > longestRun || run.step[0] != size || run.step[1] != size {
		return false
	}
	copyRun := copyBytes
	if t.nonTemporal = streams(t.n * size); t.nonTemporal {
		copyRun = stream
	}
	// Of the axes that are long enough, take the one whose runs are closest in the source. For
	// windows of 3 x 3 on images [8, 16, 64, 64] this takes two thirds of the time of the innermost one.
	loop := last - 1
	for d := last - 1; d >= 0; d-- {
		if a := t.axes[d]; a.n >= fewestRuns && (t.axes[loop].n < fewestRuns || abs(a.step[1]) < abs(t.axes[loop].step[1])) {
			loop = d
		}
	}
	axes := make([]axis, 0, last)
	axes = append(append(append(axes, t.axes[:loop]...), t.axes[loop+1:last]...), t.axes[loop])
	t.axes, t.n = axes, t.n/run.n
	Parallel(t.n, max(1, minPart/run.n), func(lo, hi int) {
		t.walk(lo, hi, func(s span, _ *work) {
			switch {
			case run.n > loopedRun || size > 8:
				for i := range s.n {
					copyRun(unsafe.Add(s.p[0], i*s.step[0]), unsafe.Add(s.p[1], i*s.step[1]), run.n*size)
				}
			case size == 1:
				copyRunsOf[uint8](s, run.n)
			case size == 2:
				copyRunsOf[uint16](s, run.n)
			case size == 4:
				copyRunsOf[uint32](s, run.n)
			default:
				copyRunsOf[uint64](s, run.n)
			}
		})
		t.fence()
	})
	return true
}

// copyRunsOf copies a run of n elements at each place of a span.
func copyRunsOf[T any](s span, n int) {
	for i := range s.n {
		d, x := pair[T, T](unsafe.Add(s.p[0], i*s.step[0]), unsafe.Add(s.p[1], i*s.step[1]), n)
		for j, v := range x { //nolint:staticcheck // copy costs more for a run of a few elements
			d[j] = v
		}
	}
}
