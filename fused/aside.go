package fused

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// aside calls compute with dst if dst's buffer has not been written yet, else with a
// temporary buffer. A computation of several steps that fails halfway then leaves elements
// in use unchanged.
func aside(s *device.Stream, dst device.View, compute func(dst device.View) error) error {
	if dst.Layout.Size() == 0 || deviceapi.Fresh(dst.Buffer) {
		return compute(dst)
	}
	return throughCopy(s, dst, compute)
}

// densely calls compute with dst if it is dense, else with a temporary buffer.
func densely(s *device.Stream, dst device.View, compute func(dst device.View) error) error {
	if dst.Dense() {
		return compute(dst)
	}
	return throughCopy(s, dst, compute)
}

// throughCopy calls compute with a dense temporary buffer, and then copies that to dst.
func throughCopy(s *device.Stream, dst device.View, compute func(dst device.View) error) error {
	buf, err := s.Device().Alloc(dst.NBytes(), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	to := device.View{Buffer: buf, DType: dst.DType, Layout: layout.Dense(dst.Layout.Shape)}
	if err := compute(to); err != nil {
		return err
	}
	return ops.Cast(s, dst, to)
}
