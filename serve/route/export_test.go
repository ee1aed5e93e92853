package route

import "github.com/gpk-go/gpk/device"

// Calibrated returns a model for examples, of a GPU that is 100 times as fast as its CPU.
func Calibrated() (m *Model, gpu *device.Device) {
	m = fakeModel(100 << 30)
	return m, m.gpu
}
