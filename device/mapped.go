package device

import "runtime"

// AllocMapped is Alloc for the CPU and for memory so large that Go's heap is slow to
// give it: it comes from the system at once, zeroed page by page as it is first
// touched, and goes back to it, not to the pool, when the Buffer is freed or dropped.
// It counts in the pool's limit. Where the system has no such call it is Alloc.
func (d *Device) AllocMapped(n int64) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.info.Kind != CPU {
		return nil, errorf("memory of the host asked of %v", d)
	}
	if !canMap || n <= 0 || n > maxBytes {
		return d.Alloc(n, nil)
	}
	d.drain()
	if err := d.reserveMapped(n); err != nil {
		return nil, err
	}
	back := func() {
		d.mu.Lock()
		d.pool.stats.InUse -= n
		d.mu.Unlock()
	}
	p, unmap, err := mapMemory(n)
	if err != nil {
		back()
		return nil, d.outOfMemory(n, err)
	}
	return WrapHost(d, p, n, func() {
		back()
		if n < unmapBytes {
			unmap()
			return
		}
		go unmap()
	})
}

// unmapBytes is from where on nobody waits until the system has taken pages back: it
// takes as long as the first touch of them.
const unmapBytes = 256 << 20

// reserveMapped counts n bytes as in use, after idle memory was given back and
// dropped buffers were collected where there is no room.
func (d *Device) reserveMapped(n int64) error {
	for attempt := range 5 {
		if attempt > 1 { // cleanups of what was dropped may take a while
			d.collectNow()
		}
		if attempt > 0 {
			if err := d.Trim(); err != nil {
				return err
			}
		}
		d.mu.Lock()
		d.collectLater(n)
		room := d.pool.reserve(n, false)
		d.mu.Unlock()
		if room {
			return nil
		}
	}
	return d.outOfMemory(n, ErrOutOfMemory)
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
