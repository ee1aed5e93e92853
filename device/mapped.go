package device

import "runtime"

// allocMapped is Alloc for the CPU and for memory so large that Go's heap is slow to
// give it: it comes from the system at once, zeroed page by page as it is first
// touched, and goes back to it, not to the pool, when the Buffer is freed or dropped.
// It counts in the pool's limit. Where the system has no such call it is Alloc.
func (d *Device) allocMapped(n int64) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.info.Kind != CPU {
		return nil, errorf("memory of the host asked of %v", d)
	}
	if !canMap || n <= 0 || n > maxBytes {
		return d.Alloc(n, nil)
	}
	return d.allocOutside(n, mapMemory)
}

// spreadBytes is from where on several goroutines copy: one does not fill a
// machine's memory channels, and the first touch of new pages takes longer than
// the copy.
const spreadBytes = 8 << 20

// spreadCopy is copy in several goroutines where that is worth it.
func spreadCopy(dst, src []byte) {
	n := min(len(dst), len(src))
	if n < spreadBytes || runtime.GOMAXPROCS(0) == 1 {
		copy(dst, src)
		return
	}
	_ = pieces(src[:n], func(at int64, piece []byte) error {
		copy(dst[at:], piece)
		return nil
	})
}
