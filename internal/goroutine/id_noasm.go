//go:build (!amd64 && !arm64) || noasm

package goroutine

// ID returns the number of the calling goroutine. No other goroutine of the program ever
// has it.
func ID() uint64 { return printed() }
