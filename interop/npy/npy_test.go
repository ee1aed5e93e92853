package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/x448/float16"
)

// The files under testdata were written by NumPy 2.2.

func testFile[T gpk.Elem](t *testing.T, name string, shape []int, want ...T) {
	t.Helper()
	a, err := ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := arraytest.Elements[T](t, a); !slices.Equal(a.Shape(), shape) || !slices.Equal(got, want) {
		t.Errorf("%s: %v %v, want %v %v", name, a.Shape(), got, shape, want)
	}
	// What is written is read again, and NumPy's own bytes come out.
	var b bytes.Buffer
	if err := Write(&b, a); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(name, "_") && !bytes.Equal(b.Bytes(), text) {
		t.Errorf("%s: written otherwise:\n%q\n%q", name, b.Bytes(), text)
	}
	again, err := Read(&b)
	if err != nil || !slices.Equal(arraytest.Elements[T](t, again), want) || !slices.Equal(again.Shape(), shape) {
		t.Errorf("%s: written and read: %v", name, err)
	}
}

func TestFiles(t *testing.T) {
	var half []float16.Float16
	for _, v := range []float32{-.5, 0, .5, 1, 1.5, -.5} {
		half = append(half, float16.Fromfloat32(v))
	}
	m := []int{2, 3}
	testFile(t, "f2.npy", m, half...)
	testFile[float32](t, "f4.npy", m, -.5, 0, .5, 1, 1.5, -.5)
	testFile(t, "f8.npy", m, -.5, 0, .5, 1, 1.5, -.5)
	testFile[int8](t, "i1.npy", m, -1, 0, 1, 2, 3, -1)
	testFile[uint8](t, "u1.npy", m, 0, 1, 0, 1, 0, 1)
	testFile[int16](t, "i2.npy", []int{3}, 0, 1, 2)
	testFile[uint16](t, "u2.npy", m, math.MaxUint16, 0, 1, 2, 3, math.MaxUint16-1)
	testFile[uint32](t, "u4.npy", m, math.MaxUint32, 0, 1, 2, 3, math.MaxUint32-1)
	testFile[uint64](t, "u8.npy", m, math.MaxUint64, 0, 1, 2, 3, math.MaxUint64-1)
	testFile[uint64](t, "u8_big.npy", []int{2}, 1<<63, 1)
	testFile[int32](t, "i4.npy", m, -1, 0, 1, 2, 3, -1)
	testFile[int64](t, "i8.npy", m, -1, 0, 1, 2, 3, -1)
	testFile(t, "b1.npy", m, false, true, false, true, false, true)
	testFile[complex64](t, "c8.npy", m, -1, .5i, 1+1i, 2+1.5i, 3+2i, -1+2.5i)
	testFile(t, "c16.npy", m, -1, .5i, 1+1i, 2+1.5i, 3+2i, -1+2.5i)
	testFile[float32](t, "f4_big.npy", m, 0, .5, 1, 1.5, 2, 2.5)
	testFile(t, "c16_big.npy", m, 0, .5+1i, 1+2i, 1.5+3i, 2+4i, 2.5+5i)
	var count []float64
	for i := range 24 {
		count = append(count, float64(i))
	}
	testFile(t, "f8_fortran.npy", []int{2, 3, 4}, count...)
	testFile(t, "f8_scalar.npy", []int{}, 2.5)
	testFile[float64](t, "f8_empty.npy", []int{0, 3})
	testFile[float64](t, "f8_vector.npy", []int{3}, 0, 1, 2)
	testFile[float32](t, "f4_v2.npy", []int{4}, 0, 1, 2, 3)
	testFile[float32](t, "f4_v3.npy", []int{4}, 0, 1, 2, 3)
}

