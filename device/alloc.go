package device

import (
	"context"
	"errors"
)

// Alloc returns a buffer of n bytes, aligned to 256 bytes (64 on the CPU), whose contents
// are undefined. The memory is ready for work on s (nil: the default stream); Launch orders
// work on other streams after it. If there is no room within the limit or on the device,
// Alloc returns idle memory and collects dropped buffers. If there is still no room, the
// error is an *OutOfMemoryError.
func (d *Device) Alloc(n int64, s *Stream) (*Buffer, error) {
	s, err := d.own(s)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, errorf("cannot allocate %d bytes: the size must not be negative", n)
	}
	d.drain()
	if n > maxBytes {
		return nil, d.outOfMemory(n, ErrOutOfMemory)
	}
	if n == 0 {
		return d.newBuffer(&allocation{dev: d}), nil
	}
	b, err := d.block(classOf(n), s)
	if err != nil {
		if errors.Is(err, ErrOutOfMemory) {
			err = d.outOfMemory(n, err)
		}
		return nil, err
	}
	return d.newBuffer(&allocation{dev: d, block: b, mem: b.mem, size: n}), nil
}

// block finds size bytes. It tries an idle block, new memory, and the memory that trimming
// and collecting free, in this order.
func (d *Device) block(size int64, s *Stream) (*block, error) {
	for attempt := 0; ; attempt++ {
		b, err := d.tryBlock(size, s, attempt == 0, true)
		if b != nil || !errors.Is(err, ErrOutOfMemory) {
			return b, err
		}
		// Other goroutines may allocate all the memory that a collection frees. So
		// collections are repeated as long as they free something.
		freed := true
		if attempt > 0 {
			freed = d.collectNow()
		}
		if size > d.limit() || attempt > 1 && !freed || attempt > 4 {
			return nil, err
		}
		var stuck error
		if err == ErrOutOfMemory {
			stuck = d.makeRoom(size, s)
		} else { // the driver is full, below the limit
			stuck = d.Trim()
		}
		if stuck != nil {
			return nil, stuck
		}
	}
}

// tryBlock finds size bytes without waiting for the device. If there is no room, it returns
// ErrOutOfMemory or the driver's error, which wraps it. The first attempt also respects the
// ceilings of the watches. Only a patient call waits, and only for a collection: see
// collectLater.
func (d *Device) tryBlock(size int64, s *Stream, first, patient bool) (*block, error) {
	d.mu.Lock()
	if err := s.check(); err != nil {
		d.mu.Unlock()
		return nil, err
	}
	wait := d.collectLater(size)
	b, err := d.reuse(size, s)
	if b != nil || err != nil {
		d.mu.Unlock()
		return b, err
	}
	if wait != nil && patient {
		d.awaitCollection(wait)
		d.mu.Unlock()
		return d.tryBlock(size, s, first, false)
	}
	t := &d.pool.traffic
	born, room := d.pool.reserve(size, first)
	if room {
		t.calls++
		t.coming += size
	}
	d.mu.Unlock()
	if !room {
		return nil, ErrOutOfMemory
	}
	mem, err := d.backend.alloc(size)
	d.mu.Lock()
	defer d.mu.Unlock()
	t.calls--
	t.over++
	t.coming -= size
	if err != nil {
		d.pool.unuse(size, born)
		d.asked = answer{} // the answer is outdated
		return nil, err
	}
	d.pool.stats.Allocs++
	return &block{mem: mem, size: size, home: s, born: born}, nil
}

// reuse returns an idle block for s, after making s wait for the block's work on other
// streams; mu is held.
func (d *Device) reuse(size int64, s *Stream) (*block, error) {
	if s.capture != nil {
		// A graph's memory must not be shared with others between replays.
		b := s.capture.take(size)
		if b != nil {
			d.pool.stats.Reuses++
		}
		return b, nil
	}
	b := d.pool.take(s, size)
	if b == nil {
		return nil, nil
	}
	for _, u := range b.uses {
		if err := d.order(s, u); err != nil {
			d.pool.unuse(b.size, b.born)
			d.pool.shelve(b)
			return nil, err
		}
	}
	b.uses = b.uses[:0]
	return b, nil
}

// makeRoom returns idle blocks to the driver until size bytes fit, unless an idle block
// that fits has appeared meanwhile.
func (d *Device) makeRoom(size int64, s *Stream) error {
	d.drain()
	d.mu.Lock()
	var out []*block
	if !d.pool.has(s, size) {
		out = d.pool.evictFor(size)
	}
	d.mu.Unlock()
	return d.freeBlocks(out)
}

// freeBlocks returns blocks to the driver, after the work that uses them. mu is not held.
func (d *Device) freeBlocks(blocks []*block) error {
	if len(blocks) == 0 {
		return nil
	}
	waited := map[*Stream]bool{}
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	wait := func(s *Stream) {
		if !waited[s] {
			waited[s] = true
			note(d.waitFor(context.Background(), s))
		}
	}
	for _, b := range blocks {
		wait(b.home)
		for _, u := range b.uses {
			wait(u.stream)
		}
	}
	t, size := &d.pool.traffic, int64(0)
	d.mu.Lock()
	t.calls++
	d.mu.Unlock()
	for _, b := range blocks {
		note(d.backend.free(b.mem))
		size += b.size
	}
	d.mu.Lock()
	t.calls--
	t.over++
	t.leaving -= size
	d.mu.Unlock()
	return first
}

// Trim returns all idle memory of the pool to the driver, after the work that uses it.
func (d *Device) Trim() error {
	if err := d.Err(); err != nil {
		return err
	}
	d.drain()
	d.mu.Lock()
	out := d.pool.evictAll()
	d.mu.Unlock()
	return d.freeBlocks(out)
}

// Pool returns the counters of the device's memory pool.
func (d *Device) Pool() PoolStats {
	if d.Err() != nil {
		return PoolStats{}
	}
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pool.stats
}

// SetMemoryLimit bounds the bytes that the pool holds. 0 stands for the default: a GPU's
// whole memory; on the CPU, seven eighths of the machine's memory or of its container's
// limit. A limit below the memory in use affects only later requests.
func (d *Device) SetMemoryLimit(n int64) {
	if d.Err() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.setLimit(n)
}

// limit returns the bytes that the pool may hold.
func (d *Device) limit() int64 {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pool.stats.Limit
}
