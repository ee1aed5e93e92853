package userkernel_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/userkernel"
	"github.com/gpk-go/gpk/layout"
)

// axpySource is the kernel that the fake device computes in Go.
const axpySource = `
extern "C" __global__ void axpy(float a, const float* x, float* y, long long n) {
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	if (i < n) y[i] += a * x[i];
}`

// launched is a launch that a fake device has recorded.
type launched struct {
	kernel string
	launch device.Launch
}

// fakeGPU returns a device that runs axpy, and has it as the default.
func fakeGPU(t *testing.T, log *[]launched) *device.Device {
	t.Helper()
	d := devicetest.NewFakeWithCode(
		device.Info{Name: "fake", Kind: device.CUDA, SM: 90, MultiProcessors: 132, TotalMemory: 1 << 30, SharedMemoryPerBlock: 227 << 10, CUDA: 13000},
		device.CapabilitiesOf(90),
		device.FakeCode{
			Compile: func(c device.Code) ([]int, string) {
				if strings.Contains(c.Source, "flaot") {
					return nil, "kernel.cu(2): error: identifier \"flaot\" is undefined\n  flaot x;\n  ^\n\n1 error detected\n"
				}
				return []int{4, 8, 8, 8}, ""
			},
			Start: func(kernel string, l device.Launch, params []byte) error {
				*log = append(*log, launched{kernel, l})
				le := binary.LittleEndian
				a, n := math.Float32frombits(le.Uint32(params)), int(le.Uint64(params[24:]))
				x := unsafe.Slice(pointer(le.Uint64(params[8:])), n)
				y := unsafe.Slice(pointer(le.Uint64(params[16:])), n)
				for i := range min(n, l.Grid[0]*l.Block[0]) {
					y[i] += a * x[i]
				}
				return nil
			},
		})
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	old := device.SetDefault(d)
	t.Cleanup(func() { device.SetDefault(old) })
	return d
}

// pointer returns an address of the fake device, whose memory is the host's.
func pointer(addr uint64) *float32 { return *(**float32)(unsafe.Pointer(&addr)) }

func TestKernelLaunch(t *testing.T) {
	var log []launched
	fakeGPU(t, &log)
	k, err := userkernel.Kernel(axpySource, "axpy")
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i)
	}
	x, y := array.FromSlice(data), array.FromSlice(slices.Repeat([]float32{1}, n))
	if err := k.Launch(userkernel.LaunchOptions{}, float32(2), x, y, int64(n)); err != nil {
		t.Fatal(err)
	}
	got, err := array.ToSlice[float32](y)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 1+2*float32(i) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	want := launched{"axpy", device.Launch{Grid: [3]int{4, 1, 1}, Block: [3]int{256, 1, 1}}}
	if len(log) != 1 || log[0] != want {
		t.Errorf("launches %v, want one of %v", log, want)
	}

	// A view of the second half, with a grid and a block of one's own.
	log = nil
	half := y.Slice(0, n/2, n)
	if err := k.Launch(userkernel.LaunchOptions{Grid: [3]int{5}, Block: [3]int{100}}, float32(-1), half, half, int64(n/2)); err != nil {
		t.Fatal(err)
	}
	got, err = array.ToSlice[float32](y)
	if err != nil || got[n/2-1] != 1+2*(n/2-1) || got[n/2] != 0 || got[n-1] != 0 {
		t.Errorf("%v, %v", got[n/2-1:n/2+1], err)
	}
	if want := (device.Launch{Grid: [3]int{5, 1, 1}, Block: [3]int{100, 1, 1}}); len(log) != 1 || log[0].launch != want {
		t.Errorf("launches %v", log)
	}
}

