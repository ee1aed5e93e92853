package unified

import (
	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// seeWrites records that the array was written since the last call. The mutex is held.
func (b *Buffer[T]) seeWrites() error {
	if b.arr == nil {
		return nil
	}
	v := b.arr.Version()
	switch {
	case v == b.version:
		return nil
	case b.state == Host:
		return ErrConflict
	}
	b.state, b.version = Device, v
	return nil
}

// toHost downloads the array if the device's side is newer. The mutex is held.
func (b *Buffer[T]) toHost() error {
	if err := b.seeWrites(); err != nil {
		return err
	}
	if b.state != Device {
		return nil
	}
	// Read the version before the download, so that the next call sees a write during the download.
	v := b.arr.Version()
	if err := gpk.ToSliceInto(b.host, b.arr); err != nil {
		return err
	}
	b.state, b.version = Both, v
	b.count(&b.down)
	return nil
}

// toDevice makes the array if there is none. It uploads the host's side if that is newer and
// access needs the contents. It replaces an array that was freed or whose computation failed,
// unless that array had the only copy of the contents. The mutex is held.
func (b *Buffer[T]) toDevice(access Access) error {
	if err := b.arr.Err(); b.arr != nil && err != nil {
		if b.state == Device && access != Write {
			return err
		}
		if b.state == Both {
			b.state = Host
		}
		b.arr.Free()
		b.arr = nil
	}
	if b.state == Host && access != Write {
		if err := b.upload(); err != nil {
			return err
		}
		b.state = Both
		b.count(&b.up)
	}
	if b.arr != nil {
		return nil
	}
	a, err := zeros[T](b.dev, b.n)
	if err != nil {
		return err
	}
	b.arr = a
	return nil
}

// upload copies the host's side to the array. It makes the array if there is none.
func (b *Buffer[T]) upload() error {
	if b.arr != nil {
		return gpk.FromSliceInto(b.arr, b.host)
	}
	a := gpk.FromSliceOn(b.dev, b.host)
	if err := gpk.Eval(a); err != nil {
		return err
	}
	b.arr = a
	return nil
}

// zeros returns an array of n zeros, which the device itself writes.
func zeros[T gpk.Elem](d *device.Device, n int) (*gpk.Array, error) {
	zero := gpk.FromSliceOn(d, make([]T, min(n, 1)))
	a := zero
	if n > 1 {
		a = zero.BroadcastTo(n).Clone()
	}
	err := gpk.Eval(a)
	if a != zero {
		zero.Free()
	}
	return a, err
}

// count increments a counter of transfers, unless the device is the CPU.
func (b *Buffer[T]) count(n *int) {
	if b.dev.Kind() != device.CPU {
		*n++
	}
}
