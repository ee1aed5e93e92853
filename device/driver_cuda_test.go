//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestDriverNotThere(t *testing.T) {
	_, err := loadDriverFrom("libgpk-no-such-driver.so.1")
	if err == nil || !strings.Contains(err.Error(), "libgpk-no-such-driver.so.1") || !strings.Contains(err.Error(), "no driver is installed") {
		t.Errorf("a missing driver: %v", err)
	}
	_, err = loadDriverFrom("libc.so.6")
	if err == nil || !strings.Contains(err.Error(), "lacks cuInit") {
		t.Errorf("a library that is none: %v", err)
	}
}

// testLibrary compiles testdata/libcuda.c: every C entry of the driver runs
// against a driver that checks contexts and handles, without a GPU.
func testLibrary(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the test's driver with")
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", path, "testdata/libcuda.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestDriver(t *testing.T) {
	path := testLibrary(t)
	t.Run("refuses to start", func(t *testing.T) {
		t.Setenv("GPK_TEST_NO_DEVICE", "1")
		_, err := loadDriverFrom(path)
		if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NO_DEVICE (100)") {
			t.Errorf("a driver that does not start: %v", err)
		}
	})
	s := machine(nil, nil)
	s.load = func() (driver, error) { return loadDriverFrom(path) }
	install(t, s)
	list := List()
	if len(list) != 3 {
		t.Fatalf("%v\n%s", list, Explain())
	}
	for i, name := range []string{"Test GPU A", "Test GPU B"} {
		got := list[i+1]
		got.Driver = ""
		want := Info{
			Name: name, Kind: CUDA, Index: i, SM: 90, MultiProcessors: 132, TotalMemory: int64(i+1) << 28, L2Bytes: 50 << 20,
			SharedMemoryPerBlock: 227 << 10, CUDA: 13000, ClusterLaunch: true,
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if !strings.Contains(list[i+1].Driver, "CUDA 13.0") {
			t.Errorf("the driver is %q", list[i+1].Driver)
		}
	}
	d, err := Open("cuda")
	if err != nil {
		t.Fatal(err)
	}
	if free, total, err := d.Memory(); free != 1<<27 || total != 1<<28 || err != nil {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
	_, err = d.Alloc(1<<28, nil)
	if err != nil {
		t.Error(err)
	}
	d.SetMemoryLimit(1 << 40)
	_, err = d.Alloc(1<<30, nil)
	is(t, err, ErrOutOfMemory)
	if !strings.Contains(err.Error(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)") {
		t.Errorf("%v", err)
	}
	if err := cudaError("cuX", 12345); err == nil || !strings.Contains(err.Error(), "unknown error") {
		t.Errorf("a code that the driver does not know: %v", err)
	}
	t.Run("transfers", func(t *testing.T) { driverTransfers(t, d) })
	t.Run("events", func(t *testing.T) { driverEvents(t, d) })
	t.Run("graphs", func(t *testing.T) { driverGraphs(t, d) })
}

// driverTransfers moves bytes from many goroutines, which Go moves between
// threads: a call that relied on its thread's context would fail.
func driverTransfers(t *testing.T, d *Device) {
	second, err := Open("cuda:1")
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var group sync.WaitGroup
	for g := range 16 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(g)))
			s, err := d.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			for _, n := range []int{1, smallSlot, smallSlot + 1, 3<<20 + 7} {
				src := randomBytes(rng, n)
				a, b, c := alloc(t, d, int64(n), s), alloc(t, d, int64(n), nil), alloc(t, second, int64(n), nil)
				if a.Addr()%256 != 0 || a.Ptr() != nil {
					t.Errorf("%#x, %p", a.Addr(), a.Ptr())
				}
				got := make([]byte, n)
				for _, err := range []error{
					d.CopyFromHost(a, 0, src, s), d.Copy(b, 0, a, 0, int64(n), nil), second.Copy(c, 0, b, 0, int64(n), nil),
					second.CopyToHost(got, c, 0, nil),
				} {
					if err != nil {
						t.Error(err)
					}
				}
				if !bytes.Equal(got, src) {
					t.Errorf("%d bytes came back wrong", n)
				}
				pinned, free, err := d.AllocPinned(n)
				if err != nil {
					t.Error(err)
					return
				}
				if err := d.CopyToHost(pinned, a, 0, nil); err != nil || !bytes.Equal(pinned, src) {
					t.Errorf("%d pinned bytes came back wrong, %v", n, err)
				}
				if err := d.CopyFromHost(a, 0, pinned, s); err != nil {
					t.Error(err)
				}
				free()
				a.Free()
				b.Free()
				c.Free()
				runtime.Gosched()
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, d := range []*Device{d, second} {
		if err := d.Trim(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := d.Synchronize(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
}

func driverEvents(t *testing.T, d *Device) {
	var events [2]*Event
	for i := range events {
		e := event(t, d)
		if err := d.DefaultStream().Record(e); err != nil {
			t.Fatal(err)
		}
		if err := d.DefaultStream().Wait(e); err != nil {
			t.Fatal(err)
		}
		events[i] = e
		time.Sleep(3 * time.Millisecond)
	}
	dt, err := events[1].Elapsed(events[0])
	if err != nil || dt < 3*time.Millisecond || dt > time.Minute {
		t.Errorf("%v, %v", dt, err)
	}
}

func driverGraphs(t *testing.T, d *Device) {
	s := stream(t, d, "s")
	x, y := alloc(t, d, 100, nil), alloc(t, d, 100, nil)
	record := func() *Graph {
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if err := d.Copy(y, 0, x, 0, 100, s); err != nil {
			t.Fatal(err)
		}
		g, err := s.EndCapture()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g, g2 := record(), record()
	if err := g.Launch(s); err != nil {
		t.Error(err)
	}
	t.Setenv("GPK_TEST_NO_UPDATE", "1")
	err := g.Update(g2)
	if e, ok := errors.AsType[*driverError](err); !ok || e.code != 910 {
		t.Errorf("an update that is refused: %v", err)
	}
	if err := g2.Launch(nil); err != nil {
		t.Error(err)
	}
	for _, g := range []*Graph{g, g2} {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{s.Synchronize(context.Background()), s.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	x.Free()
	y.Free()
}

// openDriver loads a driver and opens its second GPU.
func openDriver(t *testing.T, path string) (driver, backend) {
	t.Helper()
	drv, err := loadDriverFrom(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := drv.open(1)
	if err != nil {
		t.Fatal(err)
	}
	return drv, b
}

func TestDriverUpdate(t *testing.T) {
	drv, b := openDriver(t, testLibrary(t))
	if _, err := drv.open(5); err == nil {
		t.Error("a GPU that is not there")
	}
	d, err := newDevice(h200(1), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var graphs [2]*Graph
	for i := range graphs {
		if err := d.main.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if graphs[i], err = d.main.EndCapture(); err != nil {
			t.Fatal(err)
		}
	}
	if err := graphs[0].Update(graphs[1]); err != nil {
		t.Error(err)
	}
	if err := graphs[0].Launch(nil); err != nil {
		t.Error(err)
	}
	if err := graphs[0].Close(); err != nil {
		t.Error(err)
	}
}
