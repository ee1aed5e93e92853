//go:build cgo && linux && (amd64 || arm64) && !nocuda && gorgonia_cu

package cu

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"gorgonia.org/cu"
)

var gpu *device.Device

// TestMain fails if there is no GPU, because all tests here need one.
func TestMain(m *testing.M) {
	var err error
	if gpu, err = device.Open("cuda"); err != nil {
		fmt.Fprintf(os.Stderr, "NOT RUN: the tests of interop/cu need a GPU: %v\n%s\n", err, device.Explain())
		os.Exit(1)
	}
	device.SetDefault(gpu)
	os.Exit(m.Run())
}

// upload allocates with cu and copies data there.
func upload(data []float32) (p cu.DevicePtr, err error) {
	err = Do(gpu, func() (err error) {
		if p, err = cu.MemAlloc(int64(4 * len(data))); err != nil {
			return err
		}
		return cu.MemcpyHtoD(p, unsafe.Pointer(&data[0]), int64(4*len(data)))
	})
	return p, err
}

func filled(t *testing.T, data []float32) cu.DevicePtr {
	t.Helper()
	p, err := upload(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read copies n elements from p with cu, after everything before has ended.
func read(t *testing.T, p cu.DevicePtr, n int) []float32 {
	t.Helper()
	out := make([]float32, n)
	err := Do(gpu, func() error {
		if err := cu.Synchronize(); err != nil {
			return err
		}
		return cu.MemcpyDtoH(unsafe.Pointer(&out[0]), p, int64(4*n))
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func free(t *testing.T, p cu.DevicePtr) func() {
	return func() {
		if err := Do(gpu, func() error { return cu.MemFree(p) }); err != nil {
			t.Error(err)
		}
	}
}

// ramp returns from, from+1, …
func ramp(from float32, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = from + float32(i)
	}
	return out
}

func TestFromPtr(t *testing.T) {
	p := filled(t, ramp(1, 6))
	var released atomic.Int32
	a := FromPtr(gpu, p, gpk.Float32, func() { released.Add(1); free(t, p)() }, 2, 3)

	// It is the memory itself, with shape and views.
	got, err := gpk.ToSlice[float32](a.MatMul(a.T()))
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{14, 32, 32, 77}; !slices.Equal(got, want) { // exact in TF32 too
		t.Errorf("a a^T = %v, want %v", got, want)
	}
	if q, err := Ptr(a); err != nil || q != p {
		t.Errorf("Ptr answers %v, %v; it came from %v", q, err, p)
	}

	// gpk writes, cu reads.
	if err := a.AddInPlace(10); err != nil {
		t.Fatal(err)
	}
	if err := gpk.Eval(a); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p, 6); !slices.Equal(got, ramp(11, 6)) {
		t.Errorf("cu reads %v, want %v", got, ramp(11, 6))
	}

	// cu writes, gpk reads.
	err = Do(gpu, func() error {
		if err := cu.MemsetD32(p, 0x40400000, 6); err != nil { // 3.0
			return err
		}
		return cu.Synchronize()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := gpk.ToSlice[float32](a.T()); err != nil || !slices.Equal(got, []float32{3, 3, 3, 3, 3, 3}) {
		t.Errorf("gpk reads %v, %v", got, err)
	}

	view := a.Slice(0, 1, 2)
	a.Free()
	a.Free()
	if n := released.Load(); n != 1 {
		t.Errorf("released %d times", n)
	}
	if err := view.Add(1).Err(); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("a view after Free: %v", err)
	}
}

func TestPtr(t *testing.T) {
	a := gpk.FromSlice(ramp(0, 12), 3, 4)
	sum := a.Add(1) // pending until Ptr starts it
	p, err := Ptr(sum)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, p, 12); !slices.Equal(got, ramp(1, 12)) {
		t.Errorf("cu reads %v", got)
	}
	row, err := Ptr(sum.Slice(0, 2, 3)) // begins at element 8
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, row, 4); !slices.Equal(got, ramp(9, 4)) {
		t.Errorf("cu reads row 2 as %v", got)
	}
	sum.Free()

	cpu := devicetest.CPU(t)
	if _, err := Ptr(a.To(cpu)); !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("Ptr of an array on the CPU: %v", err)
	}
	if _, err := Ptr(sum); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("Ptr after Free: %v", err)
	}
}

