package monitor

import (
	"slices"
	"time"
)

// history holds the newest snapshots and the marks for Leaks, both with the oldest first.
type history struct {
	keep   int
	window time.Duration
	list   []Snapshot
	marks  []Snapshot
}

// marksPerWindow is the maximum number of snapshots of a window that are kept as marks.
// With it, a window that Leaks compares is at most 1/128 too long, however often
// snapshots are taken.
const marksPerWindow = 128

// add inserts a snapshot after all that are not younger: two goroutines may take
// snapshots at the same time.
func (h *history) add(s Snapshot) {
	i := len(h.list)
	for i > 0 && h.list[i-1].Time.After(s.Time) {
		i--
	}
	h.list = slices.Insert(h.list, i, s)
	// The list may have twice the length, so that snapshots are rarely moved.
	if len(h.list) >= 2*h.keep {
		h.list = slices.Delete(h.list, 0, len(h.list)-h.keep)
	}
	if n := len(h.marks); n == 0 || s.Time.Sub(h.marks[n-1].Time) >= h.window/marksPerWindow {
		h.marks = append(h.marks, s)
	}
	if from, ok := h.begin(); ok { // no later window begins at an older mark
		h.marks = slices.Delete(h.marks, 0, from)
	}
}

// last returns a copy of the last n snapshots.
func (h *history) last(n int) []Snapshot {
	if n < 0 || n > h.keep {
		n = h.keep
	}
	return slices.Clone(h.list[max(len(h.list)-n, 0):])
}

// newest returns the last snapshot. The history must not be empty.
func (h *history) newest() Snapshot { return h.list[len(h.list)-1] }

// begin returns the index of the youngest mark that is at least a window older than the
// newest snapshot.
func (h *history) begin() (i int, ok bool) {
	if len(h.list) == 0 {
		return 0, false
	}
	at := h.newest().Time.Add(-h.window)
	for i = len(h.marks) - 1; i >= 0; i-- {
		if !h.marks[i].Time.After(at) {
			return i, true
		}
	}
	return 0, false
}
