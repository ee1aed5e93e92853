package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// check checks the contents of the file, and that there is no other file in its folder.
func check(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	if all, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*-*")); err != nil || len(all) > 0 {
		t.Errorf("%q stay, %v", all, err)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// TestMode checks that a new file has the mode of os.Create, and that a replaced file
// keeps its mode.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	made, path := filepath.Join(dir, "made"), filepath.Join(dir, "file")
	f, err := os.Create(made)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := Write(path, text("1")); err != nil || mode(t, path) != mode(t, made) {
		t.Errorf("%v, and os.Create makes %v, %v", mode(t, path), mode(t, made), err)
	}
	check(t, path, "1")
	for _, m := range []fs.FileMode{0o600, 0o640, 0o666, 0o755} {
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
		before := mode(t, path)
		if err := Write(path, text("2")); err != nil || mode(t, path) != before {
			t.Errorf("%v became %v, %v", before, mode(t, path), err)
		}
	}
	check(t, path, "2")
}

// TestPrivate: a private file can be read by its owner alone, also in place of an old one.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for i, want := range []string{"1", "2"} {
		if err := WritePrivate(path, text(want)); err != nil {
			t.Fatal(err)
		}
		check(t, path, want)
		if m := mode(t, path); runtime.GOOS != "windows" && m != 0o600 {
			t.Errorf("file %d has mode %v", i, m)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLinks checks that the file that a link points to is written, and that the link
// remains.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	target, one, two := filepath.Join(dir, "in", "file"), filepath.Join(dir, "in", "one"), filepath.Join(dir, "two")
	if err := errors.Join(os.Symlink("file", one), os.Symlink(filepath.Join("in", "one"), two)); err != nil {
		t.Skipf("there are no links here: %v", err)
	}
	for _, s := range []string{"new", "replaced"} {
		if err := Write(two, text(s)); err != nil {
			t.Fatal(err)
		}
		check(t, target, s)
		check(t, two, s)
		for _, link := range []string{one, two} {
			if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s is no link any more, %v", link, err)
			}
		}
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, text("")); err == nil {
		t.Error("a link to itself was written")
	}
}

// TestFails checks that an error or a panic leaves the old file, no temporary file and no
// open descriptor.
func TestFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil && runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		return len(all)
	}
	before, bad := open(), errors.New("bad")
	if err := Write(path, func(w io.Writer) error { return errors.Join(text("new")(w), bad) }); !errors.Is(err, bad) {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() != bad {
				t.Error("the panic is gone")
			}
		}()
		_ = Write(path, func(io.Writer) error { panic(bad) })
	}()
	if now := open(); now > before {
		t.Errorf("%d descriptors, there were %d", now, before)
	}
	check(t, path, "old")
	if err := Write(filepath.Dir(path), text("")); err == nil {
		t.Error("a folder was written")
	}
	if err := Write(filepath.Join(path, "x"), text("")); err == nil {
		t.Error("a file in a file was written")
	}
	if err := Write(filepath.Join(filepath.Dir(path), "none", "x"), text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := Write("", text("")); err == nil {
		t.Error("a file without a name was written")
	}
}
