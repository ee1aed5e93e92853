//go:build race

package devicetest

// Race reports whether the race detector runs: times are not the program's then.
const Race = true
