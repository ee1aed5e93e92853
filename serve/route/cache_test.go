package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

func fakeFile(t *testing.T) cacheFile {
	host, gpu := fakes()
	h := headerOf(host, gpu)
	return cacheFile{h.path(t.TempDir()), h}
}

func TestCache(t *testing.T) {
	f := fakeFile(t)
	if _, err := f.read(); err == nil {
		t.Error("a file that is not there is read")
	}
	want := fakeTables()
	if err := f.write(want); err != nil {
		t.Fatal(err)
	}
	got, err := f.read()
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d curves of %d, %v", len(got), len(want), err)
	}
	for name, points := range want {
		for i, p := range points {
			if got[name][i] != p {
				t.Fatalf("%s: point %d is %v, want %v", name, i, got[name][i], p)
			}
		}
	}
	info, err := os.Stat(f.path)
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if err := (cacheFile{}).write(want); err == nil {
		t.Error("written without a cache folder")
	}
	if _, err := (cacheFile{}).read(); err == nil {
		t.Error("read without a cache folder")
	}
}

// TestCacheElsewhere checks that another device, driver, processor or kernel library has a
// cache file of its own, and does not use the file of another.
func TestCacheElsewhere(t *testing.T) {
	f := fakeFile(t)
	text, err := encode(f.header, fakeTables())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{f.path: true}
	for i, change := range []func(*header){
		func(h *header) { h.Version++ },
		func(h *header) { h.CPU = "another" },
		func(h *header) { h.Threads++ },
		func(h *header) { h.Arch = "another" },
		func(h *header) { h.GPU = "another" },
		func(h *header) { h.GPU = "" },
		func(h *header) { h.Driver = "590.2" },
		func(h *header) { h.Kernels = "another" },
		func(h *header) { h.Precision = "another" },
	} {
		h := f.header
		change(&h)
		path := h.path(filepath.Dir(filepath.Dir(f.path)))
		if seen[path] {
			t.Errorf("change %d has the file of another", i)
		}
		seen[path] = true
		if _, err := parse(text, h); err == nil {
			t.Errorf("change %d: the file of another is believed", i)
		}
	}
}

// TestCacheDamaged checks that a damaged cache file is ignored.
func TestCacheDamaged(t *testing.T) {
	f := fakeFile(t)
	text, err := encode(f.header, fakeTables())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parse(text, f.header); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, len(text) / 2, len(text) - 1} {
		if _, err := parse(text[:n], f.header); err == nil {
			t.Errorf("the first %d of %d bytes are believed", n, len(text))
		}
	}
	for name, change := range map[string]func(document){
		"missing":         func(d document) { delete(d.Curves, upName) },
		"unknown":         func(d document) { d.Curves["cpu elementwise float31"] = [][2]float64{{1, 1}} },
		"without sense":   func(d document) { d.Curves["cpu smooth int8"] = [][2]float64{{1, 1}} },
		"empty":           func(d document) { d.Curves[upName] = nil },
		"many":            func(d document) { d.Curves[upName] = rampOf(maxPoints + 1) },
		"work repeats":    func(d document) { d.Curves[upName] = [][2]float64{{1, 1}, {1, 2}} },
		"work falls":      func(d document) { d.Curves[upName] = [][2]float64{{2, 1}, {1, 2}} },
		"no work":         func(d document) { d.Curves[upName] = [][2]float64{{0, 1}} },
		"huge work":       func(d document) { d.Curves[upName] = [][2]float64{{1e300, 1}} },
		"no time":         func(d document) { d.Curves[upName] = [][2]float64{{1, 0}} },
		"negative time":   func(d document) { d.Curves[upName] = [][2]float64{{1, -1}} },
		"too long a time": func(d document) { d.Curves[upName] = [][2]float64{{1, 1e5}} },
	} {
		var d document
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		change(d)
		damaged, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(damaged, f.header); err == nil {
			t.Errorf("%s: believed", name)
		}
	}
	large := append(bytes.Clone(text), bytes.Repeat([]byte(" "), cacheBytes)...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(f.path), 0o700), os.WriteFile(f.path, large, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(); err == nil {
		t.Error("a large file is believed")
	}
	if len(text) > cacheBytes/8 {
		t.Errorf("a file takes %d bytes", len(text))
	}
}

func rampOf(n int) (points [][2]float64) {
	for i := range n {
		points = append(points, [2]float64{float64(i + 1), 1})
	}
	return points
}

// TestNoRegularFile puts a folder in the place of the file.
func TestNoRegularFile(t *testing.T) {
	f := fakeFile(t)
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.read(); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("a folder is read: %v", err)
	}
	if err := f.write(fakeTables()); err == nil {
		t.Error("a folder is replaced")
	}
}

// TestCalibrateFromCache has nothing measured: the file tells it all.
func TestCalibrateFromCache(t *testing.T) {
	t.Setenv("GPK_CACHE", t.TempDir())
	host := devicetest.CPU(t)
	_, gpu := fakes()
	h := headerOf(host, gpu)
	f := cacheFile{h.path(os.Getenv("GPK_CACHE")), h}
	if err := f.write(fakeTables()); err != nil {
		t.Fatal(err)
	}
	m, err := Calibrate(t.Context(), gpu)
	if err != nil {
		t.Fatal(err)
	}
	d := m.Decide(Op{Name: "MatMul", Elements: 1 << 20, Bytes: 3 << 22, Flops: 2 << 30, DType: dtype.Float32, Resident: gpu})
	if seconds := d.OnCPU.Seconds(); math.Abs(seconds/(2<<30/1e11)-1) > 0.01 || d.Device != gpu || m.host != host {
		t.Errorf("%+v", d)
	}
}

func TestCalibrateErrors(t *testing.T) {
	if _, err := Calibrate(nil, nil); err == nil { //nolint:staticcheck // the test's subject
		t.Error("a nil context is accepted")
	}
	if _, err := Calibrate(context.Background(), new(device.Device)); err == nil {
		t.Error("the zero device is accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv("GPK_CACHE", t.TempDir())
	host := devicetest.CPU(t)
	before := devicetest.InUse(t, host)
	if _, err := Calibrate(ctx, host); err == nil || ctx.Err() == nil {
		t.Errorf("with a context that has ended: %v", err)
	}
	if after := host.Pool().InUse; after > before {
		t.Errorf("%d bytes are left over", after-before)
	}
}

// FuzzParse checks that any file content gives an error or a model that predicts finite
// times.
func FuzzParse(f *testing.F) {
	host, gpu := fakes()
	h := headerOf(host, gpu)
	text, err := encode(h, fakeTables())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}"))
	f.Add([]byte(`{"header":{},"curves":{"copy up":[[1,1e-300]]}}`))
	f.Add(bytes.Replace(text, []byte("e-05"), []byte("e+05"), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parse(text, h)
		if err != nil {
			return
		}
		m := newModel(host, gpu)
		m.available = func() (int64, error) { return 1 << 30, nil }
		m.set(found)
		for _, dt := range dtype.All {
			for _, n := range []int64{0, 1, 1 << 20, math.MaxInt64} {
				for _, where := range []*device.Device{nil, gpu} {
					d := m.Decide(Op{Name: "MatMul", Elements: n, Bytes: n, Flops: n, DType: dt, Resident: where})
					if d.OnCPU < 0 || d.OnGPU < 0 || d.Copy < 0 || d.Device != host && d.Device != gpu {
						t.Fatalf("%+v", d)
					}
				}
			}
		}
	})
}