// TestStreams has each side put work on the other's stream, and relies on
// nothing but the order on it.
func TestStreams(t *testing.T) {
	const n = 1 << 22
	t.Run("cu's", func(t *testing.T) {
		var theirs cu.Stream
		if err := Do(gpu, func() (err error) { theirs, err = cu.MakeStream(cu.NonBlocking); return err }); err != nil {
			t.Fatal(err)
		}
		ours, err := FromStream(gpu, theirs)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Stream(ours); err != nil || back != theirs {
			t.Errorf("there and back: %v, %v; want %v", back, err, theirs)
		}
		p := filled(t, make([]float32, n))
		a := FromPtr(gpu, p, gpk.Float32, free(t, p), n).On(ours)
		for i := range 20 {
			value := float32(i)
			err := Do(gpu, func() error {
				return cu.MemsetD32Async(p, uint(math.Float32bits(value)), n, theirs)
			})
			if err != nil {
				t.Fatal(err)
			}
			// gpk reads the memory on the stream on which cu writes it, without a wait in
			// between.
			b := a.Add(1)
			q, err := Ptr(b)
			if err != nil {
				t.Fatal(err)
			}
			var last float32
			err = Do(gpu, func() error {
				if err := cu.MemcpyDtoHAsync(unsafe.Pointer(&last), q+4*(n-1), 4, theirs); err != nil {
					return err
				}
				return theirs.Synchronize()
			})
			if err != nil || last != value+1 {
				t.Fatalf("round %d: %v, %v; want %v", i, last, err, value+1)
			}
			b.Free()
		}
		a.Free()
		if err := ours.Close(); err != nil {
			t.Error(err)
		}
		// Close has left cu's stream alone.
		if err := Do(gpu, theirs.Synchronize); err != nil {
			t.Errorf("cu's stream after Close: %v", err)
		}
		if err := Do(gpu, theirs.Destroy); err != nil {
			t.Error(err)
		}
	})
	t.Run("gpk's", func(t *testing.T) {
		ours, err := gpu.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := Stream(ours)
		if err != nil {
			t.Fatal(err)
		}
		a := gpk.Zeros(gpk.Float32, n).On(ours)
		for i := range 20 {
			p, err := Ptr(a)
			if err != nil {
				t.Fatal(err)
			}
			value := float32(i)
			err = Do(gpu, func() error {
				return cu.MemsetD32Async(p, uint(math.Float32bits(value)), n, theirs)
			})
			if err != nil {
				t.Fatal(err)
			}
			b := a.Add(a)
			if got, err := gpk.Item[float32](b.Slice(0, n-1, n)); err != nil || got != 2*value {
				t.Fatalf("round %d: %v, %v; want %v", i, got, err, 2*value)
			}
			b.Free()
		}
		a.Free()
		if err := ours.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestContext(t *testing.T) {
	ctx, err := Context(gpu)
	if err != nil {
		t.Fatal(err)
	}
	err = Do(gpu, func() error {
		current, err := cu.CurrentContext()
		if err == nil && current != ctx {
			err = fmt.Errorf("%v is current, not %v", current, ctx)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	dev, err := Device(gpu)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := dev.Name(); err != nil || name == "" {
		t.Errorf("%q, %v", name, err)
	}
	want := errors.New("f's own")
	if err := Do(gpu, func() error { return want }); err != want {
		t.Errorf("Do answers %v, not f's error", err)
	}
	// What is done on a context that is current again and again still works,
	// and gpk's arrays have outlived every release of it.
	a := gpk.Ones(gpk.Float32, 100)
	for range 100 {
		if _, err := Context(gpu); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := gpk.Item[float32](a.Sum()); err != nil || got != 100 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	p := filled(t, ramp(0, 8))
	defer free(t, p)()
	cpu := devicetest.CPU(t)
	never := func() { t.Error("released what was refused") }
	for _, c := range []struct {
		name string
		a    *gpk.Array
		want error
	}{
		{"a CPU device", FromPtr(cpu, p, gpk.Float32, never, 8), gpk.ErrDevice},
		{"no memory", FromPtr(gpu, 0, gpk.Float32, never, 8), gpk.ErrDevice},
		{"misaligned", FromPtr(gpu, p+2, gpk.Float32, never, 1), gpk.ErrDevice},
		{"no type", FromPtr(gpu, p, gpk.DType(0), never, 8), gpk.ErrDType},
		{"a negative length", FromPtr(gpu, p, gpk.Float32, never, -1), gpk.ErrShape},
		{"more than there are bytes", FromPtr(gpu, p, gpk.Float64, never, 1<<40, 1<<20), gpk.ErrShape},
		{"past the end", FromPtr(gpu, p, gpk.Float32, never, 1<<30), gpk.ErrShape},
	} {
		if err := c.a.Err(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := FromStream(cpu, cu.NoStream); !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("FromStream on the CPU: %v", err)
	}
	if _, err := Stream(cpu.DefaultStream()); !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("Stream of the CPU: %v", err)
	}
}

// TestGoroutines has both sides at work from many goroutines.
func TestGoroutines(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for range 20 {
				p, err := upload(ramp(float32(g), 64))
				if err != nil {
					t.Error(err)
					return
				}
				a := FromPtr(gpu, p, gpk.Float32, free(t, p), 64)
				got, err := gpk.ToSlice[float32](a.Add(1))
				if err != nil || !slices.Equal(got, ramp(float32(g)+1, 64)) {
					t.Errorf("%v, %v", got, err)
				}
				a.Free()
			}
		})
	}
	wg.Wait()
}
