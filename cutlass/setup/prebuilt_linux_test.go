//go:build amd64 || arm64

package setup

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/kernelmodule"
)

// released makes a machine whose PATH has the go command alone, and a proxy with the module of
// a stand-in library and of its companion.
func released(t *testing.T) (dir string, m kernelmodule.Module) {
	t.Helper()
	dir = t.TempDir()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT RUN: no C compiler (cc) here to build the stand-in library with")
	}
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command here")
	}
	goroot, err := exec.Command(gocmd, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, cutlass.LibraryName)
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-I../src", `-DFAKE_SET="`+cutlass.KernelSetHash()+`"`,
		"-o", library, "../testdata/fake.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	s := cutlass.Sidecar{ABI: cutlass.ABI, KernelSet: cutlass.KernelSetHash(), CUDA: 13000, Archs: []string{"90a"}}
	if err := s.Measure(library); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "libgpk_fake.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", own, "../testdata/companion.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	s.ABI = cutlass.KernelsABI
	if err := s.Measure(own); err != nil {
		t.Fatal(err)
	}
	companionText, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	proxy := filepath.Join(dir, "proxy")
	for path, content := range map[string][]byte{filepath.Join(dir, cutlass.SidecarName): text, own + ".json": companionText, filepath.Join(dir, "work", "go.mod"): []byte("module example.com/user\n\ngo 1.26\n")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if m, err = kernelmodule.Write(proxy, kernelmodule.Options{Library: library, GPK: "v0.4.0", Time: time.Unix(1e9, 0), Companions: []string{"fake"}}); err != nil {
		t.Fatal(err)
	}
	old := driverVersion
	driverVersion = filepath.Join(dir, "driver")
	t.Cleanup(func() { driverVersion = old })
	t.Chdir(filepath.Join(dir, "work"))
	for k, v := range map[string]string{
		"PATH": filepath.Join(strings.TrimSpace(string(goroot)), "bin"), "GOPROXY": "file://" + proxy, "GOMODCACHE": filepath.Join(dir, "modules"),
		"GOFLAGS": "-modcacherw", "GOSUMDB": "off", "GONOSUMDB": "", "GOPRIVATE": "", "GONOPROXY": "", "GOENV": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
		"CUDA_HOME": "", "CUDA_PATH": "",
	} {
		t.Setenv(k, v)
	}
	return dir, m
}

// install runs setup with the companion.
func install(dir string) (Result, error) {
	return build(dir, func(o *Options) { o.Companions = []cutlass.Companion{companion()} })
}

