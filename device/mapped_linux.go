package device

import (
	"fmt"
	"syscall"
	"unsafe"
)

const canMap = true

// mapMemory asks the system for n bytes.
func mapMemory(n int64) (p unsafe.Pointer, unmap func(), err error) {
	if int64(int(n)) != n {
		return nil, nil, fmt.Errorf("%w: %d bytes of the host's memory", ErrOutOfMemory, n)
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the system's answer to mmap: %w", ErrOutOfMemory, err)
	}
	adviseLargePages(b)
	return unsafe.Pointer(unsafe.SliceData(b)), func() { _ = syscall.Munmap(b) }, nil
}
