//go:build !linux

package quantum

// processorTime is not known here.
func processorTime() int64 { return 0 }

// threadTime is not known here.
func threadTime() int64 { return 0 }
