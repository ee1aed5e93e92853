package device

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// ranges is a set of pinned host memory ranges.
type ranges struct {
	mu   sync.RWMutex
	list []span // sorted by start
}

type span struct{ start, end uintptr }

func (r *ranges) add(p unsafe.Pointer, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := span{uintptr(p), uintptr(p) + uintptr(n)}
	r.list = slices.Insert(r.list, r.after(s.start), s)
}

func (r *ranges) remove(p unsafe.Pointer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.after(uintptr(p)) - 1; i >= 0 {
		r.list = slices.Delete(r.list, i, i+1)
	}
}

// after returns the index of the first range that begins after p.
func (r *ranges) after(p uintptr) int {
	i, _ := slices.BinarySearchFunc(r.list, p, func(s span, p uintptr) int {
		if s.start <= p {
			return -1
		}
		return 1
	})
	return i
}

// holds reports whether all of b is in one range.
func (r *ranges) holds(b []byte) bool {
	if r == nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	i := r.after(p) - 1
	return i >= 0 && p+uintptr(len(b)) <= r.list[i].end
}

// AllocPinned returns n bytes of host memory, aligned to 64 bytes, that every GPU accesses
// at full speed without a copy; on the CPU it is plain memory. free releases it: the slice
// must not be used afterwards.
func (d *Device) AllocPinned(n int) (b []byte, free func(), err error) {
	if err := d.Err(); err != nil {
		return nil, nil, err
	}
	if n < 0 || int64(n) > maxBytes {
		return nil, nil, errorf("cannot allocate %d bytes of pinned memory", n)
	}
	if n == 0 {
		return nil, func() {}, nil
	}
	if limit := d.Pool().Limit; d.info.Kind == CPU && limit > 0 && int64(n) > limit { // Go terminates a program that requests more memory than exists
		return nil, nil, fmt.Errorf("%w: %d bytes; the limit is %d", ErrOutOfMemory, n, limit)
	}
	p, err := d.backend.allocHost(n)
	if err != nil {
		return nil, nil, err
	}
	if d.pinned != nil {
		d.pinned.add(p, n)
	}
	var once sync.Once
	return unsafe.Slice((*byte)(p), n), func() {
		once.Do(func() {
			if d.pinned != nil {
				d.pinned.remove(p)
			}
			_ = d.backend.freeHost(p) // fails only if the driver is gone
		})
	}, nil
}
