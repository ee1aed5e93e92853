//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package device

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const canMap = true

// mapMemory requests n bytes of zeros from the system. Large requests begin at a large
// page, on systems that provide such pages on request.
func mapMemory(n int64) (memory, error) {
	page := int64(os.Getpagesize())
	size, slack := (n+page-1)/page*page, int64(0)
	if n >= largePages {
		slack = pageBytes
	}
	if int64(int(size+slack)) != size+slack {
		return memory{}, fmt.Errorf("%w: %d bytes of host memory", ErrOutOfMemory, n)
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size+slack), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return memory{}, fmt.Errorf("%w: mmap: %w", ErrOutOfMemory, err)
	}
	if slack > 0 {
		head := -uintptr(p) % max(pageBytes, 1)
		trimMapping(p, head)
		p = unsafe.Add(p, head)
		trimMapping(unsafe.Add(p, size), uintptr(slack)-head)
		adviseLargePages(unsafe.Slice((*byte)(p), size))
	}
	return memory{addr: uint64(uintptr(p)), host: p, mapped: size}, nil
}

// trimMapping unmaps the excess of a mapping for alignment. A failure does not matter: the
// pages were never touched.
func trimMapping(p unsafe.Pointer, n uintptr) {
	if n > 0 {
		_ = unix.MunmapPtr(p, n)
	}
}

// unmapMemory returns memory from mapMemory to the system.
func unmapMemory(m memory) error {
	if err := unix.MunmapPtr(m.host, uintptr(m.mapped)); err != nil {
		return errorf("munmap: %w", err)
	}
	return nil
}
