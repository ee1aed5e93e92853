package device

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// View is elements in a buffer: what an operation reads or writes.
type View struct {
	Buffer *Buffer
	DType  dtype.DType
	Layout layout.Layout
}

// Addr returns the device address of the element at the layout's offset.
func (v View) Addr() uint64 {
	return v.Buffer.Addr() + uint64(v.Layout.Offset*v.DType.Size())
}

// Ptr returns the address of the element at the layout's offset on the CPU
// device, nil on others.
func (v View) Ptr() unsafe.Pointer {
	p := v.Buffer.Ptr()
	if p == nil {
		return nil
	}
	return unsafe.Add(p, v.Layout.Offset*v.DType.Size())
}

// Dense reports whether the elements lie in row-major order without gaps.
func (v View) Dense() bool { return v.Layout.IsDense() }

// NBytes returns the bytes of the view's elements, packed.
func (v View) NBytes() int64 { return int64(v.Layout.Size()) * int64(v.DType.Size()) }
