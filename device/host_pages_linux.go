package device

import (
	"syscall"
	"unsafe"
)

// pageBytes is the size of a large page; on processors with larger ones the advice has no
// effect.
const pageBytes = 2 << 20

// adviseLargePages asks the system to use large pages within b: fewer faults at the first
// touch, and fewer TLB misses in an access across rows. A failure does not matter.
func adviseLargePages(b []byte) {
	start := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (pageBytes - 1)
	if uintptr(len(b)) < start+pageBytes {
		return
	}
	inner := b[start:]
	_ = syscall.Madvise(inner[:len(inner)&^(pageBytes-1)], 14) // MADV_HUGEPAGE
}
