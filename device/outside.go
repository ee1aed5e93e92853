package device

// allocOutside returns a buffer of n bytes made by alloc. The bytes count towards the
// pool's limit, and are not returned to the pool when the Buffer is freed or dropped.
func (d *Device) allocOutside(n int64, alloc func(int64) (memory, error)) (*Buffer, error) {
	d.drain()
	born, err := d.reserveOutside(n)
	if err != nil {
		return nil, err
	}
	m, err := alloc(n)
	if err != nil {
		d.mu.Lock()
		d.pool.unuse(n, born)
		d.mu.Unlock()
		return nil, d.outOfMemory(n, err)
	}
	a := &allocation{dev: d, mem: m, size: n}
	a.release = func() {
		d.mu.Lock()
		d.pool.unuse(n, born)
		d.freed(a, n)
		kept := a.exposed && m.mapped > 0
		if kept {
			d.pool.stats.Exposed += n
		}
		d.mu.Unlock()
		switch {
		case m.mapped == 0 || kept:
		case m.mapped < unmapBytes:
			_ = unmapMemory(m)
		default:
			go func() { _ = unmapMemory(m) }()
		}
	}
	b := d.newBuffer(a)
	d.mu.Lock()
	d.allocated(a, n)
	d.mu.Unlock()
	return b, nil
}

// reserveOutside counts n bytes as in use. If there is no room, it first returns idle
// memory and collects dropped buffers.
func (d *Device) reserveOutside(n int64) (born uint32, err error) {
	for attempt := range 5 {
		if attempt > 1 { // the cleanups of dropped buffers may take a while
			d.collectNow()
		}
		if attempt > 0 {
			if err := d.Trim(); err != nil {
				return 0, err
			}
		}
		d.mu.Lock()
		wait := d.collectLater(n)
		if wait != nil && attempt == 0 {
			d.awaitCollection(wait)
		}
		born, room := d.pool.reserve(n, false)
		d.mu.Unlock()
		if room {
			return born, nil
		}
	}
	return 0, d.outOfMemory(n, ErrOutOfMemory)
}

// unmapBytes is the size above which memory is unmapped in the background: Linux takes
// 60 us for 16 MiB in large pages and 1.3 ms in small ones.
const unmapBytes = 16 << 20
