package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/nvrtc"
)

// coder is a fake GPU that counts the sources that are compiled for it.
type coder struct {
	dev      *Device
	compiled atomic.Int32
	hold     chan struct{} // compiling waits for it, where it is not nil
	log      string        // the compiler's messages
}

func newCoder(t testing.TB, folder string) *coder {
	t.Helper()
	c := &coder{}
	c.dev = newFakeWithCode(h200(0), CapabilitiesOf(90), FakeCode{
		Compile: func(Code) ([]int, string) {
			c.compiled.Add(1)
			if c.hold != nil {
				<-c.hold
			}
			return []int{4, 8}, c.log
		},
		Start: func(string, Launch, []byte) error { return nil },
	})
	c.dev.codes.folder = folder
	return c
}

func TestCompileOnce(t *testing.T) {
	c := newCoder(t, "")
	c.hold = make(chan struct{})
	later := c.dev.compileLater(Code{Source: "a", Kernel: "k"})
	if _, ready, err := later.Function(); ready || err != nil {
		t.Errorf("ready before it was compiled: %v, %v", ready, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := c.dev.awaitCompiled(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
	var wg sync.WaitGroup
	functions := make([]*Function, 50)
	for i := range functions {
		wg.Go(func() {
			f, err := c.dev.Compile(Code{Source: "a", Kernel: "k"})
			if err != nil {
				t.Error(err)
			}
			functions[i] = f
		})
	}
	close(c.hold)
	wg.Wait()
	if err := c.dev.awaitCompiled(t.Context()); err != nil {
		t.Error(err)
	}
	f, ready, err := later.Function()
	if !ready || err != nil {
		t.Error(ready, err)
	}
	for _, g := range functions {
		if g != f {
			t.Fatal("the same code gave two functions")
		}
	}
	if n := c.compiled.Load(); n != 1 {
		t.Errorf("compiled %d times", n)
	}
	if p, known := f.parameters(); !known || len(p) != 2 || p[1] != (Param{8, 8}) {
		t.Errorf("parameters %v", p)
	}
	for _, other := range []Code{{Source: "b", Kernel: "k"}, {Source: "a", Kernel: "l"}, {Source: "a", Kernel: "k", Options: []string{"-x"}}, {Source: "a", Kernel: "k", File: "f.cu"}} {
		if g, err := c.dev.Compile(other); err != nil || g == f {
			t.Errorf("%+v: %v", other, err)
		}
	}
}

// TestCompileWorkers checks that a burst is compiled by few goroutines, which
// end.
func TestCompileWorkers(t *testing.T) {
	c := newCoder(t, "")
	c.hold = make(chan struct{})
	for i := range 100 {
		c.dev.compileLater(Code{Source: fmt.Sprint(i), Kernel: "k"})
	}
	eventually(t, "compiling", func() bool { return c.compiled.Load() == maxCompiling })
	time.Sleep(5 * time.Millisecond)
	if n := c.compiled.Load(); n != maxCompiling {
		t.Errorf("%d at once", n)
	}
	close(c.hold)
	if err := c.dev.awaitCompiled(t.Context()); err != nil {
		t.Error(err)
	}
	if n := c.compiled.Load(); n != 100 {
		t.Errorf("compiled %d", n)
	}
	eventually(t, "the workers' end", func() bool {
		c.dev.codes.mu.Lock()
		defer c.dev.codes.mu.Unlock()
		return c.dev.codes.workers == 0
	})
}

func TestCompileError(t *testing.T) {
	c := newCoder(t, t.TempDir())
	c.log = "kernel.cu(1): warning: unused\nkernel.cu(3): error: expected a \";\"\n\n1 error detected\n"
	for range 2 {
		_, err := c.dev.Compile(Code{Source: "one\ntwo\nthree\r\nfour", Kernel: "k"})
		var ce *CompileError
		if !errors.As(err, &ce) || ce.Line != 3 || ce.Text != "three" || ce.Log != c.log || !errors.Is(err, ErrDevice) {
			t.Errorf("%+v: %v", ce, err)
		}
		if !strings.Contains(err.Error(), "line 3: three") || !strings.Contains(err.Error(), "expected a") {
			t.Error(err)
		}
	}
	if n := c.compiled.Load(); n != 1 {
		t.Errorf("compiled %d times", n)
	}
	for _, log := range []string{"kernel.cu(99): error: beyond", "other.h(1): error: elsewhere", "kernel.cu(x): error", ""} {
		if e := newCompileError(&Code{Source: "one"}, log); e.Line != 0 || e.Error() == "" {
			t.Errorf("%q: line %d", log, e.Line)
		}
	}
}

func TestCompileCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kernels")
	code := Code{Source: "a", Kernel: "k"}
	compiles := func() int32 {
		c := newCoder(t, dir)
		// What is taken from the cache has to be known to the fake.
		if _, _, err := c.dev.backend.(*fakeCodeBackend).compile(&code, nil); err != nil {
			t.Fatal(err)
		}
		c.compiled.Store(0)
		if _, err := c.dev.Compile(code); err != nil {
			t.Fatal(err)
		}
		return c.compiled.Load()
	}
	if n := compiles(); n != 1 {
		t.Errorf("compiled %d times with an empty cache", n)
	}
	if n := compiles(); n != 0 {
		t.Errorf("compiled %d times with a full cache", n)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	path := filepath.Join(dir, files[0].Name())
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Every cut and every flipped bit is seen, and mended.
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		for _, data := range [][]byte{whole[:i], damaged, append(bytes.Clone(whole), byte(i))} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, ok := (cacheFile{dir, filepath.Base(path)}).read(); ok {
				t.Fatalf("damaged at byte %d of %d, and read", i, len(whole))
			}
		}
	}
	if n := compiles(); n != 1 {
		t.Errorf("compiled %d times with a damaged cache", n)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("the damaged file was not mended: %v", err)
	}
	// A folder that cannot be made is no error.
	c := newCoder(t, filepath.Join(path, "no folder"))
	if _, err := c.dev.Compile(code); err != nil {
		t.Error(err)
	}
}

func TestCompileCacheTogether(t *testing.T) {
	dir := t.TempDir()
	image := binaryImage{name: "k", image: bytes.Repeat([]byte{1, 2, 3}, 10_000)}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				f := cacheFile{dir, "key"}
				f.write(image)
				if b, ok := f.read(); !ok || !bytes.Equal(b.image, image.image) || b.name != "k" {
					t.Error("read what was not written")
				}
			}
		})
	}
	wg.Wait()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
}

