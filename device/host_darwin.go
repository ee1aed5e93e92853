package device

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hostMemory returns the bytes of the machine's memory. The system does not report how many
// are free, so all count as free.
func hostMemory() (free, total int64) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	return int64(n), int64(n)
}

// hostName returns the processor's name as the processor reports it.
func hostName() string {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		return name
	}
	return runtime.GOARCH
}
