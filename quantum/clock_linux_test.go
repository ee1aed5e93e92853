package quantum

import "golang.org/x/sys/unix"

// processorTime returns the time that the process has spent on processors, in
// nanoseconds.
func processorTime() int64 { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// threadTime returns the processor time of the calling thread.
func threadTime() int64 { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) int64 {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return t.Nano()
}
