//go:build amd64 || arm64

package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestMain is also the child process that some tests kill: with GPK_SETUP_CHILD
// it runs a build in that cache.
func TestMain(m *testing.M) {
	if cache := os.Getenv("GPK_SETUP_CHILD"); cache != "" {
		systemCUDA = "/nonexistent"
		if _, err := Run(context.Background(), Options{Cache: cache, Archs: []string{"90a"}, Jobs: 2, Progress: os.Stdout}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world makes a machine of scripts: PATH has the fake tools, the few programs
// that they call, and nothing else.
func world(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{bin, filepath.Join(dir, "running")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "sleep", "cat", "cp", "ls", "wc", "mkdir", "rmdir", "basename", "grep", "cut", "cksum"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Skip("the fake tools need ", name)
		}
		if err := os.Symlink(real, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	script(t, filepath.Join(bin, "g++"), "#!/bin/sh\necho g++ 99\n")
	for _, name := range []string{"nvcc", "python3", "cuobjdump"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".sh"))
		if err != nil {
			t.Fatal(err)
		}
		script(t, filepath.Join(dir, name+".sh"), string(text))
	}
	if err := os.Rename(filepath.Join(dir, "python3.sh"), filepath.Join(bin, "python3")); err != nil {
		t.Fatal(err)
	}
	old := systemCUDA
	systemCUDA = filepath.Join(dir, "nowhere")
	t.Cleanup(func() { systemCUDA = old })
	t.Setenv("PATH", bin)
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CUDA_PATH", "")
	t.Setenv("FAKE", dir)
	for _, v := range []string{"FAKE_HANG", "FAKE_FAIL", "FAKE_SLEEP", "FAKE_RELEASE", "FAKE_EMPTY"} {
		t.Setenv(v, "")
	}
	t.Setenv("FAKE_MACHINE", map[string]string{"amd64": "76", "arm64": "267"}[runtime.GOARCH]) // EM_X86_64, EM_AARCH64, octal
	return dir
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// build runs with the usual options of these tests.
func build(dir string, change func(*Options)) (Result, error) {
	opt := Options{Cache: filepath.Join(dir, "cache"), Archs: []string{"90a"}, Jobs: 2}
	if change != nil {
		change(&opt)
	}
	return Run(context.Background(), opt)
}

func mustBuild(t *testing.T, dir string) Result {
	t.Helper()
	res, err := build(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := cutlass.Check(res.Library); err != nil {
		t.Fatal(err)
	}
	return res
}

// lines returns what the scripts wrote into the test's folder, and forgets it.
func lines(t *testing.T, dir, name string) []string {
	t.Helper()
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestBuild(t *testing.T) {
	dir := world(t)
	res := mustBuild(t, dir)
	var want []string
	for _, u := range cutlass.Units() {
		if u.SM != 80 {
			want = append(want, u.Name)
		}
	}
	s := res.Sidecar
	if s.ABI != cutlass.ABI || s.KernelSet != cutlass.KernelSetHash() || s.CUDA != 13000 || !slices.Equal(s.Archs, []string{"90a"}) || !slices.Equal(s.Units, want) {
		t.Errorf("sidecar %+v, want units %v", s, want)
	}
	calls := lines(t, dir, "calls")
	if len(calls) != len(want)+2 { // the registry and the link
		t.Errorf("%d calls of nvcc, want %d units, registry and link", len(calls), len(want))
	}
	for _, c := range calls {
		name, _, _ := strings.Cut(c, " ")
		if has := strings.Contains(c, "-fmad=false"); has != strings.HasPrefix(name, "ops") {
			t.Errorf("-fmad=false is %v: %s", has, c)
		}
		if has := strings.Contains(c, "GPK_KERNEL_SET="+cutlass.KernelSetHash()); has != (name == "registry") {
			t.Errorf("GPK_KERNEL_SET is %v: %s", has, c)
		}
	}
	for path, mode := range map[string]os.FileMode{
		res.Library: 0o700, filepath.Join(filepath.Dir(res.Library), cutlass.SidecarName): 0o600,
		filepath.Dir(res.Library): 0o700, filepath.Join(dir, "cache"): 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "cache", "tmp")); len(left) != 0 {
		t.Errorf("left in tmp: %v", left)
	}

	again := mustBuild(t, dir)
	if calls := lines(t, dir, "calls"); !again.Current || len(calls) != 0 {
		t.Errorf("the second run: current %v, calls %v", again.Current, calls)
	}
	// A damaged library is linked again, from the objects that are there.
	if err := os.Truncate(res.Library, 100); err != nil {
		t.Fatal(err)
	}
	mended := mustBuild(t, dir)
	if calls := lines(t, dir, "calls"); mended.Current || len(calls) != 1 || mended.Sidecar.SHA256 != s.SHA256 {
		t.Errorf("after damage: current %v, calls %v, %s for %s", mended.Current, calls, mended.Sidecar.SHA256, s.SHA256)
	}
}

// TestContent checks which changes make an object another one.
func TestContent(t *testing.T) {
	dir := world(t)
	first := mustBuild(t, dir)
	lines(t, dir, "calls")
	count := func() int { return len(lines(t, dir, "calls")) }

	more, err := build(dir, func(o *Options) { o.Archs = []string{"80", "90a"} })
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range more.Units {
		if u.Cached != (u.Unit.SM == 90) { // wgmma units have the same flags as before
			t.Errorf("with 80 too: unit %s (SM %d) cached: %v", u.Unit.Name, u.Unit.SM, u.Cached)
		}
	}
	count()
	if res := mustBuild(t, dir); res.Current || count() != 1 || res.Sidecar.SHA256 != first.Sidecar.SHA256 {
		t.Error("back to 90a alone: want one link and the first library's bytes")
	}
	t.Setenv("FAKE_RELEASE", "13.1")
	res := mustBuild(t, dir)
	if n := count(); n != len(res.Units)+2 || res.Sidecar.CUDA != 13010 {
		t.Errorf("another nvcc: %d calls, CUDA %d", n, res.Sidecar.CUDA)
	}

	b := builder{tools: toolchain{identity: "x"}}
	base := text{source: `#include "gpk.h"`, flags: []string{"-O3"}}
	keys := map[string]string{"base": b.key(&base)}
	for name, other := range map[string]text{
		"source": {source: `#include "registry.cuh"`, flags: base.flags}, "flags": {source: base.source, flags: []string{"-O2"}},
	} {
		for before, key := range keys {
			if k := b.key(&other); k == key {
				t.Errorf("%s has the key of %s", name, before)
			}
		}
		keys[name] = b.key(&other)
	}
	found := map[string]string{}
	includes("#include \"registry.cuh\"\n#include <cuda.h>\n", nil, found)
	if found["registry.cuh"] == "" || found["gpk_gemm.h"] == "" || len(found) != 2 {
		t.Errorf("registry.cuh reaches %d files, want itself and gpk_gemm.h", len(found))
	}
}

func TestJobs(t *testing.T) {
	dir := world(t)
	t.Setenv("FAKE_SLEEP", "0.1")
	if _, err := build(dir, func(o *Options) { o.Jobs = 3 }); err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, l := range lines(t, dir, "parallel") {
		n, err := strconv.Atoi(strings.TrimSpace(l))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	if most < 2 || most > 3 {
		t.Errorf("%d compilers at once, want 2 or 3", most)
	}
}

func TestFailingUnit(t *testing.T) {
	dir := world(t)
	const unit = "any_f32" // few kernels: among the last
	t.Setenv("FAKE_FAIL", unit)
	_, err := build(dir, func(o *Options) { o.Jobs = 1 })
	e, ok := errors.AsType[*CompileError](err)
	if !ok || e.Unit != unit || !strings.Contains(err.Error(), `error: identifier "wrong" is undefined`) || strings.Contains(e.Log, "note 1\n") {
		t.Fatalf("error %v", err)
	}
	if all, err := os.ReadFile(e.File); err != nil || !bytes.Contains(all, []byte("note 1\n")) {
		t.Errorf("log %s: %v", e.File, err)
	}
	done := len(lines(t, dir, "calls")) - 1
	t.Setenv("FAKE_FAIL", "")
	cached := 0
	for _, u := range mustBuild(t, dir).Units {
		if u.Cached {
			cached++
		}
	}
	if cached == 0 || cached != done {
		t.Errorf("%d units kept of %d that were compiled before the failure", cached, done)
	}
}

// childOutput is what a process has written so far.
type childOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *childOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *childOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// child starts this test binary as a process that builds in dir's cache.
func child(t *testing.T, dir string) (*exec.Cmd, *childOutput) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "GPK_SETUP_CHILD="+filepath.Join(dir, "cache"))
	out := &childOutput{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func waitFor(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatal("never came: ", path)
}

// TestKilled kills a build in the middle of each of its steps. The next build completes
// it without repeating finished steps.
func TestKilled(t *testing.T) {
	for _, at := range []string{"cuda", "cutlass", "gemm_plain", "registry", cutlass.LibraryName} {
		t.Run(at, func(t *testing.T) {
			dir := world(t)
			t.Setenv("FAKE_HANG", at)
			cmd, out := child(t, dir)
			waitFor(t, filepath.Join(dir, "hanging"))
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if t.Failed() {
				t.Log(out)
			}
			objects, _ := filepath.Glob(filepath.Join(dir, "cache", "objects", "*.o"))
			lines(t, dir, "calls")
			lines(t, dir, "pip")
			t.Setenv("FAKE_HANG", "")
			res := mustBuild(t, dir)
			installed := map[string]int{"cuda": 2, "cutlass": 1}[at]
			if n := len(lines(t, dir, "pip")); n != installed {
				t.Errorf("%d installations after the kill, want %d", n, installed)
			}
			if n, want := len(lines(t, dir, "calls")), len(res.Units)+2-len(objects); n != want {
				t.Errorf("%d calls of nvcc after the kill, want %d", n, want)
			}
			if left, _ := os.ReadDir(filepath.Join(dir, "cache", "tmp")); len(left) != 0 {
				t.Errorf("left in tmp: %v", left)
			}
		})
	}
}

// TestKilledAnywhere kills builds of one cache at random moments, one after another. The
// result is the library of an undisturbed build.
func TestKilledAnywhere(t *testing.T) {
	want := mustBuild(t, world(t)).Sidecar
	dir := world(t)
	random := testrand.New(t)
	for range 8 {
		cmd, _ := child(t, dir)
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have finished
		_ = cmd.Wait()
	}
	if got := mustBuild(t, dir).Sidecar; got.SHA256 != want.SHA256 || got.Inputs != want.Inputs {
		t.Errorf("after kills %+v, undisturbed %+v", got, want)
	}
}

// TestTwoAtOnce checks that of two builds in one cache one waits and finds
// everything done. The first one stands still until the second one waits.
func TestTwoAtOnce(t *testing.T) {
	dir := world(t)
	a, outA := child(t, dir)
	waitFor(t, filepath.Join(dir, "calls"))
	if err := a.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b, outB := child(t, dir)
	for end := time.Now().Add(time.Minute); !strings.Contains(outB.String(), "waiting for it") && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := a.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(); err != nil {
		t.Errorf("%v\n%s", err, outA)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("%v\n%s", err, outB)
	}
	if !strings.Contains(outB.String(), "waiting for it") {
		t.Error("the second did not wait for the first")
	}
	calls := lines(t, dir, "calls")
	res := mustBuild(t, dir)
	if len(calls) != len(res.Units)+2 || !res.Current {
		t.Errorf("%d calls of nvcc by the two, want %d", len(calls), len(res.Units)+2)
	}
}

// TestCancel checks that a cancelled build ends at once, with its compilers, even if it
// waits for another build.
func TestCancel(t *testing.T) {
	dir := world(t)
	before := runtime.NumGoroutine()
	t.Setenv("FAKE_HANG", "gemm_plain")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	run := func(ctx context.Context) {
		_, err := Run(ctx, Options{Cache: filepath.Join(dir, "cache"), Archs: []string{"90a"}, Jobs: 2})
		done <- err
	}
	go run(ctx)
	waitFor(t, filepath.Join(dir, "hanging"))
	waiting, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	go run(waiting)
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the build that waits: %v", err)
	}
	start := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || time.Since(start) > 30*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestWheels(t *testing.T) {
	t.Run("index", func(t *testing.T) {
		dir := world(t)
		res := mustBuild(t, dir)
		pip := lines(t, dir, "pip")
		if len(pip) != 2 || !strings.HasPrefix(res.NVCC, filepath.Join(dir, "cache", "wheels")) {
			t.Fatalf("nvcc %s, pip ran %d times", res.NVCC, len(pip))
		}
		for _, line := range pip {
			for _, flag := range []string{"--require-hashes", "--no-deps", "--only-binary=:all:"} {
				if !strings.Contains(line, flag) {
					t.Errorf("pip without %s: %s", flag, line)
				}
			}
			if strings.Contains(line, "--no-index") {
				t.Errorf("pip without index: %s", line)
			}
		}
		root := filepath.Dir(filepath.Dir(res.NVCC))
		if to, err := os.Readlink(filepath.Join(root, "lib64")); err != nil || to != "lib" {
			t.Errorf("lib64 leads to %q, %v", to, err)
		}
	})
	t.Run("folder", func(t *testing.T) {
		dir := world(t)
		folder := t.TempDir()
		if _, err := build(dir, func(o *Options) { o.WheelsDir = folder; o.CheckSASS = true }); err != nil {
			t.Fatal(err)
		}
		pip := lines(t, dir, "pip")
		if len(pip) != 3 {
			t.Errorf("pip ran %d times, want 3", len(pip))
		}
		for _, line := range pip {
			if !strings.Contains(line, "--isolated --no-index --find-links "+folder) {
				t.Errorf("pip may use the network: %s", line)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		dir := world(t)
		t.Setenv("FAKE_FAIL", "cutlass")
		_, err := build(dir, nil)
		if err == nil || !strings.Contains(err.Error(), "No matching distribution") || !strings.Contains(err.Error(), "CUTLASS") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("extras", func(t *testing.T) {
		dir := world(t)
		if _, err := build(dir, func(o *Options) { o.With = []string{"cufft", "cusolver", "nccl"} }); err != nil {
			t.Fatal(err)
		}
		for _, w := range extras {
			if !w.present(filepath.Join(dir, "cache")) {
				t.Errorf("%s is not in the cache", w.what)
			}
		}
		_, err := build(dir, func(o *Options) { o.With = []string{"cufft", "fftw"} })
		if err == nil || !strings.Contains(err.Error(), `no library "fftw" to install; there are cufft, cusolver, nccl`) {
			t.Errorf("error %v", err)
		}
	})
	for _, w := range append([]wheels{cudaWheels, cutlassWheels, sassWheels}, extras...) {
		for line := range strings.Lines(strings.ReplaceAll(w.requirements, "\\\n", "")) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			name, _, _ := strings.Cut(line, " ")
			if strings.Count(line, "--hash=sha256:") == 0 || !strings.Contains(name, "==") {
				t.Errorf("%s is not pinned: %s", w.name, line)
			}
		}
	}
}

func TestTools(t *testing.T) {
	remove := func(t *testing.T, dir, name string) {
		if err := os.Remove(filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("no g++", func(t *testing.T) {
		dir := world(t)
		remove(t, dir, "g++")
		if _, err := build(dir, nil); !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "apt-get install g++") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no python", func(t *testing.T) {
		dir := world(t)
		remove(t, dir, "python3")
		if _, err := build(dir, nil); !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "python3-pip") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no pip", func(t *testing.T) {
		dir := world(t)
		script(t, filepath.Join(dir, "bin", "python3"), "#!/bin/sh\necho No module named pip\nexit 1\n")
		if _, err := build(dir, nil); !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "No module named pip") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no pip needed", func(t *testing.T) {
		dir := world(t)
		mustBuild(t, dir)
		remove(t, dir, "python3")
		mustBuild(t, dir)
		for _, tool := range Tools(context.Background(), filepath.Join(dir, "cache"), "") {
			if tool.Err != nil {
				t.Errorf("%s: %v", tool.Name, tool.Err)
			}
		}
	})
	t.Run("nvcc on PATH", func(t *testing.T) {
		dir := world(t)
		if err := os.Symlink(filepath.Join(dir, "nvcc.sh"), filepath.Join(dir, "bin", "nvcc")); err != nil {
			t.Fatal(err)
		}
		if res := mustBuild(t, dir); res.NVCC != filepath.Join(dir, "bin", "nvcc") || len(lines(t, dir, "pip")) != 1 {
			t.Errorf("nvcc %s: want the one on PATH, and CUTLASS alone from wheels", res.NVCC)
		}
	})
	t.Run("CUDA_HOME", func(t *testing.T) {
		dir := world(t)
		home := filepath.Join(dir, "cuda")
		if err := os.MkdirAll(filepath.Join(home, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "nvcc.sh"), filepath.Join(home, "bin", "nvcc")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CUDA_HOME", home)
		if res := mustBuild(t, dir); res.NVCC != filepath.Join(home, "bin", "nvcc") {
			t.Errorf("nvcc %s", res.NVCC)
		}
	})
	t.Run("old nvcc named", func(t *testing.T) {
		dir := world(t)
		t.Setenv("FAKE_RELEASE", "12.3")
		_, err := build(dir, func(o *Options) { o.NVCC = filepath.Join(dir, "nvcc.sh") })
		if !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "CUDA 12.3; the kernels need 12.4") {
			t.Errorf("error %v", err)
		}
		t.Setenv("FAKE_RELEASE", "12.4")
		res, err := build(dir, func(o *Options) { o.NVCC = filepath.Join(dir, "nvcc.sh") })
		if err != nil || res.Sidecar.CUDA != 12040 {
			t.Errorf("CUDA %d, %v", res.Sidecar.CUDA, err)
		}
	})
	t.Run("old nvcc on PATH", func(t *testing.T) {
		dir := world(t)
		script(t, filepath.Join(dir, "bin", "nvcc"), "#!/bin/sh\necho release 11.8\n")
		var out bytes.Buffer
		res, err := build(dir, func(o *Options) { o.Progress = &out })
		if err != nil || !strings.HasPrefix(res.NVCC, filepath.Join(dir, "cache")) || !strings.Contains(out.String(), "belongs to CUDA 11.8") {
			t.Errorf("nvcc %s, %v\n%s", res.NVCC, err, &out)
		}
	})
	t.Run("named and absent", func(t *testing.T) {
		dir := world(t)
		if _, err := build(dir, func(o *Options) { o.NVCC = filepath.Join(dir, "gone") }); !errors.Is(err, ErrMissingTool) {
			t.Errorf("error %v", err)
		}
	})
}

func TestUnits(t *testing.T) {
	dir := world(t)
	res, err := build(dir, func(o *Options) { o.Units = []string{"gemm_plain"} })
	if err != nil || res.Library != "" || len(res.Units) != 1 {
		t.Errorf("%+v, %v: want one object and no library", res, err)
	}
	if calls := lines(t, dir, "calls"); len(calls) != 1 {
		t.Errorf("calls %v", calls)
	}
	if _, err := build(dir, func(o *Options) { o.Units = []string{"gemm_plaim"} }); err == nil || !strings.Contains(err.Error(), "gemm_plain") {
		t.Errorf("error %v, want the units' names", err)
	}
	if _, err := build(dir, func(o *Options) { o.Units = []string{"sm80_bf16"} }); err == nil || !strings.Contains(err.Error(), "90a") {
		t.Errorf("error %v, want one that names the targets", err)
	}
}

func TestSASS(t *testing.T) {
	dir := world(t)
	res, err := build(dir, func(o *Options) { o.CheckSASS = true })
	if err != nil {
		t.Fatal(err)
	}
	want, have := 0, 0
	for _, k := range cutlass.Kernels() {
		if IsWGMMA(k) {
			want++
		}
	}
	for _, s := range res.SASS {
		if s.HGMMA == 2 && s.Unit != "" {
			have++
		}
	}
	if want == 0 || have != want {
		t.Errorf("%d kernels with HGMMA, the manifest has %d", have, want)
	}
	t.Setenv("FAKE_PLAIN", "1")
	if _, err := build(dir, func(o *Options) { o.CheckSASS = true }); !errors.Is(err, ErrNoWGMMA) || !strings.Contains(err.Error(), "attention_sm90") {
		t.Errorf("error %v, want ErrNoWGMMA of attention_sm90", err)
	}
	t.Setenv("FAKE_EMPTY", "1")
	if _, err := build(dir, func(o *Options) { o.CheckSASS = true }); !errors.Is(err, ErrNoWGMMA) {
		t.Errorf("error %v, want ErrNoWGMMA", err)
	}
}
