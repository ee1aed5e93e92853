package cutlass

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/expr"
)

// header returns a file that begins as a shared library for this machine does; Check
// looks no further than that, size and SHA-256.
func header() []byte {
	b := make([]byte, 256)
	copy(b, "\x7fELF\x02\x01\x01")
	b[16] = 3 // ET_DYN
	b[18] = map[string]byte{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	return b
}

// describe writes the sidecar of the library at path, altered by change.
func describe(t testing.TB, path string, change func(*Sidecar)) {
	t.Helper()
	s := Sidecar{ABI: ABI, KernelSet: "fakeset", CUDA: 13000, Archs: []string{"90a"}}
	if err := s.Measure(path); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(path), SidecarName), text)
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func needLibraryMachine(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" || header()[18] == 0 {
		t.Skipf("no kernel library exists for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
}

func TestCheck(t *testing.T) {
	needLibraryMachine(t)
	alter := func(at int, to byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			b := header()
			b[at] = to
			write(t, path, b)
			describe(t, path, nil)
		}
	}
	content := func(b []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) { write(t, path, b); describe(t, path, nil) }
	}
	sidecar := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write(t, path, header())
			write(t, filepath.Join(filepath.Dir(path), SidecarName), []byte(text))
		}
	}
	// after describes a whole library and then does something to the file.
	after := func(change func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write(t, path, header())
			describe(t, path, nil)
			change(t, path)
		}
	}
	for _, c := range []struct {
		name   string
		make   func(*testing.T, string)
		want   error
		reason string
	}{
		{"whole", content(header()), nil, ""},
		{"absent", func(*testing.T, string) {}, fs.ErrNotExist, "not there"},
		{"empty", content(append(header()[:0], 0)), ErrForeign, "only 1 bytes"},
		{"text", content([]byte("#!/bin/sh\necho this is not a library\n")), ErrForeign, "no ELF header"},
		{"32 bits", alter(4, 1), ErrForeign, "ELFCLASS32"},
		{"big-endian", alter(5, 2), ErrForeign, "ELFDATA2MSB"},
		{"another machine", alter(18, 243), ErrForeign, "EM_RISCV"},
		{"a program", alter(16, 2), ErrForeign, "ET_EXEC"},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, ErrForeign, "not a file"},
		{"truncated", after(func(t *testing.T, path string) { write(t, path, header()[:200]) }), ErrDamaged, "200 bytes long where libgpk.so.json says 256"},
		{"one byte", after(func(t *testing.T, path string) { b := header(); b[100] ^= 1; write(t, path, b) }), ErrDamaged, "SHA-256"},
		{"no sidecar", func(t *testing.T, path string) { write(t, path, header()) }, ErrSidecar, "gpk setup"},
		{"no JSON", sidecar("size 256"), ErrSidecar, "libgpk.so.json"},
		{"empty sidecar", sidecar("{}"), ErrSidecar, "lacks size"},
		{"huge sidecar", sidecar(strings.Repeat(" ", maxSidecar+1)), ErrSidecar, "not a description"},
		{"old ABI", func(t *testing.T, path string) {
			write(t, path, header())
			describe(t, path, func(s *Sidecar) { s.ABI = ABI + 1 })
		}, ErrABI, "kernel ABI"},
		{"link", func(t *testing.T, path string) {
			real := filepath.Join(t.TempDir(), "libgpk-real.so")
			write(t, real, header())
			describe(t, real, nil)
			link(t, real, path)
		}, nil, ""},
		{"link to nothing", func(t *testing.T, path string) { link(t, path+".gone", path) }, ErrForeign, "leads nowhere"},
		{"link to itself", func(t *testing.T, path string) { link(t, path, path) }, ErrForeign, "leads nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), LibraryName)
			c.make(t, path)
			resolved, s, err := Check(path)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if c.want == nil {
				if s.Size != 256 || resolved == "" {
					t.Errorf("got %q, %+v", resolved, s)
				}
				return
			}
			e, ok := errors.AsType[*LibraryError](err)
			if !ok || e.Path != path || !strings.Contains(e.Reason, c.reason) {
				t.Errorf("error %#v, want a LibraryError of %s that says %q", err, path, c.reason)
			}
		})
	}
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
}

func TestSearchPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GPK_CACHE", filepath.Join(dir, "cache"))
	t.Setenv("GPK_LIB", dir)
	list := SearchPath()
	cached := filepath.Join(LibraryDirIn(filepath.Join(dir, "cache")), LibraryName)
	if list[0].Path != filepath.Join(dir, LibraryName) || !list[0].Asked {
		t.Errorf("first candidate %+v, want the file in GPK_LIB's folder", list[0])
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(exe), LibraryName); list[1].Path != want {
		t.Errorf("second candidate %+v, want %s", list[1], want)
	}
	if list[2].Path != cached {
		t.Errorf("third candidate %+v, want %s", list[2], cached)
	}
	for _, c := range list {
		if !filepath.IsAbs(c.Path) {
			t.Errorf("%+v is not an absolute path: dlopen would search for it", c)
		}
	}
	t.Setenv("GPK_LIB", "libgpk.so")
	if p := SearchPath()[0].Path; !filepath.IsAbs(p) {
		t.Errorf("GPK_LIB=libgpk.so gives %q, want an absolute path", p)
	}
	t.Setenv("GPK_LIB", "")
	if got := SearchPath(); len(got) != len(list)-1 {
		t.Errorf("%d candidates without GPK_LIB, %d with", len(got), len(list))
	}
}

// TestOpenNothing checks that the error lists everything tried, with one
// warning for each library that is there or was asked for.
func TestOpenNothing(t *testing.T) {
	if err := Built(); err != nil {
		_, got := Open(OpenOptions{})
		if !errors.Is(got, ErrNotBuilt) || got.Error() != err.Error() {
			t.Fatalf("Open: %v, want ErrNotBuilt with the reason", got)
		}
		return
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	write(t, text, []byte("this is not a shared library"))
	var log bytes.Buffer
	_, err := Open(OpenOptions{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Candidates: []Candidate{
			{Path: filepath.Join(dir, "asked.so"), From: "GPK_LIB", Asked: true},
			{Path: text, From: "here"},
			{From: "the user's cache", Err: errors.New("no home")},
			{Path: filepath.Join(dir, "absent.so"), From: "there"},
		},
	})
	for _, want := range []error{ErrNoLibrary, ErrForeign, fs.ErrNotExist} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	e, ok := errors.AsType[*NotFoundError](err)
	if !ok || len(e.Tried) != 4 {
		t.Fatalf("error %#v, want a NotFoundError of 4 attempts", err)
	}
	for _, want := range []string{text + " (here): not a shared library", "the user's cache: no home", "gpk setup"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings, want 2:\n%s", n, log.String())
	}
}

func TestMinDriver(t *testing.T) {
	for cuda, want := range map[int]int{13000: 580, 13020: 580, 12040: 525, 12090: 525, 11080: 0, 0: 0} {
		if got := MinDriver(cuda); got != want {
			t.Errorf("MinDriver(%d) = %d, want %d", cuda, got, want)
		}
	}
}

func TestError(t *testing.T) {
	for _, c := range []struct {
		err                 *Error
		text                string
		unsupported, memory bool
	}{
		{&Error{Code: CodeUnsupported, Entry: "gpk_gemm", Message: "no kernel"}, "gpk_gemm: no kernel (code 10001)", true, false},
		{&Error{Code: 2, Entry: "gpk_cast", Message: "out of memory"}, "gpk_cast: CUDA error 2: out of memory", false, true},
		{&Error{Code: CodeArgument, Entry: "gpk_cast", Message: "bad"}, "gpk_cast: bad (code 10002)", false, false},
	} {
		if c.err.Error() != c.text || errors.Is(c.err, expr.ErrUnsupported) != c.unsupported || c.err.OutOfMemory() != c.memory {
			t.Errorf("%#v: %q, unsupported %v, memory %v", c.err, c.err, errors.Is(c.err, expr.ErrUnsupported), c.err.OutOfMemory())
		}
	}
}
