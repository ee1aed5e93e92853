package device

import "runtime"

// allocMapped is Alloc for CPU memory that is so large that Go's heap allocates it slowly.
// The memory comes from the system at once, which zeroes each page when it is first
// touched. When the Buffer is freed or dropped, it is returned to the system, not to the
// pool. It counts towards the pool's limit. On systems without such a call allocMapped is
// Alloc.
func (d *Device) allocMapped(n int64) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.info.Kind != CPU {
		return nil, errorf("mapped host memory needs the CPU device, not %v", d)
	}
	if !canMap || n <= 0 || n > maxBytes {
		return d.Alloc(n, nil)
	}
	return d.allocOutside(n, mapMemory)
}

// spreadBytes is the size from which several goroutines copy: a single one does not
// saturate a machine's memory channels, and the first touch of new pages takes longer than
// the copy.
const spreadBytes = 8 << 20

// spreadCopy copies src to dst, by several goroutines if that is faster.
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
