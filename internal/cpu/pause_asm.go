//go:build (amd64 || arm64) && !noasm

package cpu

// pause runs the instruction for loops that wait (PAUSE, YIELD) n times, n > 0. It
// leaves the core's units to the other thread of the core.
func pause(n uint32)
