package quantum

import "golang.org/x/sys/unix"

// processorTime is the time that the process has spent on processors, in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}
