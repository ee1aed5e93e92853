//go:build (amd64 || arm64) && !noasm

package cpu

// pause executes the instruction for spin loops (PAUSE, YIELD) n times, n > 0. It leaves
// the core's units to the core's other thread.
func pause(n uint32)
