package safetensors

import (
	"context"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// benchGPU returns the GPU that these benchmarks load to, the default device while they run.
func benchGPU(b *testing.B) *device.Device {
	b.Helper()
	dev, err := device.Open("cuda")
	if err != nil {
		b.Skipf("NOT run: %v", err)
	}
	old := device.SetDefault(dev)
	b.Cleanup(func() { device.SetDefault(old) })
	return dev
}

// BenchmarkDeviceLoadAll loads 512 MiB of the page cache to a GPU, from a file that stays open, so that its
// staging memory is made once.
func BenchmarkDeviceLoadAll(b *testing.B) {
	dev := benchGPU(b)
	f := opened(b, benchFile(b))
	load := func() {
		all, err := f.LoadAll(On(dev))
		if err == nil {
			err = dev.Synchronize(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range all {
			a.Free()
		}
	}
	load()
	for b.Loop() {
		load()
	}
}

// BenchmarkDevicePinned copies 512 MiB of pinned memory to a GPU, the upper limit for LoadAll.
func BenchmarkDevicePinned(b *testing.B) {
	dev := benchGPU(b)
	s, free, err := gpk.Pinned[float32](benchBytes / 4)
	if err != nil {
		b.Fatal(err)
	}
	defer free()
	dst := gpk.Zeros(gpk.Float32, len(s))
	load := func() {
		err := gpk.FromSliceInto(dst, s)
		if err == nil {
			err = dev.Synchronize(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	load()
	b.SetBytes(benchBytes)
	for b.Loop() {
		load()
	}
}