func TestKernelErrors(t *testing.T) {
	var log []launched
	d := fakeGPU(t, &log)
	_, err := userkernel.Kernel("line 1\n  flaot x;\n", "axpy")
	var ce *device.CompileError
	if !errors.As(err, &ce) || ce.Line != 2 || ce.Text != "  flaot x;" || !strings.Contains(ce.Log, "undefined") || !strings.Contains(err.Error(), "kernel_test.go") {
		t.Errorf("%+v: %v", ce, err)
	}
	k, err := userkernel.Kernel(axpySource, "axpy")
	if err != nil {
		t.Fatal(err)
	}
	x := array.FromSlice(make([]float32, 12), 3, 4)
	freed := array.FromSlice([]float32{1})
	freed.Free()
	host, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	fail := func(what string, want error, o userkernel.LaunchOptions, args ...any) {
		t.Helper()
		err := k.Launch(o, args...)
		var oe *array.OpError
		if !errors.Is(err, want) || !errors.As(err, &oe) || !strings.Contains(oe.Site, "kernel_test.go") {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	var zero userkernel.LaunchOptions
	fail("too few", dtype.ErrDType, zero, float32(1), x, x)
	fail("int", dtype.ErrDType, zero, float32(1), x, x, 12)
	fail("short", dtype.ErrDType, zero, float32(1), x, x, int32(12))
	fail("float64", dtype.ErrDType, zero, 1.0, x, x, int64(12))
	fail("number for an array", dtype.ErrDType, zero, x, x, x, int64(12))
	fail("text", dtype.ErrDType, zero, "1", x, x, int64(12))
	fail("transposed", layout.ErrShape, zero, float32(1), x.T(), x, int64(12))
	fail("broadcast", layout.ErrShape, zero, float32(1), array.FromSlice([]float32{1}).BroadcastTo(12), x, int64(12))
	fail("freed", device.ErrFreed, zero, float32(1), freed, x, int64(12))
	fail("block", device.ErrDevice, userkernel.LaunchOptions{Block: [3]int{2048}}, float32(1), x, x, int64(12))
	fail("threads", device.ErrDevice, userkernel.LaunchOptions{Block: [3]int{64, 32}}, float32(1), x, x, int64(12))
	fail("grid", device.ErrDevice, userkernel.LaunchOptions{Grid: [3]int{1, 1 << 17}}, float32(1), x, x, int64(12))
	fail("shared", device.ErrDevice, userkernel.LaunchOptions{SharedBytes: 1 << 20}, float32(1), x, x, int64(12))
	fail("negative shared", device.ErrDevice, userkernel.LaunchOptions{SharedBytes: -1}, float32(1), x, x, int64(12))
	fail("stream", device.ErrDevice, userkernel.LaunchOptions{Stream: host.DefaultStream()}, float32(1), x, x, int64(12))
	fail("array of the CPU", device.ErrDevice, zero, float32(1), x, x.To(host), int64(12))
	fail("CPU", expr.ErrUnsupported, zero, float32(1), x.To(host), x.To(host), int64(12))
	if len(log) != 0 {
		t.Errorf("what failed was started: %v", log)
	}
	if err := (*userkernel.UserKernel)(nil).Launch(zero); !errors.Is(err, expr.ErrUnsupported) {
		t.Error(err)
	}
	// The device works on.
	if err := k.Launch(zero, float32(1), x, x, int64(12)); err != nil {
		t.Error(err)
	}
	_ = d
}

// TestKernelWrites checks that views have the elements that a kernel writes, and that the
// same source gives the same code.
func TestKernelWrites(t *testing.T) {
	var log []launched
	fakeGPU(t, &log)
	k, err := userkernel.Kernel(axpySource, "axpy")
	if err != nil {
		t.Fatal(err)
	}
	x := array.FromSlice([]float32{1, 2, 3})
	again, err := userkernel.Kernel(axpySource, "axpy")
	if err != nil {
		t.Fatal(err)
	}
	view := x.Reshape(3, 1)
	for _, k := range []*userkernel.UserKernel{k, again} {
		if err := k.Launch(userkernel.LaunchOptions{}, float32(1), x, x, int64(3)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := array.ToSlice[float32](view); err != nil || !slices.Equal(got, []float32{4, 8, 12}) {
		t.Error(got, err)
	}
}

func TestKernelWithoutGPU(t *testing.T) {
	if d, err := device.Open("cuda"); err == nil {
		t.Skipf("there is %v", d)
	}
	_, err := userkernel.Kernel(axpySource, "axpy")
	var oe *array.OpError
	if !errors.Is(err, device.ErrNoGPU) || !errors.As(err, &oe) || oe.Op != "Kernel" {
		t.Error(err)
	}
}
