//go:build (!amd64 && !arm64) || noasm

package callsite

import "runtime"

// depth counts functions, inlined or not.
const depth = 6

// Here records the callers of the function that calls it; the first entry lies in that
// function itself. An exported function of the library should call it directly or through
// few frames.
func Here() (s Site) {
	runtime.Callers(2, s[:])
	if !s.reachesUser() {
		s.extend()
	}
	return s
}

// above stores the addresses of the frames above its caller.
func above(to *[far]uintptr) { runtime.Callers(2, to[:]) }
