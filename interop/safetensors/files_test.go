package safetensors

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/x448/float16"
)

// The files under testdata were written by make.py there, with Python's safetensors.

const strange = "é \"\\/\n\t\x01\x7f \u2028 <&> 世 😀"

func opened(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// same reports whether two arrays have one type, shape and bits.
func same(t testing.TB, a, b *gpk.Array) bool {
	t.Helper()
	return a.DType() == b.DType() && slices.Equal(a.Shape(), b.Shape()) && bytes.Equal(arraytest.Bytes(t, a), arraytest.Bytes(t, b))
}

// reference returns the arrays that make.py writes to types.safetensors.
func reference() map[string]*gpk.Array {
	numbers := gpk.FromSlice([]float32{0, 1, 2, 3, 4, 100}, 2, 3)
	half := make([]float16.Float16, 6)
	for i, x := range []float32{0, 1, 2, 3, 4, 100} {
		half[i] = float16.Fromfloat32(x)
	}
	return map[string]*gpk.Array{
		"float32":      numbers,
		"float64":      gpk.FromSlice([]float64{0, 1, 2, 3, 4, 100}, 2, 3),
		"float16":      gpk.FromSlice(half, 2, 3),
		"bfloat16":     numbers.Cast(gpk.BFloat16),
		"int8":         gpk.FromSlice([]int8{0, 1, 2, 3, 4, 100}, 2, 3),
		"uint8":        gpk.FromSlice([]uint8{0, 1, 2, 3, 4, 100}, 2, 3),
		"int32":        gpk.FromSlice([]int32{0, 1, 2, 3, 4, 100}, 2, 3),
		"int64":        gpk.FromSlice([]int64{0, 1, 2, 3, 4, 100}, 2, 3),
		"bool":         gpk.FromSlice([]bool{false, true, true, true, true, true}, 2, 3),
		"complex64":    gpk.FromSlice([]complex64{3i, 1 + 4i, 2 + 100i, 3, 4 + 1i, 100 + 2i}, 2, 3),
		"scalar":       gpk.Full(gpk.Float32, 2.5),
		"empty":        gpk.Zeros(gpk.Float32, 3, 0, 2),
		"empty vector": gpk.Zeros(gpk.Int64, 0),
		"five axes":    gpk.Arange(gpk.Int32, 6).Reshape(1, 2, 1, 3, 1),
		strange:        gpk.FromSlice([]uint8{7}),
	}
}

// TestTypes reads every type that gpk has from a file of the reference implementation,
// and writes the same bytes.
func TestTypes(t *testing.T) {
	f, want := opened(t, "testdata/types.safetensors"), reference()
	if names := f.Names(); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		t.Errorf("names %q", names)
	}
	metadata := map[string]string{"format": "é \"\\\n<&>"}
	if m := f.Metadata(); !maps.Equal(m, metadata) {
		t.Errorf("metadata %q", m)
	}
	all, err := f.LoadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range want {
		one, err := f.Load(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if !same(t, one, a) || !same(t, all[name], a) {
			t.Errorf("%q: %v and %v, want %v", name, one, all[name], a)
		}
		info, err := f.Info(name)
		if err != nil || info.Name != name || info.DType != a.DType() || !slices.Equal(info.Shape, a.Shape()) ||
			info.Bytes != int64(a.NBytes()) || info.Path != f.path {
			t.Errorf("%q: %+v, %v", name, info, err)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, want, metadata); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/types.safetensors")
	if err != nil || !bytes.Equal(b.Bytes(), text) {
		t.Errorf("written otherwise, %v:\n%q\n%q", err, b.Bytes(), text)
	}
}

// TestOther checks that types that gpk lacks are listed, but not loaded.
func TestOther(t *testing.T) {
	f := opened(t, "testdata/other.safetensors")
	for _, name := range f.Names() {
		info, err := f.Info(name)
		if err != nil || info.Format != name {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		a, err := f.Load(name)
		switch name {
		case "I64", "BOOL", "I16", "U16", "U32", "U64":
			if err != nil || !slices.Equal(a.Shape(), []int{2, 3}) || a.DType() != info.DType {
				t.Errorf("%s: %v, %v", name, a, err)
			}
		default:
			if !errors.Is(err, gpk.ErrDType) || !contains(err, "gpk has no "+name, "tensor \""+name, "other.safetensors") || info.DType.Valid() {
				t.Errorf("%s: %v, %v", name, a, err)
			}
		}
	}
	if _, err := f.LoadAll(); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("all: %v", err)
	}
	some, err := f.LoadAll(Only("BOOL", "I64", "BOOL"))
	if err != nil || len(some) != 2 || some["I64"].Size() != 6 {
		t.Errorf("some: %v, %v", some, err)
	}
	if info, _ := f.Info("F4"); info.Bytes != 2 || !slices.Equal(info.Shape, []int{4}) {
		t.Errorf("%+v", info)
	}
}

// TestFolder opens a folder, an index, and the files that it lists.
func TestFolder(t *testing.T) {
	for path, want := range map[string]map[string]string{
		"testdata/model":                                     {"w": "model.safetensors"},
		"testdata/model/model.safetensors":                   {"w": "model.safetensors"},
		"testdata/none.safetensors":                          {},
		"testdata/sharded":                                   {"a.weight": "model-00001-of-00002.safetensors", "a.bias": "model-00001-of-00002.safetensors", "b.weight": "model-00002-of-00002.safetensors"},
		"testdata/sharded/model.safetensors.index.json":      {"a.weight": "model-00001-of-00002.safetensors", "a.bias": "model-00001-of-00002.safetensors", "b.weight": "model-00002-of-00002.safetensors"},
		"testdata/sharded/model-00002-of-00002.safetensors/": {"b.weight": "model-00002-of-00002.safetensors"},
	} {
		f := opened(t, filepath.Clean(path))
		if !slices.Equal(f.Names(), slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: %q", path, f.Names())
		}
		for name, file := range want {
			info, err := f.Info(name)
			a, err2 := f.Load(name)
			if err := errors.Join(err, err2); err != nil || filepath.Base(info.Path) != file {
				t.Errorf("%s: %s: %+v, %v", path, name, info, err)
			}
			if !slices.Equal(a.Shape(), info.Shape) {
				t.Errorf("%s: %s: %v", path, name, a)
			}
		}
		var order []string
		err := f.Each(func(name string, a *gpk.Array) error {
			order = append(order, name)
			a.Free()
			return nil
		})
		if err != nil || len(order) != len(want) || len(want) == 3 && !slices.Equal(order, []string{"a.weight", "a.bias", "b.weight"}) {
			t.Errorf("%s: %q, %v", path, order, err)
		}
	}
	f := opened(t, "testdata/sharded")
	if m := f.Metadata(); !maps.Equal(m, map[string]string{"format": "pt", "file": "model-00001-of-00002.safetensors"}) {
		t.Errorf("metadata %q", m)
	}
	b, err := f.Load("b.weight")
	if err != nil || !same(t, b, gpk.Arange(gpk.Int64, 4)) {
		t.Errorf("%v, %v", b, err)
	}
	for _, path := range []string{t.TempDir(), "testdata/nowhere", "testdata/sharded/"} {
		if f, err := Open(path); err == nil {
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := f.Load("c"); !errors.Is(err, fs.ErrNotExist) || !contains(err, `no tensor "c"`) {
		t.Error(err)
	}
	if _, err := f.LoadAll(Only("a.bias", "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := f.Load("a.bias", Only("a.bias")); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
	if all, err := f.LoadAll(Only()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestEachStops: an error of the function ends it and is returned as it is; what the
// function does not get is freed.
func TestEachStops(t *testing.T) {
	f, stop, n := opened(t, "testdata/types.safetensors"), errors.New("stop"), 0
	if err := f.Each(func(string, *gpk.Array) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if err := f.Each(nil); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
}
