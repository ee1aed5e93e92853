package cusolver

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// handle is a handle of cuSOLVER on a device. One call at a time uses it. Its own memory is used by the
// work of one stream at a time.
type handle struct {
	*session
	last *device.Stream // the stream whose work may still use the handle; nil: none
}

// owner is the handles of a device.
type owner struct {
	dev  *device.Device
	ctx  uintptr // the primary context; 0 for the CPU
	mu   sync.Mutex
	idle []*handle
}

var devices struct {
	sync.Mutex
	of map[*device.Device]*owner
}

// ownerOf returns the handles of a device. The CPU is a device for tests, whose library works in the
// host's memory.
func ownerOf(d *device.Device) (*owner, error) {
	devices.Lock()
	defer devices.Unlock()
	if o := devices.of[d]; o != nil {
		return o, nil
	}
	o := &owner{dev: d}
	if d.Kind() != device.CPU {
		var err error
		if o.ctx, err = library.Context(d.Info().Index); err != nil {
			return nil, err
		}
	}
	if devices.of == nil {
		devices.of = map[*device.Device]*owner{}
	}
	devices.of[d] = o
	return o, nil
}

// lend returns a handle for work on a stream: the one that was last used on it, if that is idle, or another one. In
// the latter case the stream waits for the last work of the handle.
func (o *owner) lend(s *device.Stream) (*handle, error) {
	o.mu.Lock()
	var h *handle
	if n := len(o.idle); n > 0 {
		at := n - 1
		for i, x := range o.idle {
			if x.last == s {
				at = i
			}
		}
		h = o.idle[at]
		o.idle = append(o.idle[:at], o.idle[at+1:]...)
	}
	o.mu.Unlock()
	if h == nil {
		x, err := newSession(o.ctx)
		if err != nil {
			return nil, err
		}
		return &handle{session: x}, nil
	}
	if err := h.follow(s); err != nil {
		o.back(h)
		return nil, err
	}
	return h, nil
}

// follow makes a stream wait for the last work of the handle.
func (h *handle) follow(s *device.Stream) error {
	if h.last == nil || h.last == s || deviceapi.Closed(h.last) {
		return nil
	}
	e, err := s.Device().NewEvent()
	if err != nil {
		return err
	}
	defer e.Free()
	if err := h.last.Record(e); err != nil {
		return err
	}
	return s.Wait(e)
}

// maxIdle is the number of idle handles that a device keeps. A handle has device memory that is not part of the pool.
const maxIdle = 4

// back returns a handle. If there are too many idle handles, it ends the one that has been idle longest.
func (o *owner) back(h *handle) {
	o.mu.Lock()
	o.idle = append(o.idle, h)
	n := max(0, len(o.idle)-maxIdle)
	ended := o.idle[:n]
	o.idle = slices.Clone(o.idle[n:])
	o.mu.Unlock()
	o.end(ended)
}

// release ends all idle handles.
func (o *owner) release() {
	o.mu.Lock()
	ended := o.idle
	o.idle = nil
	o.mu.Unlock()
	o.end(ended)
}

// end ends handles that nobody can use any more, after their last work.
func (o *owner) end(list []*handle) {
	for _, h := range list {
		if h.last != nil && !deviceapi.Closed(h.last) {
			_ = h.last.Synchronize(context.Background()) // an error of that work is reported where its results are used
		}
		h.session.end(o.ctx)
	}
}

// request holds the arguments of Run other than the call.
type request struct {
	stream, work, pointers uint64
	bytes, host            int64 // sizes of the workspaces
}

// Run starts a call on a stream. It reads and writes the buffers in which the operands are, and works in memory of
// the device's pool. It returns before the work is done, except for kinds that iterate on the host. If cuSOLVER finds
// no memory, Run ends idle handles, trims the pool, and tries the call once more.
func Run(s *device.Stream, c *Call, reads, writes []*device.Buffer) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := Load(); err != nil {
		return err
	}
	o, err := ownerOf(s.Device())
	if err != nil {
		return err
	}
	err = o.run(s, c, reads, writes)
	if !isAllocFailed(err) {
		return err
	}
	o.release()
	deviceapi.Collect(o.dev)
	if err := o.dev.Trim(); err != nil {
		return err
	}
	if err = o.run(s, c, reads, writes); isAllocFailed(err) {
		err = errors.Join(device.ErrOutOfMemory, err)
	}
	return err
}

func (o *owner) run(s *device.Stream, c *Call, reads, writes []*device.Buffer) error {
	h, err := o.lend(s)
	if err != nil {
		return err
	}
	defer o.back(h)
	h.last = s
	r := request{}
	if r.bytes, r.host, err = h.size(o.ctx, c); err != nil {
		return err
	}
	writes = append(writes[:len(writes):len(writes)], c.Info)
	if r.bytes > 0 {
		work, err := o.dev.Alloc(r.bytes, s)
		if err != nil {
			return err
		}
		defer work.Free()
		r.work, writes = work.Addr(), append(writes, work)
	}
	if c.Kind == PotrfBatched {
		list, err := o.addresses(s, c)
		if err != nil {
			return err
		}
		defer list.Free()
		r.pointers, reads = list.Addr(), append(reads[:len(reads):len(reads)], list)
	}
	return deviceapi.Call(o.dev, s, reads, writes, func(stream uint64) error {
		r.stream = stream
		return h.run(o.ctx, c, &r)
	})
}

// addresses returns a buffer with the addresses of the matrices A.
func (o *owner) addresses(s *device.Stream, c *Call) (*device.Buffer, error) {
	list := make([]byte, 0, 8*c.Batch)
	for i := range c.Batch {
		list = binary.NativeEndian.AppendUint64(list, c.A.Addr+uint64(i*c.A.Step*c.Type.Size()))
	}
	b, err := o.dev.Alloc(int64(len(list)), s)
	if err != nil {
		return nil, err
	}
	if err := o.dev.CopyFromHost(b, 0, list, s); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}
