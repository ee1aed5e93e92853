//go:build cgo && (amd64 || arm64)

package dlpack

/*
#include <stdlib.h>
#include "managed.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"strconv"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// The structs have the same layout in Go and in C.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(managed{})-C.sizeof_struct_managed]
	_ = [1]struct{}{}[unsafe.Sizeof(versioned{})-C.sizeof_struct_versioned]
)

// lent is the context of a struct that gpk has made.
type lent struct {
	array   *gpk.Array // keeps the memory valid
	pinner  runtime.Pinner
	release func()
	dev     *device.Device
}

// lend fills t with the array's elements. The memory for shape and strides of t must be allocated.
func lend(a *gpk.Array, t *tensor) (*lent, error) {
	buf, release, err := a.Lend()
	if err != nil {
		return nil, err
	}
	l := &lent{array: a, release: release, dev: buf.Device()}
	dt := a.DType()
	t.dtype = types[dt]
	switch l.dev.Kind() {
	case device.CUDA:
		t.device = deviceOf{onCUDA, int32(l.dev.Info().Index)}
		*(*uintptr)(unsafe.Pointer(&t.data)) = uintptr(buf.Addr()) + uintptr(a.Offset()*dt.Size())
		err = awaitDefaultStream(l.dev)
	default:
		t.device = deviceOf{kind: onCPU}
		if first := buf.Ptr(); first != nil {
			l.pinner.Pin((*byte)(first))
			t.data = unsafe.Add(first, a.Offset()*dt.Size())
		}
	}
	if err = errors.Join(err, a.Stream().Synchronize(context.Background())); err == nil {
		err = a.Err() // the error that the work has found
	}
	if err != nil {
		l.end()
		return nil, err
	}
	strides := a.Strides()
	for i, d := range a.Shape() {
		*(*int64)(unsafe.Add(unsafe.Pointer(t.shape), i*8)) = int64(d)
		*(*int64)(unsafe.Add(unsafe.Pointer(t.strides), i*8)) = int64(strides[i])
	}
	t.ndim = int32(len(strides))
	return l, nil
}

// end returns the memory.
func (l *lent) end() {
	if l.dev.Kind() == device.CUDA {
		_ = awaitDefaultStream(l.dev) // a device that fails has no work in progress
	}
	l.pinner.Unpin()
	l.release()
	runtime.KeepAlive(l.array)
}

//export gpkDLPackRelease
func gpkDLPackRelease(handle C.uintptr_t) {
	h := cgo.Handle(handle)
	l := h.Value().(*lent)
	h.Delete()
	l.end()
}

// toManaged returns a struct of C for the array's elements.
func toManaged(a *gpk.Array) (unsafe.Pointer, error) {
	m := (*managed)(unsafe.Pointer(C.gpk_dlpack_managed(C.int(a.NDim()))))
	return lendIn(unsafe.Pointer(m), a, &m.tensor, unsafe.Pointer(&m.context))
}

// toVersioned is toManaged for DLManagedTensorVersioned.
func toVersioned(a *gpk.Array) (unsafe.Pointer, error) {
	m := (*versioned)(unsafe.Pointer(C.gpk_dlpack_versioned(C.int(a.NDim()))))
	m.major, m.minor = major, minor
	return lendIn(unsafe.Pointer(m), a, &m.tensor, unsafe.Pointer(&m.context))
}

// lendIn fills in the tensor and the context of the struct m. If it fails, it frees m and returns nil.
func lendIn(m unsafe.Pointer, a *gpk.Array, t *tensor, context unsafe.Pointer) (unsafe.Pointer, error) {
	l, err := lend(a, t)
	if err != nil {
		C.free(m)
		return nil, err
	}
	*(*cgo.Handle)(context) = cgo.NewHandle(l)
	return m, nil
}

// callDeleter calls a deleter with the struct that it belongs to.
func callDeleter(deleter, p unsafe.Pointer) {
	if deleter != nil {
		C.gpk_dlpack_delete(deleter, p)
	}
}

// take makes an array over a tensor's elements. It calls release when the elements are no longer used,
// and also if it fails.
func take(t *tensor, release func(), fixed bool) (*gpk.Array, error) {
	a, err := wrap(t, release)
	if err != nil {
		release()
		return nil, err
	}
	if !fixed {
		return a, nil
	}
	defer a.Free()
	c := a.Clone()
	if err := gpk.Eval(c); err != nil {
		return nil, err
	}
	return c, c.Stream().Synchronize(context.Background())
}

// wrap makes an array over a tensor's elements. If it fails, release may not have been called yet.
func wrap(t *tensor, release func()) (*gpk.Array, error) {
	dt, err := t.elements()
	if err != nil {
		return nil, err
	}
	x, err := t.extent(dt)
	if err != nil {
		return nil, err
	}
	if x.bytes > 0 && t.data == nil {
		return nil, fmt.Errorf("%w: no memory for %d bytes", gpk.ErrShape, x.bytes)
	}
	name, unit := "cpu", dt.Real().Size()
	switch t.device.kind {
	case onCPU, onCUDAHost:
	case onCUDA, onCUDAManaged:
		name, unit = "cuda:"+strconv.Itoa(int(t.device.index)), dt.Size()
	default:
		return nil, fmt.Errorf("%w: memory of DLPack's device type %d", gpk.ErrDevice, t.device.kind)
	}
	if (uintptr(t.data)+uintptr(x.first))%uintptr(unit) != 0 {
		return nil, fmt.Errorf("%w: elements of %v that do not lie at a multiple of %d bytes", gpk.ErrUnsupported, dt, unit)
	}
	dev, err := device.Open(name)
	if err != nil {
		return nil, err
	}
	var buf *device.Buffer
	switch {
	case x.bytes == 0:
		release() // no reference to the memory is kept
		buf, err = dev.Alloc(0, nil)
	case name == "cpu":
		buf, err = device.WrapHost(dev, unsafe.Add(t.data, x.first), x.bytes, release)
	default:
		if err = awaitDefaultStream(dev); err == nil {
			buf, err = device.Wrap(dev, uint64(uintptr(t.data))+uint64(x.first), x.bytes, release)
		}
	}
	if err != nil {
		return nil, err
	}
	return array.FromLayout(buf, dt, x.lay), nil
}