// repack writes the module's archive again, each file through change.
func repack(t *testing.T, dir string, m kernelmodule.Module, change func(name string, content []byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, "proxy", m.Path, "@v", m.Version+".zip")
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		to, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(change(filepath.Base(f.Name), content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// redescribe changes the description in the module.
func redescribe(t *testing.T, dir string, m kernelmodule.Module, change func(*cutlass.Sidecar)) {
	t.Helper()
	repack(t, dir, m, func(name string, content []byte) []byte {
		if name != cutlass.PrebuiltDescription {
			return content
		}
		var s cutlass.Sidecar
		if err := json.Unmarshal(content, &s); err != nil {
			t.Fatal(err)
		}
		change(&s)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
}

func TestPrebuilt(t *testing.T) {
	dir, m := released(t)
	// The go command's own sum of the module is the release's.
	sums := m.Path + " " + m.Version + " " + m.Sum + "\n" + m.Path + " " + m.Version + "/go.mod " + m.GoModSum + "\n"
	if err := os.WriteFile("go.sum", []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	res, err := install(dir)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("setup took %v", took)
	}
	if res.Module != m.Path+"@"+m.Version || res.Current || res.CUDA != "13.0" {
		t.Errorf("%+v", res)
	}
	if _, s, err := cutlass.Check(res.Library); err != nil || s.KernelSet != cutlass.KernelSetHash() {
		t.Errorf("the library: %+v, %v", s, err)
	}
	// The module's package embeds both libraries.
	code, err := os.ReadFile(filepath.Join(dir, "modules", m.Path+"@"+m.Version, "kernels_linux_"+runtime.GOARCH+".go"))
	if err != nil {
		t.Fatal(err)
	}
	if formatted, err := format.Source(code); err != nil || !bytes.Equal(formatted, code) {
		t.Errorf("%v\n%s\nformatted:\n%s", err, code, formatted)
	}
	for _, want := range []string{"//go:embed libgpk.so.gz\n", "//go:embed libgpk_fake.so.gz\n", "//go:embed libgpk_fake.so.json\n", `{Name: "fake", Library: fakeLibrary, Description: fakeDescription}`} {
		if !strings.Contains(string(code), want) {
			t.Errorf("the package lacks %q:\n%s", want, code)
		}
	}
	file := filepath.Join(filepath.Dir(res.Library), "libgpk_fake.so")
	if _, s, err := cutlass.CheckCompanion(file); err != nil || s.KernelSet != cutlass.KernelSetHash() || s.Inputs != res.Sidecar.Inputs {
		t.Errorf("the companion: %+v, %v", s, err)
	}
	for path, want := range map[string]os.FileMode{res.Library: 0o600, file: 0o600, filepath.Dir(res.Library): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v, %v", path, info.Mode(), want, err)
		}
	}
	if after, err := os.ReadFile("go.sum"); err != nil || string(after) != sums {
		t.Errorf("go.sum is now %q, %v", after, err)
	}
	if res, err = install(dir); err != nil || !res.Current {
		t.Errorf("again: %+v, %v", res, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if res, err = install(dir); err != nil || res.Current {
		t.Errorf("without the companion: %+v, %v", res, err)
	}
	if _, _, err := cutlass.CheckCompanion(file); err != nil {
		t.Error(err)
	}
}

// TestPrebuiltRefused has modules and places that must not be used: each is
// refused with a sentence, and no library is left.
func TestPrebuiltRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, m kernelmodule.Module)
		want   []string
	}{
		{"altered archive", func(t *testing.T, dir string, m kernelmodule.Module) {
			if err := os.WriteFile("go.sum", []byte(m.Path+" "+m.Version+" "+m.Sum+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			redescribe(t, dir, m, func(s *cutlass.Sidecar) { s.Units = []string{"other"} })
		}, []string{"was altered", "gpk setup -compile"}},
		{"another library", func(t *testing.T, dir string, m kernelmodule.Module) {
			redescribe(t, dir, m, func(s *cutlass.Sidecar) { s.SHA256 = strings.Repeat("0", 64) })
		}, []string{"damaged or replaced", "gpk setup -compile"}},
		{"another kernel set", func(t *testing.T, dir string, m kernelmodule.Module) {
			redescribe(t, dir, m, func(s *cutlass.Sidecar) { s.KernelSet = "0123456789abcdef" })
		}, []string{"kernel set 0123456789abcdef", "gpk setup -compile"}},
		{"another target", func(t *testing.T, dir string, m kernelmodule.Module) {
			redescribe(t, dir, m, func(s *cutlass.Sidecar) { s.Archs = []string{"80"} })
		}, []string{"kernels for 80, not 90a", "gpk setup -compile"}},
		{"an old driver", func(t *testing.T, dir string, _ kernelmodule.Module) {
			if err := os.WriteFile(driverVersion, []byte("550.54.15\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"CUDA 13.0", "driver 580", "550.54.15", "gpk setup -compile"}},
		{"truncated library", func(t *testing.T, dir string, m kernelmodule.Module) {
			repack(t, dir, m, func(name string, content []byte) []byte {
				if name == cutlass.PrebuiltLibrary {
					return content[:len(content)/2]
				}
				return content
			})
		}, []string{"damaged", "gpk setup -compile"}},
		{"a companion without a description", func(t *testing.T, dir string, m kernelmodule.Module) {
			repack(t, dir, m, func(name string, content []byte) []byte {
				if name == "libgpk_fake.so.json" {
					return []byte("{}")
				}
				return content
			})
		}, []string{"its description cannot be used", "gpk setup -compile"}},
		{"truncated companion", func(t *testing.T, dir string, m kernelmodule.Module) {
			repack(t, dir, m, func(name string, content []byte) []byte {
				if name == "libgpk_fake.so.gz" {
					return content[:len(content)/2]
				}
				return content
			})
		}, []string{"damaged", "gpk setup -compile"}},
		{"truncated archive", func(t *testing.T, dir string, m kernelmodule.Module) {
			path := filepath.Join(dir, "proxy", m.Path, "@v", m.Version+".zip")
			if err := os.Truncate(path, 2000); err != nil {
				t.Fatal(err)
			}
		}, []string{"cannot unpack", "gpk setup -compile"}},
		{"a cache that others can write", func(t *testing.T, dir string, _ kernelmodule.Module) {
			cache := filepath.Join(dir, "cache")
			if err := errors.Join(os.Mkdir(cache, 0o700), os.Chmod(cache, 0o777)); err != nil {
				t.Fatal(err)
			}
		}, []string{"others can write", "chmod go-w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, m := released(t)
			c.change(t, dir, m)
			_, err := install(dir)
			if !errors.Is(err, ErrPrebuilt) {
				t.Fatalf("error %v, want ErrPrebuilt", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
			left, err := filepath.Glob(filepath.Join(dir, "cache", "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestPrebuiltMissing has no such version, and -compile: both compile, and say why.
func TestPrebuiltMissing(t *testing.T) {
	for _, compile := range []bool{false, true} {
		dir, m := released(t)
		if !compile {
			if err := os.RemoveAll(filepath.Join(dir, "proxy", m.Path)); err != nil {
				t.Fatal(err)
			}
		}
		var said bytes.Buffer
		_, err := build(dir, func(o *Options) { o.Compile, o.Progress = compile, &said })
		if err == nil || errors.Is(err, ErrPrebuilt) { // there is no compiler here
			t.Errorf("-compile=%v: %v", compile, err)
		}
		want := "compiling: no prebuilt kernels: "
		if compile {
			want = "compiling: -compile was given\n"
		}
		if !strings.Contains(said.String(), want) {
			t.Errorf("-compile=%v: said %q, want %q", compile, said.String(), want)
		}
	}
}
