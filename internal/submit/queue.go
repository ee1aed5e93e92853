package submit

import (
	"os"
	"runtime"
	"time"
)

// Words is how many words a call can have.
const Words = 61

// Record is one call: Function is the address of an
//
//	int f(const uint64_t* args)
//
// which answers 0 or an error code, and Args what it is called with. Stream
// and Seq say whose work it is: Stream is a number that no other stream of the
// queue ever has.
type Record struct {
	Function    uintptr
	Stream, Seq uint64
	Args        [Words]uint64
}

// Mode says when calls go through a queue.
type Mode uint8

// The modes.
const (
	InRows Mode = iota // when they come in a row
	Always             // every one
	Direct             // none
)

// ModeOf is the mode that GPK_SUBMIT names: direct, always, or none. Where none
// is named, it is Direct on a machine that lacks a processor to spare for the
// thread.
func ModeOf() Mode {
	switch os.Getenv("GPK_SUBMIT") {
	case "direct":
		return Direct
	case "always":
		return Always
	}
	if min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) < leastProcessors {
		return Direct
	}
	return InRows
}

// Known reports whether ModeOf knows a text, which may be empty.
func Known(text string) bool { return text == "" || text == "direct" || text == "always" }

// leastProcessors is with how many a thread that spins takes nothing from the
// program.
const leastProcessors = 4

// A row is that many calls, each so soon after the one before, with no wait
// for the queue between them.
const (
	rowLength = 8
	rowPause  = 20 * time.Microsecond
)

// row tells whether calls come in a row. Its owner guards it.
type row struct {
	mode   Mode
	length int
	last   time.Duration
	waits  uint64 // the queue's, when last looked at
}

var begin = time.Now()

// next counts a call, and reports whether it belongs to a row. waits is how
// often somebody has waited for the queue.
func (r *row) next(waits uint64) bool {
	switch {
	case r.mode != InRows:
		return r.mode == Always
	case waits != r.waits:
		// Short rows between waits gain nothing: the wait begins with the thread's
		// whole delay.
		r.waits = waits
		if r.length < 2*rowLength {
			r.length = 0
		} else {
			r.length = rowLength
		}
	}
	if r.length >= rowLength {
		r.length++
		return true
	}
	now := time.Since(begin)
	if now-r.last > rowPause {
		r.length = 0
	}
	r.last = now
	r.length++
	return r.length >= rowLength
}

// broken ends a row: the thread has fallen asleep since.
func (r *row) broken() { r.length = 0 }

// Failure is the first call that failed. Those behind it were not made.
type Failure struct {
	Function uintptr
	Code     int
	// First is, by stream, the Seq of the first call that failed or was not made.
	First map[uint64]uint64
}
