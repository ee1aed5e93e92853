package device

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hostMemory returns the bytes of the machine's memory; how much of them is
// free is not told, so that all of them count.
func hostMemory() (free, total int64) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	return int64(n), int64(n)
}

// hostName returns what the processor calls itself.
func hostName() string {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		return name
	}
	return runtime.GOARCH
}
