package profile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/profile"
	"github.com/gpk-go/gpk/quantum"
)

func start(t testing.TB, o profile.Options) *profile.Profile {
	t.Helper()
	p, err := profile.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Stop() })
	return p
}

func stop(t testing.TB, p *profile.Profile) *profile.Report {
	t.Helper()
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line returns dir/file.go:line of its caller.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), n)
}

// onCPU makes a CPU of its own, with memory that no other test uses, the default device for
// a test.
func onCPU(t testing.TB) *device.Device {
	t.Helper()
	d := devicetest.NewFake(device.Info{Name: "test", Kind: device.CPU, TotalMemory: 1 << 30}, device.Capabilities{})
	old := device.SetDefault(d)
	t.Cleanup(func() { device.SetDefault(old) })
	return d
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestOperations checks that the report has each operation of the program, with its name,
// line, operands and results, and the span in which it ran.
func TestOperations(t *testing.T) {
	onCPU(t)
	const n = 48
	x, y := gpk.Ones(gpk.Float32, n, n), gpk.Ones(gpk.Float32, n, n)
	c64 := gpk.Ones(gpk.Complex64, 2, n, n)
	batch, row := gpk.Ones(gpk.Float64, 4, 3, 5), gpk.Ones(gpk.Float64, 5)
	if err := gpk.Eval(x, y, c64, batch, row); err != nil {
		t.Fatal(err)
	}
	const square = 4 * n * n
	type want struct {
		name, kernel string
		dtype        string
		shape        []int
		bytes, flops int64
	}
	for what, c := range map[string]struct {
		run  func() (string, error)
		want want
	}{
		"an operation": {
			func() (string, error) { z := x.Add(y); return line(), gpk.Eval(z) },
			want{"Add", "one element-wise kernel", "float32", []int{n, n}, 3 * square, 0},
		},
		"a product": {
			func() (string, error) { z := x.MatMul(y); return line(), gpk.Eval(z) },
			want{"MatMul", "kernel cpu_float32", "float32", []int{n, n}, 3 * square, 2 * n * n * n},
		},
		"a complex batch": {
			func() (string, error) { z := c64.MatMul(c64); return line(), gpk.Eval(z) },
			want{"MatMul", "kernel cpu_complex64", "complex64", []int{2, n, n}, 3 * 2 * 2 * square, 2 * 8 * n * n * n},
		},
		"a chain": {
			func() (string, error) { z := x.Mul(y).Exp().Sum(1); return line(), gpk.Eval(z) },
			want{"Mul.Exp.Sum", "", "float32", []int{n}, 2*square + 4*n, 0},
		},
		"a product and a chain": {
			func() (string, error) { z := x.MatMul(y).ReLU(); return line(), gpk.Eval(z) },
			want{"MatMul.ReLU", "", "float32", []int{n, n}, 3 * square, 2 * n * n * n},
		},
		"a broadcast operand": {
			func() (string, error) { z := batch.Add(row); return line(), gpk.Eval(z) },
			want{"Add", "one element-wise kernel", "float64", []int{4, 3, 5}, 8 * (60 + 60 + 5), 0},
		},
		"in place": {
			func() (string, error) { return line(), x.AddInPlace(1) },
			want{"AddInPlace", "one element-wise kernel", "float32", []int{n, n}, 2 * square, 0},
		},
		"into": {
			func() (string, error) { return line(), gpk.Into(x, x.Mul(y)) },
			want{"Mul", "one element-wise kernel", "float32", []int{n, n}, 3 * square, 0},
		},
		"an array": {
			func() (string, error) { z := gpk.Full(gpk.Float32, 3, 7); return line(), gpk.Eval(z) },
			want{"Full", "", "float32", []int{7}, 28, 0},
		},
		"a copy": {
			func() (string, error) { _, err := gpk.ToSlice[float32](x.T()); return line(), err },
			want{"ToSlice", "", "", nil, 0, 0},
		},
		"a Gram matrix": {
			func() (string, error) {
				_, err := quantum.Gram(context.Background(), quantum.ZZFeatureMap(2, 1), gpk.Ones(gpk.Float64, 3, 2), nil, quantum.Options{})
				return line()[:len("profile/record_test.go:")], err
			},
			want{"quantum.Gram", "", "", nil, 0, 0},
		},
	} {
		t.Run(what, func(t *testing.T) {
			p := start(t, profile.Options{Name: what})
			_, end := profile.Span(context.Background(), "outer")
			at, err := c.run()
			end()
			if err != nil {
				t.Fatal(err)
			}
			r := stop(t, p)
			i := slices.IndexFunc(r.Operations, func(o profile.Operation) bool { return o.Name == c.want.name })
			if i < 0 {
				t.Fatalf("no %s among %+v", c.want.name, r.Operations)
			}
			o := r.Operations[i]
			if !strings.HasPrefix(o.Site, at) || !strings.Contains(o.Kernel, c.want.kernel) {
				t.Errorf("%q at %s, want %q at %s", o.Kernel, o.Site, c.want.kernel, at)
			}
			if o.DType != c.want.dtype || !slices.Equal(o.Shape, c.want.shape) || o.Bytes != c.want.bytes || o.Flops != c.want.flops {
				t.Errorf("%+v, want %+v", o, c.want)
			}
			if o.Device != "cpu" || o.Stream == 0 || o.Span != 1 || o.Goroutine != r.Spans[0].Goroutine || o.Failed {
				t.Errorf("%+v", o)
			}
			if o.Time == nil || *o.Time <= 0 || *o.Time > o.Host || *o.OnDevice < o.Start || *o.OnDevice+*o.Time > o.Start+o.Host {
				t.Errorf("%v on the device at %v, in a call of %v at %v", o.Time, o.OnDevice, o.Host, o.Start)
			}
			if r.Name != what || r.Format != profile.Format || r.Duration < o.Start+o.Host || r.Host.CPUs < 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestFailed: an operation that fails is in the report.
func TestFailed(t *testing.T) {
	d := onCPU(t)
	p := start(t, profile.Options{})
	_ = d.Launch(nil, nil, nil, func(int, uint64) error { return errors.New("it fails") })
	_ = gpk.Eval(gpk.Take(gpk.Arange(gpk.Float32, 3), gpk.FromSlice([]int64{9}), 0))
	r := stop(t, p)
	failed := 0
	for _, o := range r.Operations {
		if o.Failed {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d failed of %+v", failed, r.Operations)
	}
}

// TestErrors: one profile runs at a time, and ends once.
func TestErrors(t *testing.T) {
	onCPU(t)
	p := start(t, profile.Options{})
	if _, err := profile.Start(profile.Options{}); !errors.Is(err, profile.ErrRunning) {
		t.Error(err)
	}
	stop(t, p)
	if _, err := p.Stop(); !errors.Is(err, profile.ErrStopped) {
		t.Error(err)
	}
	if r := stop(t, start(t, profile.Options{})); len(r.Operations)+len(r.Spans)+len(r.Transfers) != 0 || r.Operations != nil {
		t.Errorf("%+v", r)
	}
	if _, err := profile.Start(profile.Options{MaxEvents: -1}); err == nil {
		t.Error("-1 events")
	}
	for _, err := range []error{
		func() error { _, err := (*profile.Profile)(nil).Stop(); return err }(),
		func() error { _, err := (&profile.Profile{}).Stop(); return err }(),
		(*profile.Report)(nil).WriteChromeTrace(nil),
		(*profile.Report)(nil).WritePprof(nil),
	} {
		if !errors.Is(err, profile.ErrNil) {
			t.Error(err)
		}
	}
}

// TestMaxEvents checks that events beyond the bound are counted but not stored.
func TestMaxEvents(t *testing.T) {
	d := onCPU(t)
	p := start(t, profile.Options{MaxEvents: 5})
	for range 3 {
		_, end := profile.Span(context.Background(), "span")
		for range 2 {
			if err := d.Launch(nil, nil, nil, func(int, uint64) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		end()
	}
	if r := stop(t, p); len(r.Spans)+len(r.Operations) != 5 || r.Dropped != 4 {
		t.Errorf("%d spans, %d operations, %d dropped", len(r.Spans), len(r.Operations), r.Dropped)
	}
}

// TestAllocations checks that buffers are counted by operation and line, with the bytes now
// in use and their maximum, and the device's peak.
func TestAllocations(t *testing.T) {
	d := onCPU(t)
	const bytes = 1 << 20
	before := devicetest.InUse(t, d)
	p := start(t, profile.Options{})
	var at string
	for range 3 {
		var x [2]*gpk.Array
		for i := range x {
			x[i] = gpk.Zeros(gpk.Uint8, bytes)
			at = line()
		}
		if err := gpk.Eval(x[:]...); err != nil {
			t.Fatal(err)
		}
		x[0].Free()
		x[1].Free()
	}
	kept := gpk.Zeros(gpk.Uint8, bytes)
	if err := gpk.Eval(kept); err != nil {
		t.Fatal(err)
	}
	r := stop(t, p)
	kept.Free()
	number, dir := 0, ""
	_, _ = fmt.Sscanf(at[strings.LastIndex(at, ":")+1:], "%d", &number)
	dir = at[:strings.LastIndex(at, ":")+1]
	var got []profile.Allocation
	for _, a := range r.Allocations {
		if a.Name == "Zeros" {
			got = append(got, a)
		}
	}
	want := []profile.Allocation{
		{Name: "Zeros", Site: fmt.Sprint(dir, number-1), Device: "cpu", Count: 6, Bytes: 6 * bytes, Peak: 2 * bytes},
		{Name: "Zeros", Site: fmt.Sprint(dir, number+8), Device: "cpu", Count: 1, Bytes: bytes, InUse: bytes, Peak: bytes},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if peak := r.Devices[0].PeakBytes; peak == nil || *peak != before+2*bytes {
		t.Errorf("peak %v, want %d", peak, before+2*bytes)
	}
	last := r.Memory[len(r.Memory)-1]
	if last.InUse != before+bytes || last.Held < last.InUse || last.Device != "cpu" {
		t.Errorf("at the end %+v, want %d in use", last, before+bytes)
	}
	if !slices.IsSortedFunc(r.Memory, func(a, b profile.MemoryUse) int { return int(a.At - b.At) }) {
		t.Error("samples are not in order")
	}
}

// TestManyGoroutines checks that profiles can start and stop while goroutines compute, and
// leave nothing behind.
func TestManyGoroutines(t *testing.T) {
	d := onCPU(t)
	fake := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	goroutines, bytes := runtime.NumGoroutine(), devicetest.InUse(t, d)
	done := make(chan struct{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			x := gpk.Ones(gpk.Float32, 32)
			defer x.Free()
			for {
				select {
				case <-done:
					return
				default:
				}
				ctx, end := profile.Span(context.Background(), "outer")
				_, end2 := profile.Span(ctx, "inner")
				y := x.Add(float32(i)).Exp()
				if err := gpk.Eval(y); err != nil {
					t.Error(err)
				}
				y.Free()
				end2()
				end()
				buf, err := fake.Alloc(100, nil)
				if err == nil {
					err = errors.Join(fake.CopyFromHost(buf, 0, make([]byte, 100), nil), fake.Launch(nil, nil, []*device.Buffer{buf}, func(int, uint64) error { return nil }))
				}
				if err != nil {
					t.Error(err)
				}
				buf.Free()
			}
		})
	}
	operations := 0
	for i, end := 0, time.Now().Add(time.Minute); i < 20 || operations == 0 && time.Now().Before(end); i++ {
		p := start(t, profile.Options{})
		time.Sleep(2 * time.Millisecond)
		r := stop(t, p)
		operations += len(r.Operations)
		for _, o := range r.Operations {
			if o.Span != 0 && r.Spans[o.Span-1].Goroutine != o.Goroutine {
				t.Errorf("%+v in the span of another goroutine, %+v", o, r.Spans[o.Span-1])
			}
		}
		if err := r.WriteChromeTrace(&strings.Builder{}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	all.Wait()
	if operations == 0 {
		t.Error("no operation was recorded")
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
	if n := d.Pool().InUse; n != bytes {
		t.Errorf("%d bytes in use, %d before", n, bytes)
	}
	if n := fake.Pool().InUse; n != 0 {
		t.Errorf("%d bytes of the GPU in use", n)
	}
}
