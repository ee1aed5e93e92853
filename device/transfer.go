package device

import (
	"runtime"
	"unsafe"
)

// CopyFromHost writes src to dst, at offset off, in the order of s (nil: the default
// stream). The caller may reuse src afterwards, although the copy may still be in progress
// on the device.
func (d *Device) CopyFromHost(dst *Buffer, off int64, src []byte, s *Stream) error {
	return d.copyFromHostUntil(dst, off, src, s, nil)
}

// copyFromHostUntil is CopyFromHost, followed by a recording of e unless it is nil. For a
// few bytes that takes one driver call less than CopyFromHost and Record.
func (d *Device) copyFromHostUntil(dst *Buffer, off int64, src []byte, s *Stream, e *Event) error {
	if err := d.bounds(dst, off, int64(len(src))); err != nil {
		return err
	}
	if e != nil {
		if err := e.check(d); err != nil {
			return err
		}
	}
	m := d.observe(HostToDevice, s, int64(len(src)))
	if n := len(src); d.info.Kind != CPU && 0 < n && n <= smallSlot && !d.pinned.holds(src) {
		err := d.stager.send(m, dst, off, src, s, e)
		m.done(err)
		return err
	}
	err := d.copyFromHost(m, dst, off, src, s)
	m.done(err)
	if err != nil || e == nil {
		return err
	}
	if s, err = d.own(s); err == nil {
		err = s.Record(e)
	}
	return err
}

// copyFromHost copies any number of bytes; see CopyFromHost.
func (d *Device) copyFromHost(m *Measurement, dst *Buffer, off int64, src []byte, s *Stream) error {
	writes := []*Buffer{dst}
	if d.info.Kind == CPU {
		if err := d.transferable(s); err != nil {
			return err
		}
		return d.launchMeasured(m, s, nil, writes, work(func(int, uint64) error {
			spreadCopy(dst.bytes(off, int64(len(src))), src)
			return nil
		}))
	}
	direct := d.pinned.holds(src)
	err := d.transfer(m, s, nil, writes, direct, func(s *Stream) error {
		if len(src) == 0 {
			return nil
		}
		if !direct {
			return d.stager.copyIn(dst.a.mem, off, src, s.handle)
		}
		err := d.backend.copyIn(dst.a.mem, off, unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), s.handle, 0)
		if err == nil {
			err = d.backend.syncStream(s.handle)
		}
		return err
	})
	runtime.KeepAlive(src)
	return err
}

// CopyToHost waits until src is written, and copies len(dst) bytes from offset off of src
// to dst.
func (d *Device) CopyToHost(dst []byte, src *Buffer, off int64, s *Stream) error {
	if err := d.bounds(src, off, int64(len(dst))); err != nil {
		return err
	}
	m := d.observe(DeviceToHost, s, int64(len(dst)))
	err := d.copyToHost(m, dst, src, off, s)
	m.done(err)
	return err
}

func (d *Device) copyToHost(m *Measurement, dst []byte, src *Buffer, off int64, s *Stream) error {
	reads := []*Buffer{src}
	if d.info.Kind == CPU {
		if err := d.transferable(s); err != nil {
			return err
		}
		return d.launchMeasured(m, s, reads, nil, work(func(int, uint64) error {
			spreadCopy(dst, src.bytes(off, int64(len(dst))))
			return nil
		}))
	}
	err := d.transfer(m, s, reads, nil, len(dst) > 0, func(s *Stream) error {
		n := int64(len(dst))
		switch {
		case n == 0:
			return nil
		case n <= smallSlot || d.pinned.holds(dst):
			return d.backend.syncCopyOut(unsafe.Pointer(unsafe.SliceData(dst)), src.a.mem, off, n, s.handle)
		}
		return d.stager.copyOut(dst, src.a.mem, off, s.handle)
	})
	runtime.KeepAlive(dst)
	return err
}

// post starts a copy between the host and the device with the ordering of LaunchWork. f
// puts the copy on s without waiting. Then post records e, or the slot's event if e is nil.
func (d *Device) post(m *Measurement, s *Stream, reads, writes []*Buffer, slot *slot, e *Event, f func(event uint64) error) error {
	d.submission.queue.Drain() // without the mutex: begin then usually finds it empty
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if s.capture != nil {
		err = errCapturing
	} else {
		err = d.begin(s, reads, writes)
	}
	if err == nil && e != nil {
		err = e.check(d) // checked again, because e may have been freed
	}
	if err != nil {
		d.submission.tell(err)
		return err
	}
	// The use is recorded even if the copy fails: part of the work may have started.
	d.note(s, reads, writes)
	slot.busy, slot.posted, slot.marked = true, posted{on: use{s, s.seq}}, false
	m.start(s)
	defer m.stop(s)
	if e != nil {
		if err = f(e.handle); err != nil {
			return err
		}
		e.mark(s)
		slot.until = moment{e, e.records}
		if !s.exposed {
			return nil
		}
		// The slot's event is recorded too: e may be recorded again, and on a stream that
		// other libraries use no later event is recorded.
		err = d.backend.record(slot.event, s.handle)
		slot.marked = err == nil
		return err
	}
	err = f(slot.event)
	slot.marked = err == nil
	return err
}

