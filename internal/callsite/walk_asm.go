//go:build (amd64 || arm64) && !noasm

package callsite

import "runtime"

// depth counts the frames of the stack. An inlined function has no frame.
const depth = 4

// callers stores into s the return address of its caller, then that of the caller's
// caller, and so on. It stops where a frame pointer leaves this goroutine's stack,
// and does not write the rest of s. The result is that of runtime.Callers(2, s[:])
// without the inlined functions, in a hundredth of the time.
//
//go:noescape
func callers(s *Site)

// Here records the callers of the function that calls it; the first entry lies in that
// function itself. An exported function of the library must call it directly or through
// few frames: a Site has room for the user's frame and a few others.
//
// Here must not be inlined: callers expects the frame of Here as the first one, and
// stores its return address.
//
//go:noinline
func Here() (s Site) {
	if framed {
		callers(&s)
	} else {
		runtime.Callers(2, s[:])
	}
	return s
}

// framed reports whether callers finds the same frames as runtime.Callers. It is
// measured once, because a build may leave out frame pointers.
var framed = probe()

//go:noinline
func probe() bool {
	got, want := probed()
	return got[0] != 0 && got == want
}

// probed walks a stack without inlined functions by both methods.
//
//go:noinline
func probed() (got, want [2]uintptr) {
	return probedAt()
}

//go:noinline
func probedAt() (got, want [2]uintptr) {
	var s Site
	callers(&s)
	runtime.Callers(2, want[:])
	copy(got[:], s[:])
	return got, want
}
