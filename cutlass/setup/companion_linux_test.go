//go:build amd64 || arm64

package setup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpk-go/gpk/cutlass"
)

// companion is a library for the fake compiler: one unit, which is like a wgmma kernel.
func companion() cutlass.Companion {
	return cutlass.Companion{
		Name:    "fake",
		Sources: map[string]string{"gram.cu": "#include \"own.cuh\"\n#include \"registry.cuh\"\nGPK_GEMM90(x)\n", "own.cuh": "// own"},
		WGMMA:   map[string]int{"fake_gram": 1},
	}
}

// TestCompanion builds a companion along with the library.
func TestCompanion(t *testing.T) {
	dir := world(t)
	with := func(change func(*cutlass.Companion)) (Result, error) {
		c := companion()
		if change != nil {
			change(&c)
		}
		return build(dir, func(o *Options) { o.CheckSASS, o.Companions = true, []cutlass.Companion{c} })
	}
	res, err := with(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(res.Library), "libgpk_fake.so")
	_, s, err := cutlass.CheckCompanion(file)
	if err != nil {
		t.Fatal(err)
	}
	if s.ABI != cutlass.KernelsABI || s.KernelSet != cutlass.KernelSetHash() || s.CUDA != 13000 || !slices.Equal(s.Archs, []string{"90a"}) || !slices.Equal(s.Units, []string{"fake_gram"}) {
		t.Errorf("sidecar %+v", s)
	}
	if slices.Contains(res.Sidecar.Units, "fake_gram") {
		t.Errorf("%s has the companion's unit: %v", cutlass.LibraryName, res.Sidecar.Units)
	}
	var first, last unix.Stat_t // a rename sets the time of the last change of the inode
	if err := errors.Join(unix.Stat(file, &first), unix.Stat(res.Library, &last)); err != nil || first.Ctim.Nano() > last.Ctim.Nano() {
		t.Errorf("%s was placed after %s: %v", file, res.Library, err)
	}
	for path, mode := range map[string]os.FileMode{file: 0o700, file + ".json": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
	for _, c := range lines(t, dir, "calls") {
		name, _, _ := strings.Cut(c, " ")
		if has := strings.Contains(c, "/companions/fake "); has != (name == "fake_gram") {
			t.Errorf("the companion's folder is on the include path: %v: %s", has, c)
		}
		if name == "libgpk_fake.so" {
			objects := slices.DeleteFunc(strings.Fields(c), func(s string) bool { return !strings.HasSuffix(s, ".o") })
			if len(objects) != 1 {
				t.Errorf("the companion has the objects %v", objects)
			}
		}
	}
	if again, err := with(nil); err != nil || !again.Current || len(lines(t, dir, "calls")) != 0 {
		t.Errorf("the second run: %+v, %v", again, err)
	}
	// A companion that is gone or damaged is linked again, alone.
	for name, damage := range map[string]func() error{
		"gone": func() error { return os.Remove(file) }, "damaged": func() error { return os.Truncate(file, 30) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		res, err := with(nil)
		if calls := lines(t, dir, "calls"); err != nil || res.Current || len(calls) != 1 {
			t.Errorf("%s: current %v, calls %v, %v", name, res.Current, calls, err)
		}
	}
	// A header of its own is part of the unit's key.
	if _, err := with(func(c *cutlass.Companion) { c.Sources["own.cuh"] = "// changed" }); err != nil {
		t.Fatal(err)
	}
	if calls := lines(t, dir, "calls"); len(calls) != 2 {
		t.Errorf("after a change of its header: %v", calls)
	}
	if _, err := with(func(c *cutlass.Companion) { c.WGMMA["fake_gram"] = 2 }); !errors.Is(err, ErrNoWGMMA) || !strings.Contains(err.Error(), "fake_gram") {
		t.Errorf("one kernel with HGMMA of two: %v", err)
	}
	one, err := build(dir, func(o *Options) { o.Units, o.Companions = []string{"fake_gram"}, []cutlass.Companion{companion()} })
	if err != nil || len(one.Units) != 1 || one.Library != "" {
		t.Errorf("-unit fake_gram: %+v, %v", one, err)
	}
}
