//go:build (amd64 || arm64) && !noasm

package callsite

import "runtime"

// depth counts the frames of the stack. An inlined function has no frame.
const depth = 4

// callers stores at to the return address of its caller, then that of the caller's
// caller, and so on, up to n of them. It stops where a frame pointer leaves this
// goroutine's stack, and does not write the rest. The addresses are those of
// runtime.Callers(2, …) without the inlined functions, in a hundredth of the time.
//
//go:noescape
func callers(to *uintptr, n int)

// Here records the callers of the function that calls it; the first entry lies in that
// function itself. An exported function of the library should call it directly or through
// few frames: if the user's frame is not among the first ones, Here walks the stack again.
//
// Here must not be inlined: callers expects the frame of Here as the first one, and
// stores its return address.
//
//go:noinline
func Here() (s Site) {
	if framed {
		callers(&s[0], depth)
	} else {
		runtime.Callers(2, s[:])
	}
	if !s.reachesUser() {
		s.extend()
	}
	return s
}

// above stores the addresses of the frames above its caller, which must not be inlined, as callers does.
//
//go:noinline
func above(to *[far]uintptr) {
	if framed {
		callers(&to[0], far)
	} else {
		runtime.Callers(2, to[:])
	}
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
	callers(&s[0], depth)
	runtime.Callers(2, want[:])
	copy(got[:], s[:])
	return got, want
}
