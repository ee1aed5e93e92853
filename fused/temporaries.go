package fused

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// temporaries is the memory of intermediate results on a stream.
type temporaries struct {
	stream *device.Stream
	bufs   []*device.Buffer
}

// temporary allocates memory that free gives back.
func (t *temporaries) temporary(dt dtype.DType, shape ...int) (device.View, error) {
	l := layout.Dense(shape)
	buf, err := t.stream.Device().Alloc(int64(l.Size())*int64(dt.Size()), t.stream)
	if err == nil {
		t.bufs = append(t.bufs, buf)
	}
	return device.View{Buffer: buf, DType: dt, Layout: l}, err
}

func (t *temporaries) free() {
	for _, b := range t.bufs {
		b.Free()
	}
}