func TestZip(t *testing.T) {
	arrays, err := ReadZipFile("testdata/two.npz")
	if err != nil || len(arrays) != 2 {
		t.Fatalf("%v, %v", arrays, err)
	}
	if x, k := arraytest.Elements[float64](t, arrays["x"]), arraytest.Elements[float32](t, arrays["k"]); !slices.Equal(x, []float64{0, 1, 2, 3}) || !slices.Equal(k, []float32{1, 0, 0, 1}) {
		t.Errorf("x %v, k %v", x, k)
	}
	packed, err := ReadZipFile("testdata/packed.npz")
	if err != nil || packed["zeros"].Size() != 10000 {
		t.Errorf("%v, %v", packed, err)
	}
	path := filepath.Join(t.TempDir(), "out.npz")
	if err := WriteZipFile(path, arrays); err != nil {
		t.Fatal(err)
	}
	again, err := ReadZipFile(path)
	if err != nil || !slices.Equal(arraytest.Elements[float32](t, again["k"]), []float32{1, 0, 0, 1}) {
		t.Errorf("%v, %v", again, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text { // one damaged byte is found, or changes no array
		damaged := slices.Clone(text)
		damaged[i] ^= 0x10
		got, _ := ReadZip(bytes.NewReader(damaged), int64(len(damaged)))
		for name, a := range got {
			if want := arrays[name]; want != nil && a.DType() == gpk.Float64 && !slices.Equal(arraytest.Elements[float64](t, a), arraytest.Elements[float64](t, want)) {
				t.Errorf("byte %d: %s is wrong and no error", i, name)
			}
		}
	}
	if err := WriteZip(io.Discard, map[string]*gpk.Array{"": gpk.Ones(gpk.Float32, 1)}); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("no name: %v", err)
	}
}

// TestZipPartly reads a .npz whose members are, by turns, arrays and something else.
func TestZipPartly(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	member := func(name, content string) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	array := func(values ...float32) string {
		var out bytes.Buffer
		if err := Write(&out, gpk.FromSlice(values)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	objects := "\x93NUMPY\x01\x00v\x00" + fmt.Sprintf("%-117s\n", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + "\x80\x04N."
	member("a.npy", array(1, 2))
	member("objects.npy", objects)
	member("note.txt", "no array")
	member("cut.npy", array(3, 4)[:130])
	member("long.npy", array(3, 4)+"x")
	member("a.npy", array(5))
	member("minor.npy", strings.Replace(array(6), "\x01\x00", "\x01\x01", 1))
	member("b.npy", array(7))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if len(got) != 2 || !slices.Equal(arraytest.Elements[float32](t, got["a"]), []float32{1, 2}) || !slices.Equal(arraytest.Elements[float32](t, got["b"]), []float32{7}) {
		t.Errorf("%v", got)
	}
	if !errors.Is(err, gpk.ErrDType) { // objects.npy holds Python objects
		t.Fatalf("%v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	for i, name := range []string{"objects.npy: ", "cut.npy: ", "long.npy: ", "a.npy: ", "minor.npy: "} {
		if len(lines) != 5 || !strings.HasPrefix(lines[i], name) {
			t.Errorf("line %d of %d does not name %s: %v", i, len(lines), name, err)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, shape := range [][]int{nil, {3}, {2, 3}, {0, 3}, {1, 2, 3, 4, 5}, slices.Repeat([]int{1}, 64)} {
		h, err := Header(gpk.Float32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		if len(h)%64 != 0 || h[len(h)-1] != '\n' {
			t.Errorf("%v: %d bytes", shape, len(h))
		}
		d, err := readHeader(bytes.NewReader(h))
		if err != nil || !slices.Equal(d.shape, shape) || d.dt != gpk.Float32 || d.fortran || d.swap {
			t.Errorf("%v: %+v, %v", shape, d, err)
		}
	}
	if _, err := Header(gpk.BFloat16, 3); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("bfloat16: %v", err)
	}
	if _, err := Header(gpk.Float32, -3); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("a negative length: %v", err)
	}
	if err := Write(io.Discard, gpk.FromSlice([]bfloat16.BFloat16{0})); !errors.Is(err, gpk.ErrDType) || !strings.Contains(err.Error(), "Cast") {
		t.Errorf("bfloat16: %v", err)
	}
	if err := Write(io.Discard, nil); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("nil: %v", err)
	}
	if err := Write(io.Discard, gpk.Ones(gpk.Float32, 2).Reshape(3)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("a failed array: %v", err)
	}
}

// file makes a .npy file with any header.
func file(header string, data []byte) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func TestDamaged(t *testing.T) {
	good := func(shape string) string {
		return fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }\n", shape)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"empty":          {nil, ErrFormat, "ends before"},
		"text":           {[]byte("1.0,2.0,3.0\n"), ErrFormat, "begins with"},
		"version":        {[]byte(magic + "\x09\x00\x00\x00"), ErrFormat, "version 9.0"},
		"no header":      {[]byte(magic + "\x01\x00"), ErrFormat, "in its header"},
		"half a header":  {file(good("2,"), nil)[:40], ErrFormat, "in its header"},
		"huge header":    {[]byte(magic + "\x02\x00\xff\xff\xff\xff"), ErrFormat, "header of"},
		"truncated":      {file(good("2, 3"), make([]byte, 23)), ErrFormat, "6 elements"},
		"huge":           {file(good("1000000000000, 1000"), make([]byte, 100)), ErrFormat, "elements"},
		"overflow":       {file(good("4611686018427387904, 4611686018427387904"), nil), ErrFormat, "shape"},
		"a number":       {file(good("99999999999999999999"), nil), ErrFormat, "length"},
		"negative":       {file(good("-1"), nil), ErrFormat, "length"},
		"not a tuple":    {file("{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", nil), ErrFormat, "should be"},
		"no shape":       {file("{'descr': '<f4', 'fortran_order': False}", nil), ErrFormat, "lacks"},
		"twice":          {file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", nil), ErrFormat, "twice"},
		"another entry":  {file("{'descr': '<f4', 'order': False, 'shape': ()}", nil), ErrFormat, "order"},
		"order":          {file("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", nil), ErrFormat, "fortran_order"},
		"byte order":     {file("{'descr': '!f4', 'fortran_order': False, 'shape': ()}", nil), ErrFormat, "byte order"},
		"rest":           {file(good("2,")+"x", make([]byte, 8)), ErrFormat, "after the header"},
		"no end":         {file("{'descr': '<f4", nil), ErrFormat, "does not end"},
		"axes":           {file(good(strings.Repeat("1, ", 70)), make([]byte, 4)), ErrFormat, "axes"},
		"type":           {file("{'descr': '<f12', 'fortran_order': False, 'shape': (1,)}", make([]byte, 12)), gpk.ErrDType, "astype"},
		"short type":     {file("{'descr': 'f', 'fortran_order': False, 'shape': (1,)}", make([]byte, 2)), ErrFormat, "elements of"},
		"objects":        {file("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", make([]byte, 2)), gpk.ErrDType, "|O"},
		"structures":     {file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", make([]byte, 4)), gpk.ErrUnsupported, "structures"},
		"zero and large": {file(good("0, 9000000000000000000, 9000000000000000000"), nil), nil, ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := Read(bytes.NewReader(c.data))
		runtime.ReadMemStats(&after)
		if c.want == nil && err != nil && !errors.Is(err, gpk.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != nil && (a != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, error %v", name, a, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, n, len(c.data))
		}
	}
	for _, name := range []string{"text.npy", "object.npy", "struct.npy"} {
		if _, err := ReadFile(filepath.Join("testdata", name)); !errors.Is(err, gpk.ErrDType) && !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file on a disk is compared with its length, both ways.
	for _, n := range []int{0, 23, 25, 100} {
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(path, file(good("2, 3"), make([]byte, n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "24 bytes") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "absent.npy")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, f := range []string{"testdata/f4.npy", filepath.Join(t.TempDir(), "absent.npz")} {
		if _, err := ReadZipFile(f); err == nil {
			t.Errorf("%s is a .npz", f)
		}
	}
}

// failing fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	a := gpk.Ones(gpk.Float32, 1000)
	for _, n := range []int{0, 100, 2000} {
		if err := Write(&failing{n}, a); err == nil {
			t.Errorf("written into %d bytes", n)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "k.npy")
	if err := WriteFile(path, a); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, gpk.FromSlice([]bfloat16.BFloat16{0})); err == nil {
		t.Error("bfloat16 was written")
	}
	if err := WriteFile(filepath.Join(dir, "no", "k.npy"), a); err == nil {
		t.Error("written into no folder")
	}
	if b, err := ReadFile(path); err != nil || b.Size() != 1000 {
		t.Errorf("the old file is gone: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// FuzzRead reads any input: it does not panic, uses no more memory than the input allows,
// and an array that was read can be written and read again.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.np?")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 2000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := Read(bytes.NewReader(b)); err == nil {
			if a.NBytes() > len(b) {
				t.Fatalf("%d bytes of elements out of %d", a.NBytes(), len(b))
			}
			var out bytes.Buffer
			if err := Write(&out, a); err != nil {
				t.Fatal(err)
			}
			again, err := Read(&out)
			if err != nil || again.DType() != a.DType() || !slices.Equal(again.Shape(), a.Shape()) {
				t.Fatalf("%v %v became %v %v: %v", a.Shape(), a.DType(), again.Shape(), again.DType(), err)
			}
		}
		if arrays, err := ReadZip(bytes.NewReader(b), int64(len(b))); err == nil {
			for _, a := range arrays {
				if a.Err() != nil {
					t.Fatal(a.Err())
				}
			}
		}
	})
}
