package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/cutlass/setup"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/dynlib"
	"github.com/gpk-go/gpk/internal/nvrtc"
	"github.com/gpk-go/gpk/quantum/kernels"
)

func TestRun(t *testing.T) {
	t.Setenv("GPK_CACHE", t.TempDir())
	t.Setenv("GPK_LIB", "")
	for _, c := range []struct {
		args        string
		status      int
		out, errors string // what standard output and error contain
	}{
		{"", 2, "", "usage: gpk COMMAND"},
		{"help", 0, "doctor", ""},
		{"--help", 0, "bundle [-tar] DIR", ""},
		{"help setup", 0, "-check-sass", ""},
		{"setup -h", 0, "-wheels folder", ""},
		{"doctor -h", 0, "usage: gpk doctor\n", ""},
		{"frobnicate", 2, "", `no command "frobnicate"`},
		{"help frobnicate", 2, "", `no command "frobnicate"`},
		{"info extra", 2, "", `unexpected argument "extra"`},
		{"info -nonsense", 2, "", "-nonsense"},
		{"setup -arch 75", 2, "", `"75" is not one of 80, 86, 89, 90a, all`},
		{"setup -jobs -1", 2, "", "-jobs -1"},
		{"setup 90a", 2, "", `unexpected argument "90a"`},
		{"setup -arch 90a -unit nonsense", 1, "", `"nonsense"`},
		{"bundle", 2, "", "want one folder"},
		{"doctor please", 2, "", "unexpected argument"},
	} {
		var out, errs bytes.Buffer
		status := run(context.Background(), strings.Fields(c.args), streams{&out, &errs})
		if status != c.status || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errors) {
			t.Errorf("gpk %s: status %d, want %d\nout: %s\nerr: %s\nwant %q and %q", c.args, status, c.status, &out, &errs, c.out, c.errors)
		}
		if (c.out == "") != (out.Len() == 0) || (c.errors == "") != (errs.Len() == 0) {
			t.Errorf("gpk %s: output on the wrong stream\nout: %s\nerr: %s", c.args, &out, &errs)
		}
	}
}

func TestInfo(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("GPK_CACHE", cache)
	text := filepath.Join(cache, "text.so")
	if err := os.WriteFile(text, []byte("this is not a shared library"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPK_LIB", text)
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"info"}, streams{&out, &errs}); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d\n%s", status, &errs)
	}
	want := []string{"cpu: ", cache}
	for _, u := range slices.Concat(cutlass.Units(), kernels.Companion().Units()) {
		want = append(want, u.Name)
	}
	if cutlass.Built() == nil {
		want = append(want, text+" (GPK_LIB): not a shared library")
	}
	for _, w := range want {
		if !strings.Contains(out.String(), w) {
			t.Errorf("info lacks %q:\n%s", w, &out)
		}
	}
	out.Reset()
	run(context.Background(), []string{"info", "-kernels"}, streams{&out, &errs})
	for _, k := range cutlass.Kernels() {
		if !strings.Contains(out.String(), k.Name+" ") {
			t.Errorf("info -kernels lacks %s", k.Name)
		}
	}
}

// TestBadDevice checks that info and doctor report a GPK_DEVICE that does not exist as an
// error.
func TestBadDevice(t *testing.T) {
	t.Setenv("GPK_CACHE", t.TempDir())
	t.Setenv("GPK_DEVICE", "tpu")
	defer device.SetDefault(device.SetDefault(nil))
	for command, status := range map[string]int{"info": 0, "doctor": 1} {
		var out, errs bytes.Buffer
		if got := run(context.Background(), []string{command}, streams{&out, &errs}); got != status || !strings.Contains(out.String(), "GPK_DEVICE=tpu") || !strings.Contains(out.String(), "programs fail") {
			t.Errorf("gpk %s: status %d\n%s", command, got, &out)
		}
		if strings.Contains(out.String(), "programs run on the CPU") {
			t.Errorf("gpk %s: programs do not run\n%s", command, &out)
		}
	}
}

