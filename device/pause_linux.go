package device

import (
	"syscall"
	"time"
)

// pause sleeps about 60 us longer than d. Go's timers are up to a millisecond late if no
// other goroutine runs.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&t, nil) // a signal may end it early
}
