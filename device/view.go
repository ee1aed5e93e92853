package device

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// View is an operand: elements in a buffer that an operation reads or writes.
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

// Dense reports whether the elements are in row-major order without gaps.
func (v View) Dense() bool { return v.Layout.IsDense() }

// NBytes returns the size of the view's elements in bytes, without gaps.
func (v View) NBytes() int64 { return int64(v.Layout.Size()) * int64(v.DType.Size()) }

// Start returns the offset in bytes at which a dense view begins; 0 if it has no elements,
// as its offset may then be anything.
func (v View) Start() int64 {
	if v.Layout.Size() == 0 {
		return 0
	}
	return int64(v.Layout.Offset * v.DType.Size())
}

// Overlaps reports whether two views may share memory: of one buffer, or of two buffers
// over the same foreign memory.
func (v View) Overlaps(w View) bool {
	apart := 0 // bytes from the beginning of v's buffer to the beginning of w's
	if v.Buffer != w.Buffer {
		if v.Buffer == nil || w.Buffer == nil || v.Buffer.Device() != w.Buffer.Device() {
			return false
		}
		apart = int(w.Buffer.Addr() - v.Buffer.Addr())
	}
	vLow, vHigh := v.Layout.Span()
	wLow, wHigh := w.Layout.Span()
	vs, ws := v.DType.Size(), w.DType.Size()
	return vLow*vs < apart+wHigh*ws && apart+wLow*ws < vHigh*vs
}
