//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package device

const canMap = false

func mapMemory(int64) (memory, error) {
	return memory{}, errorf("mapped host memory is not supported on this system")
}

func unmapMemory(memory) error { return nil }
