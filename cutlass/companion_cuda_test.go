//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// withCompanion compiles testdata/companion.c beside the library at path, with the given
// macros, and describes it with the changes.
func withCompanion(t *testing.T, path string, change func(*Sidecar), macros ...string) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(path), CompanionLibrary("fake"))
	args := append([]string{"-shared", "-fPIC", "-fvisibility=hidden", "-o", file, "testdata/companion.c"}, macros...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	core, err := ReadSidecar(path)
	if err != nil {
		t.Fatal(err)
	}
	s := Sidecar{ABI: KernelsABI, KernelSet: core.KernelSet, CUDA: core.CUDA, Archs: core.Archs}
	if err := s.Measure(file); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, KernelLibrarySidecar(file), text)
	return file
}

// checkTwice calls the companion's entry.
func checkTwice(t *testing.T, k *KernelLibrary) {
	t.Helper()
	twice, err := k.Entry("fake_twice")
	if err != nil {
		t.Fatal(err)
	}
	n := int64(21)
	if err := twice.Call(0, 0, unsafe.Pointer(&n), unsafe.Sizeof(n)); err != nil || n != 42 {
		t.Errorf("fake_twice: %d, %v", n, err)
	}
	if err := twice.Call(0, 0, unsafe.Pointer(&n), 1); err == nil || !strings.Contains(err.Error(), "as the companion says") {
		t.Errorf("fake_twice of another size: %v", err)
	}
}

// current is fake with the program's kernel set, which companions have to have. change (or
// nil) changes the description.
func current(t *testing.T, change func(*Sidecar)) string {
	t.Helper()
	path := fake(t, `-UFAKE_SET`, `-DFAKE_SET="`+KernelSetHash()+`"`)
	describe(t, path, func(s *Sidecar) {
		s.KernelSet = KernelSetHash()
		if change != nil {
			change(s)
		}
	})
	return path
}

func TestOpenCompanion(t *testing.T) {
	old := companions
	t.Cleanup(func() { companions = old })
	companions = "fake 0123\n"
	path := current(t, nil)
	file := withCompanion(t, path, nil)
	link := filepath.Join(t.TempDir(), LibraryName) // GPK_LIB may name a link: the companion is beside the file
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	lib, err := openOne(link, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	k, err := lib.OpenCompanion("fake")
	if err != nil {
		t.Fatal(err)
	}
	if k.Path() != file {
		t.Errorf("path %s, want %s", k.Path(), file)
	}
	checkTwice(t, k)
}

// TestOpenCompanionRefused checks that the error for a companion that cannot be used says
// which file it is, why, and what to do.
func TestOpenCompanionRefused(t *testing.T) {
	old := companions
	t.Cleanup(func() { companions = old })
	companions = "fake 0123\n"
	for _, c := range []struct {
		name   string
		change func(*Sidecar)
		damage func(file string) error
		macro  string
		want   error
		reason string
	}{
		{name: "missing", damage: os.Remove, want: fs.ErrNotExist, reason: "not there; run `gpk setup`"},
		{name: "no description", damage: func(file string) error { return os.Remove(KernelLibrarySidecar(file)) }, want: ErrSidecar, reason: "run `gpk setup`"},
		{name: "truncated", damage: func(file string) error { return os.Truncate(file, 200) }, want: ErrDamaged, reason: "run `gpk setup`"},
		{name: "replaced", change: func(s *Sidecar) { s.SHA256 = strings.Repeat("0", 64) }, want: ErrDamaged, reason: "run `gpk setup`"},
		{name: "no library", damage: func(file string) error { return os.WriteFile(file, []byte("a text that is no library"), 0o600) }, want: ErrForeign, reason: "no ELF header"},
		{name: "described as of another version", change: func(s *Sidecar) { s.ABI = ABI }, want: ErrABI, reason: "run `gpk setup`"},
		{name: "of another version", macro: "-DCOMPANION_ABI=7", want: ErrABI, reason: "version 7"},
		{name: "of another kernel set", change: func(s *Sidecar) { s.KernelSet = "other" }, want: ErrDamaged, reason: "different builds; run `gpk setup`"},
		{name: "for another target", change: func(s *Sidecar) { s.Archs = []string{"80"} }, want: ErrDamaged, reason: "different builds; run `gpk setup`"},
		{name: "of another CUDA", change: func(s *Sidecar) { s.CUDA = 12080 }, want: ErrDamaged, reason: "different builds; run `gpk setup`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := current(t, nil)
			var macros []string
			if c.macro != "" {
				macros = append(macros, c.macro)
			}
			file := withCompanion(t, path, c.change, macros...)
			if c.damage != nil {
				if err := c.damage(file); err != nil {
					t.Fatal(err)
				}
			}
			lib, err := openOne(path, new(bytes.Buffer))
			if err != nil {
				t.Fatal(err)
			}
			_, err = lib.OpenCompanion("fake")
			e, ok := errors.AsType[*LibraryError](err)
			if !ok || !errors.Is(err, c.want) || e.Path != file || !strings.Contains(e.Reason, c.reason) {
				t.Errorf("%v, want %v that says %q of %s", err, c.want, c.reason, file)
			}
		})
	}
}

// TestOpenCompanionNames checks names that are none of the kernel set, and a library and a
// companion of another one.
func TestOpenCompanionNames(t *testing.T) {
	lib, err := openOne(current(t, nil), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"typo", "../quantum", ""} {
		if _, err := lib.OpenCompanion(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "quantum") {
			t.Errorf("%q: %v", name, err)
		}
	}
	other := fake(t) // a companion of the kernel set fakeset
	withCompanion(t, other, nil)
	if lib, err = openOne(other, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if _, err := lib.OpenCompanion("fake"); !errors.Is(err, ErrKernelSet) || !strings.Contains(err.Error(), "run `gpk setup`") {
		t.Errorf("of another kernel set than the program: %v", err)
	}
}

// TestRegisteredCompanion opens a companion of kernels that are in the program, from memory.
func TestRegisteredCompanion(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Sidecar)
		cut    int
		absent bool
		want   error
	}{
		{name: "usable"},
		{name: "absent", absent: true, want: fs.ErrNotExist},
		{name: "truncated", cut: 100, want: ErrDamaged},
		{name: "of another kernel set", change: func(s *Sidecar) { s.KernelSet = "other" }, want: ErrKernelSet},
		{name: "for another target", change: func(s *Sidecar) { s.Archs = []string{"80"} }, want: ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := packedFake(t, nil)
			path := filepath.Join(t.TempDir(), LibraryName)
			write(t, filepath.Join(filepath.Dir(path), SidecarName), []byte(p.Description))
			file := withCompanion(t, path, c.change)
			library, description := packed(t, file, KernelLibrarySidecar(file))
			if !c.absent {
				p.Companions = []PrebuiltCompanion{{"fake", library[:len(library)-c.cut], description}}
			}
			lib, err := Open(OpenOptions{
				Candidates: []Candidate{{Path: p.Module, From: "in the program", Asked: true, Embedded: &p}}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			k, err := lib.OpenCompanion("fake")
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				checkTwice(t, k)
				return
			}
			if _, ok := errors.AsType[*LibraryError](err); !ok || !errors.Is(err, c.want) || !strings.Contains(err.Error(), p.Module) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if _, again := lib.OpenCompanion("fake"); again != err { //nolint:errorlint // the same error: nothing was put into memory again
				t.Errorf("the second call: %v", again)
			}
		})
	}
}
