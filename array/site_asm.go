//go:build (amd64 || arm64) && !noasm

package array

import "runtime"

// siteDepth counts frames as the stack has them: a function that was inlined
// has none.
const siteDepth = 4

// callers stores the return addresses of its caller's caller and of those
// above, as long as their frames lie on this goroutine's stack; what is left
// of s is not written. It equals runtime.Callers(2, s[:]) but for inlined
// functions, at a hundredth of the cost.
//
//go:noescape
func callers(s *site)

// here records the callers of the function that calls it.
//
//go:noinline
func here() (s site) {
	if framed {
		callers(&s)
	} else {
		runtime.Callers(2, s[:])
	}
	return s
}

// framed reports whether callers finds the frames that the runtime finds.
var framed = probe()

//go:noinline
func probe() bool {
	got, want := probed()
	return got[0] != 0 && got == want
}

// probed walks a stack on which nothing is inlined, in both ways.
//
//go:noinline
func probed() (got, want [2]uintptr) {
	return probedAt()
}

//go:noinline
func probedAt() (got, want [2]uintptr) {
	var s site
	callers(&s)
	runtime.Callers(2, want[:])
	copy(got[:], s[:])
	return got, want
}
