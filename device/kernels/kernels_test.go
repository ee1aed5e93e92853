package kernels_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/device/kernels"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestLoadNeedsGPU asks for kernels on devices that cannot run any.
func TestLoadNeedsGPU(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kernels.Load(cpu, "libnone.so"); !errors.Is(err, device.ErrNoGPU) || !strings.Contains(err.Error(), "libnone.so") {
		t.Errorf("on a CPU: %v", err)
	}
	if _, err := kernels.Load(nil, "libnone.so"); !errors.Is(err, device.ErrDevice) {
		t.Errorf("on a nil device: %v", err)
	}
	for _, d := range []*device.Device{cpu, fakeGPU()} { // the fake GPU has no kernel library
		if _, err := kernels.LoadCompanion(d, "quantum"); !errors.Is(err, device.ErrNoGPU) || !strings.Contains(err.Error(), "libgpk_quantum.so") {
			t.Errorf("a companion on %v: %v", d, err)
		}
	}
	if _, err := kernels.LoadCompanion(nil, "quantum"); !errors.Is(err, device.ErrDevice) {
		t.Errorf("a companion on a nil device: %v", err)
	}
	if _, err := kernels.Bind[struct{}](nil, "x"); !errors.Is(err, device.ErrDevice) {
		t.Errorf("of a nil library: %v", err)
	}
	if err := cutlass.Built(); err != nil { // this build loads nothing, and says why
		if _, got := kernels.Load(fakeGPU(), "libnone.so"); !errors.Is(got, cutlass.ErrNotBuilt) {
			t.Errorf("on %s without CUDA parts: %v", runtime.GOOS, got)
		}
	}
}

// fakeGPU returns a device that claims to be a GPU; its memory is the host's.
func fakeGPU() *device.Device {
	return devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, Index: 3, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
}
