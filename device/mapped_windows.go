package device

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

const canMap = true

// mapMemory requests n bytes of zeros from the system.
func mapMemory(n int64) (memory, error) {
	if int64(int(n)) != n {
		return memory{}, fmt.Errorf("%w: %d bytes of host memory", ErrOutOfMemory, n)
	}
	addr, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return memory{}, fmt.Errorf("%w: VirtualAlloc: %w", ErrOutOfMemory, err)
	}
	// The conversion through a pointer tells vet that addr is not a Go pointer, which might
	// move.
	return memory{addr: uint64(addr), host: *(*unsafe.Pointer)(unsafe.Pointer(&addr)), mapped: n}, nil
}

// unmapMemory returns memory from mapMemory to the system.
func unmapMemory(m memory) error {
	if err := windows.VirtualFree(uintptr(m.host), 0, windows.MEM_RELEASE); err != nil {
		return errorf("VirtualFree: %w", err)
	}
	return nil
}
