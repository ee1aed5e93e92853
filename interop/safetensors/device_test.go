package safetensors

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// fakeGPU returns a device that is filled as a GPU is, and computes nothing.
func fakeGPU(memory int64) *device.Device {
	return devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: memory}, device.CapabilitiesOf(90))
}

// largeFile writes tensors of one to many pieces and returns them.
func largeFile(t testing.TB) (path string, want map[string]*gpk.Array) {
	t.Helper()
	path, want = filepath.Join(t.TempDir(), "x.safetensors"), map[string]*gpk.Array{}
	r := rand.New(rand.NewPCG(1, 2))
	for name, n := range map[string]int{"none": 0, "one": 1, "small": smallBytes, "more": smallBytes + 1, "piece": slotBytes, "pieces": 12*slotBytes + 5} {
		want[name] = random(r, gpk.Uint8, []int{n})
		want[name+" bool"] = random(r, gpk.Bool, []int{n / 7})
	}
	if err := WriteFile(path, want, nil); err != nil {
		t.Fatal(err)
	}
	return path, want
}

// TestGPU loads through pinned memory, which Close frees.
func TestGPU(t *testing.T) {
	path, want := largeFile(t)
	devices := []*device.Device{fakeGPU(1 << 30)}
	if real, err := device.Open("cuda"); err == nil {
		devices = append(devices, real)
	} else {
		t.Logf("a real GPU was NOT tested: %v", err)
	}
	for _, dev := range devices {
		f, before := opened(t, path), devicetest.InUse(t, dev)
		for round := range 2 {
			all, err := f.LoadAll(On(dev))
			if err != nil {
				t.Fatal(err)
			}
			for name, a := range want {
				if all[name].Device() != dev || !same(t, all[name], a) {
					t.Errorf("round %d: %s: %v", round, name, all[name])
				}
				all[name].Free()
			}
		}
		g := f.staged.on(dev)
		if g.made < 2 || g.made > maxSlots || len(g.idle) != g.made {
			t.Errorf("%d slots, of which %d are idle", g.made, len(g.idle))
		}
		if err := f.Close(); err != nil || g.idle != nil {
			t.Errorf("%d slots are left, %v", len(g.idle), err)
		}
		if _, err := f.Load("one", On(dev)); !errors.Is(err, gpk.ErrFreed) {
			t.Error(err)
		}
		if now := dev.Pool().InUse; now != before {
			t.Errorf("%d bytes are in use, %d were", now, before)
		}
	}
}

// TestOwnMemory checks that a loaded array has memory of its own: shown and freed, it
// leaves no bytes in the pool.
func TestOwnMemory(t *testing.T) {
	path, _ := largeFile(t)
	f, dev := opened(t, path), device.Default()
	before := dev.Pool().Exposed
	for _, name := range []string{"none", "small", "pieces"} {
		a, err := f.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Buffer(); err != nil {
			t.Fatal(err)
		}
		a.Free()
	}
	if now := dev.Pool().Exposed; now != before {
		t.Errorf("%d bytes are exposed for good, %d were", now, before)
	}
}

// TestNoDevice checks that every load returns the error of a device that does not work.
func TestNoDevice(t *testing.T) {
	f := opened(t, "testdata/model")
	if _, err := f.Load("w", On(nil)); !errors.Is(err, device.ErrDevice) {
		t.Error(err)
	}
	if _, err := f.LoadAll(On(new(device.Device))); !errors.Is(err, device.ErrDevice) {
		t.Error(err)
	}
	if _, err := f.Load("w", nil); err != nil {
		t.Error(err)
	}
}

// TestDropped: a File that is dropped without Close gives its staging memory back.
func TestDropped(t *testing.T) {
	path, _ := largeFile(t)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	dev := fakeGPU(1 << 30)
	if _, err := f.Load("pieces", On(dev)); err != nil {
		t.Fatal(err)
	}
	g := f.staged.on(dev)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		g.mu.Lock()
		closed := g.closed
		g.mu.Unlock()
		if closed {
			return
		}
	}
	t.Error("it is kept")
}

// TestClosed checks that all calls that need the files are ErrFreed after Close.
func TestClosed(t *testing.T) {
	f, err := Open("testdata/model")
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Load("w")
	if err := errors.Join(err, f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if !same(t, w, gpk.Arange(gpk.Float32, 6).Reshape(2, 3)) {
		t.Errorf("%v", w)
	}
	_, info := f.Info("w")
	_, load := f.Load("w")
	_, all := f.LoadAll()
	each := f.Each(func(string, *gpk.Array) error { return nil })
	for _, err := range []error{info, load, all, each} {
		if !errors.Is(err, gpk.ErrFreed) || !contains(err, "model.safetensors was closed", "device_test.go:") {
			t.Error(err)
		}
	}
	if names := f.Names(); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// TestCloseDuringUse closes files while goroutines load from them: they get whole
// arrays, or ErrFreed. No goroutine stays. It goes on until there were whole arrays and
// loads that Close has cut short.
func TestCloseDuringUse(t *testing.T) {
	path, want := largeFile(t)
	fake, cpu := fakeGPU(4<<30), device.Default()
	before := runtime.NumGoroutine()
	var whole, cut atomic.Int64
	start := time.Now()
	for round := 0; round < 20 || (whole.Load() == 0 || cut.Load() == 0) && time.Since(start) < time.Minute; round++ {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for {
					dev := []*device.Device{cpu, fake}[i%2]
					early := !f.closed.Load()
					all, err := f.LoadAll(On(dev))
					if err != nil {
						if !errors.Is(err, gpk.ErrFreed) {
							t.Error(err)
						}
						if early { // Close has met a load under way
							cut.Add(1)
						}
						return
					}
					whole.Add(1)
					if name := "pieces"; !same(t, all[name], want[name]) {
						t.Error("an array is not whole")
					}
					for _, a := range all {
						a.Free()
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 2 * time.Millisecond)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	}
	t.Logf("%d loads were whole, %d were cut short", whole.Load(), cut.Load())
	if whole.Load() == 0 || cut.Load() == 0 {
		t.Errorf("%d loads were whole, %d were cut short: Close was not tested", whole.Load(), cut.Load())
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
}

// TestTogether: goroutines share a File.
func TestTogether(t *testing.T) {
	path, want := largeFile(t)
	f, fake := opened(t, path), fakeGPU(4<<30)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			for name, a := range want {
				var opts []Option
				if i%2 == 0 {
					opts = []Option{On(fake)}
				}
				got, err := f.Load(name, opts...)
				if err != nil || !same(t, got, a) {
					t.Errorf("%s: %v", name, err)
				}
				got.Free()
			}
		})
	}
	group.Wait()
}
