package device

import (
	"syscall"
	"time"
)

// pause sleeps, some 60 us longer than d. Go's timers are up to a millisecond late
// where nothing else runs.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&t, nil) // one that a signal ends is short
}
