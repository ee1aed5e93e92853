//go:build cgo && linux && (amd64 || arm64) && !nocuda && gorgonia_cu

package cu

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/gpk-go/gpk/layout"
	"gorgonia.org/cu"
)

// Available returns nil: this build shares memory with gorgonia.org/cu.
func Available() error { return nil }

// Device returns cu's number of a gpk device. A device that is not a GPU is ErrDevice.
func Device(d *device.Device) (cu.Device, error) {
	if err := d.Err(); err != nil {
		return cu.BadDevice, err
	}
	info := d.Info()
	if info.Kind != device.CUDA {
		return cu.BadDevice, fmt.Errorf("interop/cu: %w: %s is not a CUDA device", gpk.ErrDevice, info.Name)
	}
	return cu.Device(info.Index), nil
}

// Context returns the context that gpk uses on d, which is the device's primary context.
// It lives as long as gpk has the device open: do not destroy it.
func Context(d *device.Device) (cu.CUContext, error) {
	dev, err := Device(d)
	if err != nil {
		return cu.CUContext{}, err
	}
	ctx, err := dev.RetainPrimaryCtx()
	if err != nil {
		return cu.CUContext{}, fmt.Errorf("interop/cu: Context: %w: %v", gpk.ErrDevice, err)
	}
	// gpk retains the context too, and for longer.
	if err := dev.ReleasePrimaryCtx(); err != nil {
		return cu.CUContext{}, fmt.Errorf("interop/cu: Context: %w: %v", gpk.ErrDevice, err)
	}
	return ctx, nil
}

// Do calls f on a locked thread on which the device's primary context is current, as cu's
// functions expect. Then it restores the context that was current there. It returns f's
// error.
func Do(d *device.Device, f func() error) (err error) {
	ctx, err := Context(d)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.PushCurrentCtx(ctx); err != nil {
		return fmt.Errorf("interop/cu: Do: %w: %v", gpk.ErrDevice, err)
	}
	defer func() {
		if _, e := cu.PopCurrentCtx(); e != nil && err == nil {
			err = fmt.Errorf("interop/cu: Do: %w: %v", gpk.ErrDevice, e)
		}
	}()
	return f()
}

// FromPtr returns an array over the memory at p, which holds the dense row-major elements
// of shape; no shape means 0-d. Nothing is copied: writes on either side are seen by the
// other. The memory must belong to the device's primary context and remain valid until
// release is called. That happens once, when the array and its views have been freed or
// dropped and gpk's work on the memory is done. release may be nil. The work of cu that
// fills the memory must be done, or be on the stream that reads it.
//
// Memory that cu does not know in this context is ErrDevice. Memory that is too short for
// the elements is ErrShape. In both cases release is not called.
func FromPtr(d *device.Device, p cu.DevicePtr, dt gpk.DType, release func(), shape ...int) *gpk.Array {
	n, err := check(d, p, dt, shape)
	if err != nil {
		return failed(err)
	}
	buf, err := device.Wrap(d, uint64(p), n, release)
	if err != nil {
		return failed(err)
	}
	return array.FromBuffer(buf, dt, shape...)
}

// failed returns an array that carries an error of FromPtr.
func failed(err error) *gpk.Array {
	return array.Failed(site.Fail("cu", "FromPtr", err))
}

// check returns the number of bytes of the elements, or the reason why they cannot be at
// p.
func check(d *device.Device, p cu.DevicePtr, dt gpk.DType, shape []int) (int64, error) {
	size, err := layout.Size(shape)
	if err != nil {
		return 0, err
	}
	if !dt.Valid() {
		return 0, fmt.Errorf("%w: %v", gpk.ErrDType, dt)
	}
	if size > math.MaxInt/dt.Size() {
		return 0, fmt.Errorf("%w: %v %v takes more bytes than there are", gpk.ErrShape, shape, dt)
	}
	n := int64(size) * int64(dt.Size())
	if uint64(p)%uint64(dt.Size()) != 0 {
		return 0, fmt.Errorf("%w: %v is not aligned for %v", gpk.ErrDevice, p, dt)
	}
	return n, Do(d, func() error {
		if n == 0 {
			return nil
		}
		held, base, err := p.AddressRange()
		if err != nil {
			return fmt.Errorf("%w: %v is not memory of %s: %v", gpk.ErrDevice, p, d.Info().Name, err)
		}
		if end := int64(base) + held; int64(p)+n > end {
			return fmt.Errorf("%w: %v %v takes %d bytes, but only %d are allocated from there on", gpk.ErrShape, shape, dt, n, end-int64(p))
		}
		return nil
	})
}

// Ptr starts the computation of the array, if it is still pending, and returns the
// address of its first element. Strides gives the positions of the others. Ptr does not
// wait: the elements are valid once the work on the array's stream is done (Stream). The
// memory belongs to the array, which must be kept alive (runtime.KeepAlive) and must not
// be freed while cu uses it. Before cu writes to the memory, gpk.Eval the pending arrays
// that read the array. An array on the CPU is ErrDevice.
func Ptr(a *gpk.Array) (cu.DevicePtr, error) {
	buf, err := a.Buffer()
	if err != nil {
		return 0, err
	}
	if _, err := Device(buf.Device()); err != nil {
		return 0, err
	}
	return cu.DevicePtr(buf.Addr() + uint64(a.Offset()*a.DType().Size())), nil
}

// Stream returns a gpk stream as one of cu. It is valid until gpk's stream is closed; do
// not destroy it.
func Stream(s *device.Stream) (cu.Stream, error) {
	if _, err := Device(s.Device()); err != nil {
		return cu.Stream{}, err
	}
	// A cu.Stream is a struct of one field, the driver's handle.
	handle := uintptr(s.Handle())
	return *(*cu.Stream)(unsafe.Pointer(&handle)), nil
}

var _ [0]struct{} = [unsafe.Sizeof(cu.Stream{}) - unsafe.Sizeof(uintptr(0))]struct{}{}

// FromStream returns a stream of cu as one of gpk, for (*gpk.Array).On. It must belong to
// the device's primary context and remain valid until the result is closed. Closing the
// result does not destroy it.
func FromStream(d *device.Device, s cu.Stream) (*device.Stream, error) {
	if _, err := Device(d); err != nil {
		return nil, err
	}
	return d.WrapStream(uint64(uintptr(unsafe.Pointer(s.C()))))
}
