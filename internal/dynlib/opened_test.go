package dynlib

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

// real returns the C library, a whole shared library of the machine.
func real(t *testing.T) string {
	t.Helper()
	if err := cutlass.Built(); err != nil {
		t.Skipf("NOT RUN: no libraries are opened: %v", err)
	}
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Skip("NOT RUN: no libc.so.6 in the usual folders")
	return ""
}

// thing describes a library that only GPK_TEST_THING can name.
func thing(version int, missing string) *Opened {
	return &Opened{
		Library: Library{Name: "Thing", Files: []string{"libgpk-test-thing.so.1"}, Env: "GPK_TEST_THING", Wheels: "thing"},
		Bind:    func(uintptr) (int, string) { return version, missing },
		Major:   1000, Codes: map[int]string{3: "THING_BROKEN"},
	}
}

// TestOpened checks that the stated version decides whether a library is used, and that the error gives the
// reason if it is not.
func TestOpened(t *testing.T) {
	file := real(t)
	t.Setenv("GPK_TEST_THING", file)
	resolved, err := filepath.EvalSymlinks(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		version       int
		missing, want string
		least         int
	}{
		"good":    {version: 12004},
		"newest":  {version: 12004, least: 12004},
		"lacks":   {version: 12004, missing: "thingMake", want: "lacks thingMake"},
		"silent":  {want: "does not say which version it is"},
		"too old": {version: 12004, least: 12104, want: "it is Thing 12.0.4; Thing 12.1.4 or newer is needed"},
	} {
		o := thing(c.version, c.missing)
		o.Least = c.least
		err := o.Load()
		if c.want == "" {
			if err != nil || o.Version() != "Thing 12.0.4" || o.Number() != 12004 || o.Path() != resolved {
				t.Errorf("%s: %s, %d, %s, %v", name, o.Version(), o.Number(), o.Path(), err)
			}
			continue
		}
		if _, ok := errors.AsType[*NotFoundError](err); !ok || !strings.Contains(err.Error(), c.want) || o.Path() != "" || o.Number() != 0 {
			t.Errorf("%s: %v of %q, want %q", name, err, o.Path(), c.want)
		}
	}
}

// TestOpenedOnce: many goroutines load the library once, and a library that is not there is looked for once.
func TestOpenedOnce(t *testing.T) {
	t.Setenv("GPK_TEST_THING", real(t))
	var calls atomic.Int32
	o := thing(0, "")
	o.Bind = func(uintptr) (int, string) { calls.Add(1); return 1000, "" }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := o.Load(); err != nil || o.Version() != "Thing 1.0.0" {
				t.Errorf("%s, %v", o.Version(), err)
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n != 1 {
		t.Errorf("%d times", n)
	}
	t.Setenv("GPK_TEST_THING", t.TempDir())
	missing := thing(1000, "")
	first := missing.Load()
	t.Setenv("GPK_TEST_THING", real(t))
	if second := missing.Load(); first == nil || second != first {
		t.Errorf("%v, then %v", first, second)
	}
}

// TestOpenedPlaces: a library is opened only from the stated places: neither the working folder nor
// LD_LIBRARY_PATH is one.
func TestOpenedPlaces(t *testing.T) {
	file, dir := real(t), t.TempDir()
	if err := os.Symlink(file, filepath.Join(dir, "libgpk-test-thing.so.1")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPK_CACHE", t.TempDir())
	t.Setenv("LD_LIBRARY_PATH", dir)
	t.Chdir(dir)
	o := thing(1000, "")
	o.Bind = func(uintptr) (int, string) { t.Error("a library of another place is opened"); return 1000, "" }
	if err := o.Load(); err == nil {
		t.Errorf("%s is used", o.Path())
	}
	if _, err := Open("libgpk-test-thing.so.1"); err == nil {
		t.Error("a library is opened by its name alone")
	}
}

// TestStatus: results become errors that name the call, and a library knows its own.
func TestStatus(t *testing.T) {
	o, other := thing(1, ""), thing(1, "")
	other.Name = "Other"
	if err := o.Failure("thingRun", 0, "x"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		code   int
		detail string
		want   string
		own    bool
	}{
		{3, "", "thingRun: THING_BROKEN (3)", true},
		{3, "no room", "thingRun: THING_BROKEN (3): no room", true},
		{99, "", "thingRun: unknown result (99)", true},
		{-2, "", "thingRun: CUDA error 2", false},
	} {
		err := o.Failure("thingRun", c.code, c.detail)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		e := o.StatusOf(errors.Join(errors.ErrUnsupported, err))
		if (e != nil) != c.own || c.own && (e.Code != c.code || e.Detail != c.detail) {
			t.Errorf("%d: %v", c.code, e)
		}
		if other.StatusOf(err) != nil {
			t.Errorf("%d counts as a result of another library", c.code)
		}
	}
	if o.StatusOf(nil) != nil {
		t.Error("a result of no error")
	}
	var none *StatusError
	if none.Error() == "" {
		t.Error("no text")
	}
}

// driverSource is a driver of two devices, whose contexts are 0x1000 and 0x1001.
const driverSource = `
int cuDeviceGet(int* device, int ordinal) { *device = 7 + ordinal; return ordinal < 2 ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = (void*)(long)(0x1000 - 7 + device); return 0; }
`

// loadDriver compiles and opens the driver, which stays loaded.
func loadDriver(t *testing.T) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("NOT RUN: no C compiler: %v", err)
	}
	dir := t.TempDir()
	source, file := filepath.Join(dir, "driver.c"), filepath.Join(dir, "libcuda.so.1")
	if err := os.WriteFile(source, []byte(driverSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", file, source).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: %v: %s", err, out)
	}
	if _, err := Open(file); err != nil {
		t.Fatal(err)
	}
}

// TestContext runs after the other tests of this package, because the driver stays loaded.
func TestContext(t *testing.T) {
	real(t)
	if Loaded("libcuda.so.1") != 0 {
		t.Skip("NOT RUN: a driver is loaded")
	}
	o := thing(1, "")
	bound := 0
	o.BindDriver = func(uintptr) string { bound++; return "" }
	if _, err := o.Context(0); err == nil || bound != 0 {
		t.Errorf("no driver: %v", err)
	}
	loadDriver(t)
	for ordinal, want := range []uintptr{0x1000, 0x1001} {
		if c, err := o.Context(ordinal); err != nil || c != want {
			t.Errorf("context %#x, %v, want %#x", c, err, want)
		}
	}
	if _, err := o.Context(2); err == nil || !strings.Contains(err.Error(), "CUDA error 101") {
		t.Errorf("no such device: %v", err)
	}
	if bound != 1 {
		t.Errorf("bound %d times", bound)
	}
	lacking := thing(1, "")
	lacking.BindDriver = func(uintptr) string { return "cuCtxSetCurrent" }
	if _, err := lacking.Context(0); err == nil || err.Error() != "the driver lacks cuCtxSetCurrent" {
		t.Error(err)
	}
}
