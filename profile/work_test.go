package profile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/profile"
)

// TestTimes checks that work of a known length has that time on the device, on the host and
// in the share of its stream.
func TestTimes(t *testing.T) {
	const took = 20 * time.Millisecond
	fake := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	for _, d := range []*device.Device{onCPU(t), fake} {
		p := start(t, profile.Options{})
		begin := time.Now()
		if err := d.Launch(nil, nil, nil, func(int, uint64) error { time.Sleep(took); return nil }); err != nil {
			t.Fatal(err)
		}
		took2 := time.Since(begin)
		r := stop(t, p)
		if len(r.Operations) != 1 || len(r.Devices) != 1 {
			t.Fatalf("%+v", r)
		}
		o, s := r.Operations[0], r.Devices[0].Streams[0]
		if o.Time == nil || *o.Time < took || *o.Time > o.Host || o.Host > took2 {
			t.Errorf("on %v: %v of %v", d, o.Time, o.Host)
		}
		if want := float64(*o.Time) / float64(r.Duration); s.Busy == nil || *s.Busy != want || s.ID != o.Stream {
			t.Errorf("stream %+v, want %v busy", s, want)
		}
		if o.Device != d.String() || r.Devices[0].Name != d.String() || o.Name != "profile_test.TestTimes" || !strings.HasPrefix(o.Site, "profile/work_test.go:") {
			t.Errorf("%+v", o)
		}
	}
}

// TestTransfers: copies are in the report, and not operations.
func TestTransfers(t *testing.T) {
	cpu := onCPU(t)
	fake := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	for _, d := range []*device.Device{cpu, fake} {
		const n = 100_000
		a, b, h := must[*device.Buffer](t)(d.Alloc(n, nil)), must[*device.Buffer](t)(d.Alloc(n, nil)), must[*device.Buffer](t)(cpu.Alloc(n, nil))
		p := start(t, profile.Options{})
		_, end := profile.Span(context.Background(), "copies")
		data := make([]byte, n)
		err := errors.Join(d.CopyFromHost(a, 0, data, nil), d.Copy(b, 0, a, 0, n/2, nil), d.CopyToHost(data[:10], b, 0, nil), d.Copy(a, 0, h, 0, n/4, nil))
		end()
		r := stop(t, p)
		a.Free()
		b.Free()
		h.Free()
		if err != nil {
			t.Fatal(err)
		}
		last := profile.HostToDevice
		if d == cpu {
			last = profile.DeviceToDevice
		}
		want := []profile.Transfer{
			{Kind: profile.HostToDevice, Bytes: n},
			{Kind: profile.DeviceToDevice, Bytes: n / 2},
			{Kind: profile.DeviceToHost, Bytes: 10},
			{Kind: last, Bytes: n / 4},
		}
		if len(r.Transfers) != len(want) || len(r.Operations) != 0 {
			t.Fatalf("on %v: %+v, %+v", d, r.Transfers, r.Operations)
		}
		for i, x := range r.Transfers {
			if x.Kind != want[i].Kind || x.Bytes != want[i].Bytes || x.Device != d.String() || x.Span != 1 || x.Time == nil || *x.Time < 0 {
				t.Errorf("on %v: %+v, want %+v", d, x, want[i])
			}
		}
	}
}

// TestGraphs checks that a captured operation is not reported as an operation, and that a
// replay is one.
func TestGraphs(t *testing.T) {
	onCPU(t)
	x := gpk.Ones(gpk.Float32, 8)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	p := start(t, profile.Options{})
	g := must[*gpk.Graph](t)(gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Add(1).CumSum(0)} }))
	err := errors.Join(g.Replay(), g.Replay())
	r := stop(t, p)
	g.Free()
	if err != nil || len(r.Operations) != 2 || r.Graphs == nil || *r.Graphs != (profile.Graphs{Captures: 1, Replays: 2}) {
		t.Fatalf("%+v, %+v, %v", r.Operations, r.Graphs, err)
	}
	for _, o := range r.Operations {
		if o.Name != "Replay" || o.Time == nil || !strings.HasPrefix(o.Site, "profile/work_test.go:") {
			t.Errorf("%+v", o)
		}
	}
}

// TestUserKernel: a kernel of the program's own is an operation, by its name; compiling it is
// counted.
func TestUserKernel(t *testing.T) {
	const took = 5 * time.Millisecond
	d := devicetest.NewFakeWithCode(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, CUDA: 13000, TotalMemory: 1 << 30, SharedMemoryPerBlock: 1 << 16}, device.CapabilitiesOf(90), device.FakeCode{
		Compile: func(device.Code) ([]int, string) { return []int{8}, "" },
		Start:   func(string, device.Launch, []byte) error { time.Sleep(took); return nil },
	})
	defer device.SetDefault(device.SetDefault(d))
	p := start(t, profile.Options{})
	k := must[*gpk.UserKernel](t)(gpk.Kernel("source", "spin"))
	x := gpk.FromSlice(make([]float32, 16))
	err := k.Launch(gpk.LaunchOptions{}, x)
	x.Free()
	r := stop(t, p)
	if err != nil || len(r.Operations) != 1 || r.Kernels == nil || r.Kernels.Compiled != 1 {
		t.Fatalf("%+v, %+v, %v", r.Operations, r.Kernels, err)
	}
	if o := r.Operations[0]; o.Name != "Launch of spin" || o.Time == nil || *o.Time < took || o.Device != "cuda:0" {
		t.Errorf("%+v", o)
	}
}

// TestChainKernel: a chain on a GPU is one operation, once its kernel is there, and the
// kernel that was compiled and the one that was found are counted.
func TestChainKernel(t *testing.T) {
	const took = 5 * time.Millisecond
	d := devicetest.NewFakeWithCode(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, CUDA: 13000, MultiProcessors: 132, TotalMemory: 1 << 30}, device.CapabilitiesOf(90), device.FakeCode{
		Compile: func(device.Code) ([]int, string) { return nil, "" },
		Start:   func(string, device.Launch, []byte) error { time.Sleep(took); return nil },
	})
	buf := must[*device.Buffer](t)(d.Alloc(64, nil))
	x := array.FromBuffer(buf, gpk.Float32, 16)
	p := start(t, profile.Options{})
	y := x.Add(x).ReLU()
	_ = y.Explain() // has it compiled
	err := errors.Join(devicetest.AwaitCompiled(d, context.Background()), gpk.Eval(y))
	r := stop(t, p)
	y.Free()
	buf.Free()
	if err != nil || len(r.Operations) != 1 || r.Kernels == nil || r.Kernels.Compiled != 1 || r.Kernels.Hits != 1 || r.Kernels.Time <= 0 {
		t.Fatalf("%+v, %+v, %v", r.Operations, r.Kernels, err)
	}
	o := r.Operations[0]
	if o.Name != "Add.ReLU" || o.Kernel != "one fused kernel for 2 operations" || o.Time == nil || *o.Time < took || o.Device != "cuda:0" {
		t.Errorf("%+v", o)
	}
}
