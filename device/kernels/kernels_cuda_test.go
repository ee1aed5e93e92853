//go:build cgo && linux && (amd64 || arm64) && !nocuda

package kernels_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/device/kernels"
	"github.com/gpk-go/gpk/expr"
)

// compile builds testdata/library.c with the given macros and describes it.
func compile(t *testing.T, macros ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT RUN: no C compiler (cc) here to build the library with")
	}
	path := filepath.Join(t.TempDir(), "libtest.so")
	args := append([]string{"-shared", "-fPIC", "-fvisibility=hidden", "-o", path, "testdata/library.c"}, macros...)
	if out, err := exec.CommandContext(t.Context(), cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	if err := kernels.Describe(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// axpyArgs is axpy_args of testdata/library.c.
type axpyArgs struct {
	A                      float32
	N                      int32
	X, Y                   uint64
	SeenDevice, SeenStream int64
}

func load(t *testing.T) (*device.Device, *kernels.Library) {
	t.Helper()
	d := fakeGPU()
	lib, err := kernels.Load(d, compile(t))
	if err != nil {
		t.Fatal(err)
	}
	return d, lib
}

func bind(t *testing.T, lib *kernels.Library, name string) *kernels.Entry[axpyArgs] {
	t.Helper()
	e, err := kernels.Bind[axpyArgs](lib, name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// write and read copy elements to a buffer and from it.
func write(t *testing.T, b *device.Buffer, v []float32) {
	t.Helper()
	if err := b.Device().CopyFromHost(b, 0, asBytes(v), nil); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, b *device.Buffer, n int) []float32 {
	t.Helper()
	v := make([]float32, n)
	if err := b.Device().CopyToHost(asBytes(v), b, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Device().Synchronize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

func asBytes(v []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v)) }

func TestLaunch(t *testing.T) {
	d, lib := load(t)
	axpy := bind(t, lib, "axpy")
	const n = 5
	var buffers [2]*device.Buffer
	for i, v := range [2][]float32{{0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}} {
		b, err := d.Alloc(4*n, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Free()
		write(t, b, v)
		buffers[i] = b
	}
	x, y := buffers[0], buffers[1]
	launch := func() error {
		return axpy.Launch(nil, []*device.Buffer{x}, []*device.Buffer{y}, axpyArgs{A: 2, N: n, X: x.Addr(), Y: y.Addr()})
	}
	for range 2 {
		if err := launch(); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range read(t, y, n) {
		if want := 1 + 4*float32(i); v != want {
			t.Errorf("y[%d] = %v, want %v", i, v, want)
		}
	}
	reads, writes := []*device.Buffer{x}, []*device.Buffer{y}
	none := axpyArgs{X: x.Addr(), Y: y.Addr()}
	least := math.Inf(1) // the minimum over several rounds, because AllocsPerRun also counts other goroutines
	for range 5 {
		least = min(least, testing.AllocsPerRun(100, func() {
			if err := axpy.Launch(nil, reads, writes, none); err != nil {
				t.Error(err)
			}
		}))
	}
	if least >= 1 {
		t.Errorf("a launch allocates %v times", least)
	}
	// The launch goes through the queue: it refuses freed buffers, and does not run.
	x.Free()
	before := read(t, y, n)
	if err := launch(); !errors.Is(err, device.ErrFreed) {
		t.Errorf("with a freed buffer: %v", err)
	}
	if !slices.Equal(before, read(t, y, n)) {
		t.Error("the kernel ran with a freed buffer")
	}
}

func TestQuery(t *testing.T) {
	_, lib := load(t)
	args := axpyArgs{N: 21, SeenStream: -1}
	question := bind(t, lib, "question")
	if err := question.Query(&args); err != nil {
		t.Fatal(err)
	}
	if args.N != 42 || args.SeenDevice != 3 || args.SeenStream != 0 {
		t.Errorf("%+v", args)
	}
	if err := question.Query(nil); !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("without arguments: %v", err)
	}
}

// TestEntryErrors checks the error for each kind of code that an entry returns.
func TestEntryErrors(t *testing.T) {
	_, lib := load(t)
	err := bind(t, lib, "fails").Launch(nil, nil, nil, axpyArgs{})
	if e, ok := errors.AsType[*cutlass.Error](err); !ok || e.Code != 10077 || e.Entry != "fails" || e.Message != "no such luck" {
		t.Errorf("%v", err)
	}
	short, err := kernels.Bind[struct{ A float32 }](lib, "axpy")
	if err != nil {
		t.Fatal(err)
	}
	if err := short.Launch(nil, nil, nil, struct{ A float32 }{}); err == nil || !strings.Contains(err.Error(), "arguments of another size") {
		t.Errorf("with another struct: %v", err)
	}
	silent, err := kernels.Load(fakeGPU(), compile(t, "-DTEST_SILENT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := bind(t, silent, "fails").Launch(nil, nil, nil, axpyArgs{}); err == nil || !strings.Contains(err.Error(), "gpk_kernels_error_string") {
		t.Errorf("of a library without texts: %v", err)
	}
}

func TestBindRefuses(t *testing.T) {
	_, lib := load(t)
	type inner struct{ P *float32 }
	for name, bind := range map[string]func() error{
		"a pointer":          func() error { _, err := kernels.Bind[struct{ X *float32 }](lib, "axpy"); return err },
		"a pointer inside":   func() error { _, err := kernels.Bind[struct{ X [2]inner }](lib, "axpy"); return err },
		"a slice":            func() error { _, err := kernels.Bind[struct{ X []int32 }](lib, "axpy"); return err },
		"an int":             func() error { _, err := kernels.Bind[struct{ N int }](lib, "axpy"); return err },
		"no struct":          func() error { _, err := kernels.Bind[int64](lib, "axpy"); return err },
		"a uintptr":          func() error { _, err := kernels.Bind[struct{ X uintptr }](lib, "axpy"); return err },
		"a string in arrays": func() error { _, err := kernels.Bind[struct{ X [1][1]string }](lib, "axpy"); return err },
	} {
		if err := bind(); !errors.Is(err, expr.ErrUnsupported) || !strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kernels.Bind[axpyArgs](lib, "gemv"); !errors.Is(err, cutlass.ErrLoad) || !strings.Contains(err.Error(), "gemv") {
		t.Errorf("an entry that is not there: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	change := func(f func(path string) error) func(*testing.T) string {
		return func(t *testing.T) string {
			path := compile(t)
			if err := f(path); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	text := func(path, s string) error { return os.WriteFile(path, []byte(s), 0o600) }
	for _, c := range []struct {
		name string
		path func(t *testing.T) string
		want error
	}{
		{"missing", func(t *testing.T) string { return filepath.Join(t.TempDir(), "libnone.so") }, fs.ErrNotExist},
		{"not described", change(func(path string) error { return os.Remove(path + ".json") }), cutlass.ErrSidecar},
		{"description of gpk's own library", change(func(path string) error {
			return text(path+".json", `{"size": 1, "sha256": "`+strings.Repeat("0", 64)+`", "abi": 77}`)
		}), cutlass.ErrABI},
		{"no JSON", change(func(path string) error { return text(path+".json", "size 1") }), cutlass.ErrSidecar},
		{"no library", change(func(path string) error {
			return errors.Join(text(path, "a text, longer than a header"), kernels.Describe(path))
		}), cutlass.ErrForeign},
		{"one byte longer", change(func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(b, 0), 0o600))
		}), cutlass.ErrDamaged},
		{"one bit changed", change(func(path string) error {
			b, err := os.ReadFile(path)
			b[len(b)/2] ^= 4
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		}), cutlass.ErrDamaged},
		{"no version", func(t *testing.T) string { return compile(t, "-DTEST_FOREIGN") }, cutlass.ErrLoad},
		{"another version", func(t *testing.T) string { return compile(t, "-DTEST_ABI=2") }, cutlass.ErrABI},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path(t)
			_, err := kernels.Load(fakeGPU(), path)
			if e, ok := errors.AsType[*cutlass.LibraryError](err); !ok || !errors.Is(err, c.want) || e.Path == "" || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
