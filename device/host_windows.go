package device

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// hostMemory returns the bytes of the machine's memory and how many of them are free; 0 if
// unknown.
func hostMemory() (free, total int64) {
	// MEMORYSTATUSEX of sysinfoapi.h.
	var s struct {
		length, load                                                            uint32
		totalPhys, availPhys, totalPage, availPage, totalVirt, availVirt, extra uint64
	}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0, 0
	}
	return int64(s.availPhys), int64(s.totalPhys)
}

// hostName returns the processor's name as the processor reports it.
func hostName() string {
	if name := os.Getenv("PROCESSOR_IDENTIFIER"); name != "" {
		return name
	}
	return runtime.GOARCH
}