// TestDoctor gives doctor machines that lack one thing each.
func TestDoctor(t *testing.T) {
	gpu := device.Info{Name: "H200", Kind: device.CUDA, SM: 90, CUDA: 13000, Driver: "580.1"}
	whole := func() machine {
		return machine{
			built:      func() error { return nil },
			devices:    func() []device.Info { return []device.Info{{Kind: device.CPU}, gpu} },
			library:    func() (*cutlass.Library, error) { return &cutlass.Library{}, nil },
			companions: func(*cutlass.Library) error { return nil },
			tools:      func() []setup.Tool { return []setup.Tool{{Name: "g++", Detail: "g++ 99"}} },
			cache:      func() (string, error) { return t.TempDir(), nil },
			nvrtc:      func() (path, version string, err error) { return "/a/libnvrtc.so.13", "13.0", nil },
			cufft:      func() (string, error) { return "cuFFT 12.0.0", nil },
			solver:     func() (string, error) { return "cuSOLVER 12.0.4, /a/libcusolver.so.12", nil },
			nccl:       func() (string, error) { return "NCCL 2.28.9, /a/libnccl.so.2", nil },
			open:       func(string) error { return nil },
			chosen:     func() (string, error) { return "cuda:0", nil },
		}
	}
	missing := &cutlass.NotFoundError{Tried: []cutlass.Attempt{{Path: "/a/libgpk.so", From: "GPK_LIB", Err: errors.New("truncated")}}}
	for _, c := range []struct {
		name   string
		change func(*machine)
		usable bool
		want   []string
	}{
		{"whole", func(*machine) {}, true, []string{"ok       program", "ok       NVRTC            run-time compiler 13.0, /a/libnvrtc.so.13", "ok       libcufft         cuFFT 12.0.0", "ok       libcusolver      cuSOLVER 12.0.4, /a/libcusolver.so.12", "ok       libnccl          NCCL 2.28.9, /a/libnccl.so.2", "ok       cuda:0", "a GPU can be used"}},
		{"no NCCL", func(m *machine) {
			m.nccl = func() (string, error) {
				return "", &dynlib.NotFoundError{Library: &dynlib.Library{Name: "NCCL", Wheels: "nccl", Env: "GPK_NCCL"}}
			}
		}, true, []string{"note     libnccl          NCCL was not found; `gpk setup -with nccl` installs it, GPK_NCCL names one", "without it, arrays of ranks on several GPUs"}},
		{"no cgo", func(m *machine) { m.built = func() error { return errors.New("it was built without cgo") } }, false, []string{"missing  program", "without cgo", "apt-get install gcc"}},
		{"no driver", func(m *machine) {
			m.devices = func() []device.Info { return []device.Info{{Kind: device.CPU}} }
			m.open = func(string) error { return errors.New("libcuda.so.1 is not here") }
		}, false, []string{"missing  driver and GPU", "libcuda.so.1 is not here", "nvidia-smi"}},
		{"no companion", func(m *machine) {
			m.companions = func(*cutlass.Library) error {
				return &cutlass.LibraryError{Path: "/a/libgpk_quantum.so", Reason: "not there; run `gpk setup`"}
			}
		}, true, []string{"note     kernel library", "/a/libgpk_quantum.so: not there"}},
		{"no library", func(m *machine) { m.library = func() (*cutlass.Library, error) { return nil, missing } }, false, []string{"missing  kernel library", "/a/libgpk.so (GPK_LIB): truncated", "to fix it: go run"}},
		{"no compiler", func(m *machine) {
			m.tools = func() []setup.Tool { return []setup.Tool{{Name: "g++", Err: errors.New("apt-get install g++")}} }
		}, true, []string{"note     setup: g++", "apt-get install g++"}},
		{"no run-time compiler", func(m *machine) {
			m.nvrtc = func() (path, version string, err error) {
				return "", "", &nvrtc.Error{Tried: []cutlass.Attempt{{Path: "/a/libnvrtc.so", From: "GPK_NVRTC", Err: errors.New("not there")}}}
			}
		}, true, []string{"note     NVRTC", "on a GPU, chains of operations run one operation at a time", "/a/libnvrtc.so (GPK_NVRTC): not there", "setup, which unpacks"}},
		{"wrong product", func(m *machine) { m.open = func(string) error { return errors.New("element 0 is 1") } }, false, []string{"missing  cuda:0", "element 0 is 1", "no GPU can be used"}},
		{"bad setting", func(m *machine) {
			m.chosen = func() (string, error) { return "tpu", errors.New(`GPK_DEVICE=tpu: "tpu" names no device`) }
		}, false, []string{"ok       cuda:0", "missing  default device   GPK_DEVICE=tpu", "to fix it: unset GPK_DEVICE", "programs fail"}},
		{"no cache", func(m *machine) { m.cache = func() (string, error) { return "", errors.New("no home") } }, true, []string{"note     cache", "GPK_CACHE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := whole()
			c.change(&m)
			var out bytes.Buffer
			if usable := report(&out, m.examine()); usable != c.usable {
				t.Errorf("usable %v, want %v", usable, c.usable)
			}
			for _, w := range c.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("lacks %q:\n%s", w, &out)
				}
			}
		})
	}
	m := whole()
	m.open = func(string) error { return errors.New("driver too old") }
	old := gpu
	old.CUDA = 12080
	if c := m.gpuCheck(old, 13000); !strings.Contains(c.fix, "driver 580") || !strings.Contains(c.fix, "-nvcc") {
		t.Errorf("an old driver has the fix %q", c.fix)
	}
}

func TestCheckout(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if root, err := checkout(wd); err != nil || root != filepath.Dir(filepath.Dir(wd)) {
		t.Errorf("checkout(%s) = %s, %v", wd, root, err)
	}
	if _, err := checkout(t.TempDir()); err == nil {
		t.Error("a folder outside is a checkout")
	}
}

func TestBundleNeedsLibrary(t *testing.T) {
	t.Setenv("GPK_CACHE", t.TempDir())
	t.Setenv("GPK_LIB", filepath.Join(t.TempDir(), "absent.so"))
	if path, err := usableLibrary(); err == nil {
		t.Skip("the system has a library of this program's sources: ", path)
	} else if !strings.Contains(err.Error(), "absent.so: not there") || !strings.Contains(err.Error(), "setup") {
		t.Errorf("error %v", err)
	}
}

func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{filepath.Join(dir, "copy"), path} { // also onto itself
		if err := copyFile(path, to, 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		info, _ := os.Stat(to)
		if err != nil || string(text) != "content" || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %q, %v, %v", to, text, info.Mode(), err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := writable(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if writable(file) == nil {
		t.Error("a file is a folder to write in")
	}
}