func TestPruneCache(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, name := range []string{"old", "older", "new", cacheTemp + "dead", cacheTemp + "alive"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		age := []time.Duration{time.Minute, 2 * time.Minute, 0, 2 * time.Hour, time.Minute}[i]
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	pruneCache(dir, 250)
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	same(t, "left", left, []string{cacheTemp + "alive", "new", "old"})
}

func TestCompilerSearch(t *testing.T) {
	if cutlass.Built() != nil {
		t.Skip("no compiler is looked for in a program without CUDA parts")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "libnvrtc.so.13")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &compilerSearch{
		candidates: func() []cutlass.Candidate {
			return []cutlass.Candidate{{Path: filepath.Join(dir, "none.so"), From: "nowhere"}, {Path: text, From: "GPK_NVRTC"}, {Path: dir, From: "a folder"}, {From: "the cache", Err: errors.New("no home")}}
		},
		load: func(string) (compiler, error) { return nil, errors.New("loaded what is no library") },
	}
	_, err := s.compiler()
	var missing *nvrtc.Error
	if !errors.As(err, &missing) || !errors.Is(err, expr.ErrUnsupported) || len(missing.Tried) != 4 {
		t.Fatal(err)
	}
	for _, want := range []string{"none.so (nowhere): not there", "(GPK_NVRTC): not a shared library", "(a folder): not a file", "the cache: no home", "GPK_NVRTC names"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "loaded what") {
		t.Error(err)
	}
	if lines := s.explain(); len(lines) != 5 || !strings.Contains(lines[0], "none") {
		t.Errorf("%q", lines)
	}

	t.Setenv("GPK_NVRTC", dir)
	if c := compilerPath()[0]; c.Path != text || !c.Asked {
		t.Errorf("GPK_NVRTC as a folder: %+v", c)
	}
	t.Setenv("GPK_NVRTC", text)
	if c := compilerPath()[0]; c.Path != text {
		t.Errorf("GPK_NVRTC as a file: %+v", c)
	}
	for _, c := range compilerPath() {
		if c.Path != "" && !filepath.IsAbs(c.Path) {
			t.Errorf("%s would be looked for by its name", c.Path)
		}
	}
}

// oldCompiler is one of another version, for other GPUs.
type oldCompiler struct {
	fakeCodeBackend
	number int
	known  []int
}

func (c *oldCompiler) version() int { return c.number }

func (c *oldCompiler) archs() []int { return c.known }

func TestCompilerFits(t *testing.T) {
	for want, c := range map[string]*oldCompiler{
		"newer than CUDA 13.0": {number: 14000, known: []int{90}},
		"does not know SM 90":  {number: 12000, known: []int{80, 86}},
	} {
		d := newCoder(t, "").dev
		d.codes.search.found = c
		_, err := d.Compile(Code{Source: "a", Kernel: "k"})
		if !errors.Is(err, expr.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	d, _ := gpu(t, 0)
	if _, err := d.compilerVersion(); !errors.Is(err, expr.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := cpu(t, 0).Compile(Code{}); !errors.Is(err, expr.ErrUnsupported) {
		t.Error(err)
	}
}

// TestCompileImage compiles with the machine's own NVRTC, which needs no GPU.
func TestCompileImage(t *testing.T) {
	source := "template <class T> __global__ void scale(T* x, T by) {\n\tx[threadIdx.x] *= by;\n}\nextern \"C\" __global__ void one(float* x) { x[0] = 1; }\n"
	image, err := compileImage(90, Code{Source: source, Kernel: "scale<double>"})
	var missing *nvrtc.Error
	if errors.As(err, &missing) {
		t.Skipf("nothing is compiled here: %v", err)
	}
	if err != nil || !bytes.HasPrefix(image, []byte("\x7fELF")) || !bytes.Contains(image, []byte("scale")) {
		t.Fatalf("%d bytes, %v", len(image), err)
	}
	path, version, err := runtimeCompiler()
	if err != nil || !filepath.IsAbs(path) || version == "" {
		t.Errorf("%q, %q, %v", path, version, err)
	}
	for _, c := range []struct {
		code Code
		line int
		log  string
	}{
		{Code{Source: source + "__global__ void broken() { nonsense; }\n", Kernel: "broken"}, 5, "nonsense"},
		{Code{Source: "#include \"absent.h\"\n", Kernel: "k"}, 1, "absent.h"},
		{Code{Source: source, Kernel: "absent"}, 0, "absent"},
		{Code{Source: source, Kernel: ""}, 0, ""},
		{Code{Source: "", Kernel: "k"}, 0, "k"},
	} {
		_, err := compileImage(90, c.code)
		var ce *CompileError
		if !errors.As(err, &ce) || ce.Line != c.line || !strings.Contains(ce.Log, c.log) {
			t.Errorf("%q: line %d, %v", c.code.Kernel, c.line, err)
		}
	}
	if _, err := compileImage(90, Code{Source: source, Kernel: "one", Options: []string{"--no-such-option"}}); err == nil {
		t.Error("an option that does not exist was taken")
	}
}

// TestCompileAgain checks that a kernel that could not be loaded is tried again, but one
// that does not compile is not.
func TestCompileAgain(t *testing.T) {
	c := newCoder(t, "")
	c.dev.backend.(*fakeCodeBackend).full.Store(true)
	code := Code{Source: "a", Kernel: "k"}
	later := c.dev.compileLater(code)
	if _, err := later.wait(t.Context()); !errors.Is(err, ErrOutOfMemory) {
		t.Fatal(err)
	}
	c.dev.backend.(*fakeCodeBackend).full.Store(false)
	again := 0
	for range 4 * retryInterval {
		if later.Again() {
			again++
		}
	}
	if again != 4 {
		t.Errorf("%d tries in %d uses", again, 4*retryInterval)
	}
	if _, err := c.dev.compileLater(code).wait(t.Context()); err != nil {
		t.Error(err)
	}
	c.log = "kernel.cu(1): error: no"
	bad := c.dev.compileLater(Code{Source: "b", Kernel: "k"})
	if _, err := bad.wait(t.Context()); err == nil {
		t.Fatal("it compiled")
	}
	for range 2 * retryInterval {
		if bad.Again() {
			t.Fatal("a source that does not compile is tried again")
		}
	}
}

// TestCompileNow checks that a kernel that is needed now does not wait for the compiler's
// queue.
func TestCompileNow(t *testing.T) {
	c := newCoder(t, "")
	c.hold = make(chan struct{})
	for i := range 10 {
		c.dev.compileLater(Code{Source: fmt.Sprint(i), Kernel: "k"})
	}
	eventually(t, "compiling", func() bool { return c.compiled.Load() == maxCompiling })
	last := c.dev.compileLater(Code{Source: "now", Kernel: "k"})
	done := make(chan error)
	go func() {
		_, err := last.Now(t.Context())
		done <- err
	}()
	eventually(t, "the third", func() bool { return c.compiled.Load() == maxCompiling+1 })
	close(c.hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := c.dev.awaitCompiled(t.Context()); err != nil {
		t.Error(err)
	}
	if n := c.compiled.Load(); n != 11 {
		t.Errorf("compiled %d times, want 11", n)
	}
}

// TestCacheOwner checks that a cache file that other users can write is not read.
func TestCacheOwner(t *testing.T) {
	f := cacheFile{dir: t.TempDir(), key: "k"}
	f.write(binaryImage{name: "n", image: []byte{1}})
	if _, ok := f.read(); !ok {
		t.Fatal("not read")
	}
	if err := os.Chmod(f.path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.read(); ok && runtime.GOOS != "windows" {
		t.Error("a file that anybody can write was read")
	}
}
