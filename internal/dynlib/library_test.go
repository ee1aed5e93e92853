package dynlib

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

func TestFind(t *testing.T) {
	if err := cutlass.Built(); err != nil {
		t.Skipf("no libraries are opened: %v", err)
	}
	dir := t.TempDir()
	t.Setenv("GPK_CACHE", dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	l := &Library{Name: "Thing", Files: []string{"libthing.so.2", "libthing.so.1"}, Env: "GPK_TEST_THING", Wheels: "thing"}
	lib := filepath.Join(dir, "wheels", "thing-0123", "nvidia", "cu13", "lib")
	if err := os.MkdirAll(lib, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		text       []byte
		env        string
		want       []string
	}{
		{"nothing", "", nil, "", []string{"Thing was not found", "gpk setup -with thing", "GPK_TEST_THING"}},
		{"text", "libthing.so.1", []byte("no library"), "", []string{"cannot be used", "the wheels of gpk setup", "not a shared library"}},
		{"cut short", "libthing.so.2", whole[:len(whole)/2], "", []string{"cannot be used", "the wheels of gpk setup"}},
		{"named", "other.so", []byte("no library"), "other.so", []string{"(GPK_TEST_THING)", "not a shared library"}},
		{"relative folder", "libthing.so.2", []byte("no library"), ".", []string{"(GPK_TEST_THING)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(lib)
			t.Setenv("GPK_TEST_THING", c.env)
			if c.file != "" {
				if err := os.WriteFile(c.file, c.text, 0o600); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(c.file)
			}
			for _, place := range l.Candidates() {
				if place.Path != "" && !filepath.IsAbs(place.Path) {
					t.Errorf("%s would be looked for by its name", place.Path)
				}
			}
			err := l.Find(func(path string) error {
				t.Errorf("%s was opened", path)
				return errors.New("no library")
			})
			if _, ok := errors.AsType[*NotFoundError](err); !ok {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// TestFirst opens the C library, which this program has loaded. The first name in a folder is
// tried first, and libraries that load refuses are passed over.
func TestFirst(t *testing.T) {
	if err := cutlass.Built(); err != nil {
		t.Skipf("no libraries are opened: %v", err)
	}
	var real string
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			real = found[0]
		}
	}
	if real == "" {
		t.Skip("no libc.so.6 in the usual folders")
	}
	dir := t.TempDir()
	for _, name := range []string{"libthing.so.2", "libthing.so.1"} {
		if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GPK_TEST_THING", dir)
	l := &Library{Name: "Thing", Files: []string{"libthing.so.2", "libthing.so.1"}, Env: "GPK_TEST_THING", Wheels: "thing"}
	if got := l.Candidates()[0].Path; filepath.Base(got) != "libthing.so.2" {
		t.Errorf("the first is %s", got)
	}
	var handle uintptr
	if err := l.Find(func(path string) (err error) { handle, err = Open(path); return err }); err != nil || handle == 0 {
		t.Errorf("handle %v, %v", handle, err)
	}
	if Loaded("libc.so.6") == 0 || Loaded("libgpk-nowhere.so") != 0 {
		t.Error("what is loaded is not known")
	}
	if _, err := Open("libc.so.6"); err == nil {
		t.Error("a library is opened by its name alone")
	}
}
