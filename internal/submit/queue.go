package submit

import (
	"os"
	"runtime"
	"time"
)

// Words is the largest number of words of a call.
const Words = 60

// Record is one call: Function is the address of a C function
//
//	int f(const uint64_t* args)
//
// that returns 0 or an error code, and Args are its arguments. Skipped is 0 or the
// address of a function that the thread calls with Args instead, if a call before
// has failed. Stream and Seq identify the work: Stream is a number that no other
// stream of the queue ever has.
type Record struct {
	Function    uintptr
	Stream, Seq uint64
	Skipped     uintptr
	Args        [Words]uint64
}

// Mode determines which calls go through a queue.
type Mode uint8

// The modes.
const (
	InRows Mode = iota // calls that follow each other closely
	Always             // all calls
	Direct             // no calls
)

// ModeOf returns the mode that GPK_SUBMIT selects: direct or always. If it is not set, the
// mode is Direct on a machine without a processor to spare for the thread.
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

// Known reports whether ModeOf accepts a text, which may be empty.
func Known(text string) bool { return text == "" || text == "direct" || text == "always" }

// leastProcessors is the number of processors from which on a spinning thread does not slow
// the program down.
const leastProcessors = 4

// A row is a sequence of at least rowLength calls. Each comes within rowPause of the one
// before, and nobody waits for the queue between them.
const (
	rowLength = 8
	rowPause  = 20 * time.Microsecond
)

// row detects rows of calls. The queue's owner guards it.
type row struct {
	mode   Mode
	length int
	last   time.Duration
	waits  uint64 // the queue's number of waits at the last call
}

var begin = time.Now()

// next counts a call, and reports whether it belongs to a row. waits is the number of
// waits for the queue so far.
func (r *row) next(waits uint64) bool {
	switch {
	case r.mode != InRows:
		return r.mode == Always
	case waits != r.waits:
		// Short rows between waits gain nothing: each wait still takes the thread's full
		// delay.
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

// reset ends a row, because the thread has fallen asleep.
func (r *row) reset() { r.length = 0 }

// Failure describes the first call that failed. Later calls were not made.
type Failure struct {
	Function uintptr
	Code     int
	// First maps each stream to the Seq of its first call that failed or was not made.
	First map[uint64]uint64
}
