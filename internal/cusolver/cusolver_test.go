package cusolver

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cusolver/cusolvertest"
	"github.com/gpk-go/gpk/internal/dynlib"
)

// fake loads a fake library over the host's memory, and returns the device of the CPU.
func fake(t *testing.T, flags ...string) *device.Device {
	t.Helper()
	file, why := cusolvertest.Build(t.TempDir(), flags...)
	if why != "" {
		t.Skipf("NOT RUN: there is no fake cuSOLVER: %s", why)
	}
	old := library
	t.Cleanup(func() { library = old })
	t.Setenv("GPK_CUSOLVER", file)
	library = newLibrary()
	if err := Load(); err != nil || filepath.Base(Path()) != filepath.Base(file) {
		t.Fatalf("%s, %v", Path(), err)
	}
	devices.Lock()
	devices.of = nil // handles of another library
	devices.Unlock()
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// numbers returns a buffer of float64.
func numbers(t *testing.T, d *device.Device, values ...float64) ([]float64, *device.Buffer) {
	t.Helper()
	b, err := d.Alloc(int64(8*len(values)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Free)
	list := unsafe.Slice((*float64)(b.Ptr()), len(values))
	copy(list, values)
	return list, b
}

// positive returns a call that factors [[4 2] [2 10]], by columns, and its memory.
func positive(t *testing.T, d *device.Device) (*Call, []float64, *device.Buffer) {
	values, b := numbers(t, d, 4, 2, 2, 10)
	_, info := numbers(t, d, 7)
	return &Call{Kind: Potrf, Type: dtype.Float64, N: 2, Batch: 1, A: Operand{b.Addr(), 2, 4}, Info: info}, values, b
}

func TestRun(t *testing.T) {
	d := fake(t)
	if got := Version(); got != "cuSOLVER 12.0.4" {
		t.Error(got)
	}
	c, values, b := positive(t, d)
	if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); err != nil {
		t.Fatal(err)
	}
	if values[0] != 2 || values[1] != 1 || values[3] != 3 || *(*int32)(c.Info.Ptr()) != 0 {
		t.Errorf("factor %v, info %d", values, *(*int32)(c.Info.Ptr()))
	}
}

// TestTogether checks that calls from many goroutines never share a handle at a time; the fake library returns an
// error if they do.
func TestTogether(t *testing.T) {
	d := fake(t)
	var wg sync.WaitGroup
	for range 8 {
		c, _, b := positive(t, d)
		values := unsafe.Slice((*float64)(b.Ptr()), 4)
		wg.Go(func() {
			for range 50 {
				copy(values, []float64{4, 2, 2, 10})
				if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); err != nil {
					t.Error(err)
					return
				}
				if values[3] != 3 {
					t.Errorf("factor %v", values)
				}
			}
		})
	}
	wg.Wait()
	o, err := ownerOf(d)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.idle); n < 1 || n > maxIdle {
		t.Errorf("%d handles", n)
	}
}

// liveHandles returns a function that counts the handles, each with three more objects, that were made from now on and
// not ended.
func liveHandles(t *testing.T) func() int {
	file := filepath.Join(t.TempDir(), "log")
	t.Setenv("GPK_FAKE_CUSOLVER_LOG", file)
	return func() int {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made, ended := strings.Count(string(log), "+"), strings.Count(string(log), "-")
		if made+ended != len(log) || (made-ended)%4 != 0 {
			t.Fatalf("log %s", log)
		}
		return (made - ended) / 4
	}
}

