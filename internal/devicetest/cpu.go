package devicetest

import (
	"testing"

	"github.com/gpk-go/gpk/device"
)

// CPU returns the CPU.
func CPU(t testing.TB) *device.Device {
	t.Helper()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// DefaultCPU returns the CPU, which is the default device until the test ends.
func DefaultCPU(t testing.TB) *device.Device {
	t.Helper()
	d := CPU(t)
	old := device.SetDefault(d)
	t.Cleanup(func() { device.SetDefault(old) })
	return d
}
