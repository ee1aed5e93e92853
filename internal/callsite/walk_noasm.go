//go:build (!amd64 && !arm64) || noasm

package callsite

import "runtime"

// depth counts functions, inlined or not.
const depth = 6

// Here records the callers of the function that calls it; the first entry lies in that
// function itself. An exported function of the library must call it directly or through
// few frames: a Site has room for the user's frame and a few others.
func Here() (s Site) {
	runtime.Callers(2, s[:])
	return s
}