var errCapturing = errorf("cannot copy between host and device on a stream that is being captured")

// transferable returns the reason why a stream of the CPU accepts no transfer, or nil.
func (d *Device) transferable(s *Stream) error {
	if s != nil && s.Capturing() {
		return errCapturing
	}
	return nil
}

// transfer runs f as a piece of work that uses the buffers. f may wait. waits says that f
// returns only when its work, and all before it on the stream, is done.
func (d *Device) transfer(m *Measurement, s *Stream, reads, writes []*Buffer, waits bool, f func(*Stream) error) error {
	s, err := d.own(s)
	if err != nil {
		return err
	}
	if err := resolveOf(reads); err != nil {
		return err
	}
	d.submission.queue.Drain() // without the mutex: begin then usually finds it empty
	d.mu.Lock()
	if s.capture != nil {
		err = errCapturing
	} else {
		err = d.begin(s, reads, writes)
	}
	if err != nil {
		d.submission.tell(err)
		d.mu.Unlock()
		return err
	}
	d.note(s, reads, writes)
	seq := s.seq
	pin(reads)
	pin(writes)
	s.waiters++ // keeps the handle valid until f returns
	m.start(s)
	d.mu.Unlock()

	err = f(s)

	d.mu.Lock()
	m.stop(s)
	if waits && err == nil {
		s.done = max(s.done, seq)
	} else {
		// Other calls may have marked the stream while f was still adding work. So the use
		// is recorded after f's last piece of work.
		d.note(s, reads, writes)
	}
	if e := s.leave(); err == nil {
		err = e
	}
	d.mu.Unlock()
	d.unpin(reads, writes)
	runtime.KeepAlive(reads)
	runtime.KeepAlive(writes)
	return err
}

// Copy copies n bytes from src, at offset soff, to dst, at offset doff. dst is on d. The
// copy is ordered on s, a stream of d (nil: the default stream). If src is on another
// device, Copy waits for it. Within one buffer the two ranges must not overlap.
func (d *Device) Copy(dst *Buffer, doff int64, src *Buffer, soff, n int64, s *Stream) error {
	if err := d.bounds(dst, doff, n); err != nil {
		return err
	}
	if src.none() {
		return errorf("cannot copy from a nil buffer")
	}
	if err := src.a.dev.bounds(src, soff, n); err != nil {
		return err
	}
	if src.a == dst.a && doff < soff+n && soff < doff+n && n > 0 {
		return errorf("cannot copy %d bytes within a buffer from offset %d to %d: the ranges overlap", n, soff, doff)
	}
	from := src.a.dev
	switch {
	case from == d:
		m := d.observe(DeviceToDevice, s, n)
		err := d.launchMeasured(m, s, []*Buffer{src}, []*Buffer{dst}, work(func(_ int, stream uint64) error {
			if n == 0 {
				return nil
			}
			return d.backend.copyWithin(dst.a.mem, doff, src.a.mem, soff, n, stream)
		}))
		m.done(err)
		return err
	case from.info.Kind == CPU:
		// The launch is a read of src by this goroutine until its bytes have been copied.
		return from.launchMeasured(nil, nil, []*Buffer{src}, nil, work(func(int, uint64) error {
			return d.CopyFromHost(dst, doff, src.bytes(soff, n), s)
		}))
	case d.info.Kind == CPU:
		return d.launchMeasured(nil, s, nil, []*Buffer{dst}, work(func(int, uint64) error {
			return from.CopyToHost(dst.bytes(doff, n), src, soff, nil)
		}))
	}
	m := d.observe(DeviceToDevice, s, n)
	err := d.copyPeer(m, dst, doff, src, soff, n, s)
	m.done(err)
	return err
}

// copyPeer copies between GPUs. It runs after the work on src and returns when it is done,
// so that neither device has to track the other's order.
func (d *Device) copyPeer(m *Measurement, dst *Buffer, doff int64, src *Buffer, soff, n int64, s *Stream) error {
	from := src.a.dev
	return from.transfer(nil, nil, []*Buffer{src}, nil, true, func(fs *Stream) error {
		if err := from.backend.syncStream(fs.handle); err != nil {
			return err
		}
		return d.transfer(m, s, nil, []*Buffer{dst}, n > 0, func(s *Stream) error {
			if n == 0 {
				return nil
			}
			if err := d.backend.copyPeer(dst.a.mem, doff, from.backend, src.a.mem, soff, n, s.handle); err != nil {
				return err
			}
			return d.backend.syncStream(s.handle)
		})
	})
}

// bounds checks a range of a buffer of this device.
func (d *Device) bounds(b *Buffer, off, n int64) error {
	switch {
	case d.Err() != nil:
		return d.Err()
	case b.none():
		return errorf("cannot copy from or to a nil buffer")
	case b.a.dev != d:
		return errorf("a buffer of %v cannot be used on %v", b.a.dev, d)
	case off < 0 || n < 0 || off > b.a.size-n:
		return errorf("%d bytes at offset %d exceed the buffer of %d bytes", n, off, b.a.size)
	}
	return nil
}

// bytes returns a range of a buffer of the CPU.
func (b *Buffer) bytes(off, n int64) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(b.a.mem.host, off)), n)
}
