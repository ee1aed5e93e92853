//go:build !linux

package quantum

// processorTime returns 0: the time is not known on this system.
func processorTime() int64 { return 0 }

// threadTime returns 0: the time is not known on this system.
func threadTime() int64 { return 0 }