// TestIdle: a device keeps a few idle handles, none where cuSOLVER has no memory, and ends the others, with all that
// belongs to them.
func TestIdle(t *testing.T) {
	d := fake(t)
	live := liveHandles(t)
	o, err := ownerOf(d)
	if err != nil {
		t.Fatal(err)
	}
	var lent []*handle
	for range 2*maxIdle + 1 {
		h, err := o.lend(d.DefaultStream())
		if err != nil {
			t.Fatal(err)
		}
		h.last = d.DefaultStream()
		lent = append(lent, h)
	}
	for i, h := range lent {
		o.back(h)
		if want := max(len(lent)-i-1, 0) + min(i+1, maxIdle); live() != want {
			t.Errorf("%d handles after %d are back, want %d", live(), i+1, want)
		}
	}
	c, values, b := positive(t, d)
	t.Setenv("GPK_FAKE_CUSOLVER", "Xpotrf:2:0")
	if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); !errors.Is(err, device.ErrOutOfMemory) || live() != 1 {
		t.Errorf("%d handles, %v", live(), err)
	}
	o.release()
	t.Setenv("GPK_FAKE_CUSOLVER", "XsyevjSetSortEig:7:0") // a handle that cannot be completed
	if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); err == nil {
		t.Error("a handle is used that lacks a part")
	}
	if n := live(); n != 0 {
		t.Errorf("%d handles", n)
	}
	t.Setenv("GPK_FAKE_CUSOLVER", "")
	if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); err != nil || values[3] != 3 {
		t.Errorf("%v, %v", values, err)
	}
}

// TestFailures checks that results of cuSOLVER become errors that name the call. If it has no memory, the call is made
// again, and then it is ErrOutOfMemory.
func TestFailures(t *testing.T) {
	d := fake(t)
	c, _, b := positive(t, d)
	for setting, want := range map[string]string{
		"Xpotrf:7:0":           "cusolverDnXpotrf: CUSOLVER_STATUS_INTERNAL_ERROR (7)",
		"Xpotrf:99:0":          "cusolverDnXpotrf: unknown result (99)",
		"Xpotrf:2:0":           "cusolverDnXpotrf: CUSOLVER_STATUS_ALLOC_FAILED (2)",
		"cusolverDnCreate:1:0": "cusolverDnCreate: CUSOLVER_STATUS_NOT_INITIALIZED (1)",
	} {
		devices.Lock()
		devices.of = nil // so that a handle is made
		devices.Unlock()
		t.Setenv("GPK_FAKE_CUSOLVER", setting)
		err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
		if got := errors.Is(err, device.ErrOutOfMemory); got != strings.Contains(setting, ":2:") {
			t.Errorf("%s: out of memory is %v", setting, got)
		}
		if e := StatusOf(err); e == nil || e.Call == "" {
			t.Errorf("%s: %T", setting, err)
		}
	}
	t.Setenv("GPK_FAKE_CUSOLVER", "")
	if err := Run(d.DefaultStream(), c, nil, []*device.Buffer{b}); err != nil {
		t.Errorf("the handles are lost: %v", err)
	}
	if Kind(-1).String() == Potrf.String() || Kind(1000).String() == "" {
		t.Error("names")
	}
}

// TestRefusedCalls checks that a call that would read outside an operand's memory is refused before cuSOLVER is
// called.
func TestRefusedCalls(t *testing.T) {
	d := fake(t)
	good, _, b := positive(t, d)
	for name, change := range map[string]func(c *Call){
		"kind":       func(c *Call) { c.Kind = kinds },
		"type":       func(c *Call) { c.Type = dtype.Int32 },
		"size":       func(c *Call) { c.N = 0 },
		"rows":       func(c *Call) { c.M = -1 },
		"batch":      func(c *Call) { c.Batch = 0 },
		"no info":    func(c *Call) { c.Info = nil },
		"short info": func(c *Call) { c.Batch = 3 },
		"sigma":      func(c *Call) { c.Kind = Gesvdp },
		"wide":       func(c *Call) { c.Kind, c.M = Gesvdj, math.MaxInt },
	} {
		c := *good
		change(&c)
		if err := Run(d.DefaultStream(), &c, nil, []*device.Buffer{b}); !errors.Is(err, errCall) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersions: a library that lacks a function is refused by its name; one without SyevBatched is
// an older version.
func TestVersions(t *testing.T) {
	d := fake(t, "-DOLD")
	if Supported(SyevBatched) || !Supported(Syevd) {
		t.Error("an old version")
	}
	_ = d
	fake(t)
	if !Supported(SyevBatched) {
		t.Error("a new version")
	}
	file, why := cusolvertest.Build(t.TempDir(), "-DPART")
	if why != "" {
		t.Fatal(why)
	}
	handle, err := dynlib.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, missing := bind(handle); missing != "cusolverDnXgesvdjSetSortEig" {
		t.Errorf("a part lacks %q", missing)
	}
	fake(t) // whole again
}
