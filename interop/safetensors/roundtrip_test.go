package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/testrand"
)

func contains(err error, parts ...string) bool {
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			return false
		}
	}
	return true
}

// random returns an array of any bits.
func random(r *rand.Rand, dt gpk.DType, shape []int) *gpk.Array {
	n := dt.Size()
	for _, d := range shape {
		n *= d
	}
	b := make([]byte, n)
	for i := range b {
		if b[i] = byte(r.Uint32()); dt == gpk.Bool {
			b[i] &= 1
		}
	}
	return arraytest.FromBytes(dt, b, shape...)
}

// written are the types that both have.
var written = slices.DeleteFunc(slices.Clone(dtype.All[:]), func(dt gpk.DType) bool { return dt == gpk.Complex128 })

// TestRoundTrip writes arrays of all types, random shapes and any bits, and reads the
// same.
func TestRoundTrip(t *testing.T) {
	r, path := testrand.New(t), filepath.Join(t.TempDir(), "x.safetensors")
	for round := range 30 {
		want := map[string]*gpk.Array{}
		for i := range r.IntN(20) {
			shape := make([]int, r.IntN(5))
			for d := range shape {
				shape[d] = r.IntN(9)
			}
			dt := written[r.IntN(len(written))]
			want[fmt.Sprintf("%d %v %v", i, dt, shape)] = random(r, dt, shape)
		}
		if round == 0 { // pieces: one, one and a bit, many
			for i, n := range []int{slotBytes, slotBytes + 1, 5*slotBytes - 3} {
				want[fmt.Sprint("large", i)] = random(r, gpk.Uint8, []int{n})
			}
		}
		if err := WriteFile(path, want, nil); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.LoadAll()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d of %d arrays, %v", len(got), len(want), err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for name, a := range want {
			if !same(t, got[name], a) {
				t.Errorf("%s: %v, want %v", name, got[name], a)
			}
		}
		var b, again bytes.Buffer
		if err := errors.Join(Write(&b, got, nil), Write(&again, want, nil)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(b.Bytes(), text) || !bytes.Equal(again.Bytes(), text) {
			t.Fatalf("the same arrays make other bytes: %v", err)
		}
		if n := binary.LittleEndian.Uint64(text); n%8 != 0 {
			t.Errorf("a header of %d bytes", n)
		}
	}
}

// TestLoaded: what is loaded is an array like any other: it is written in place, freed,
// and does not depend on the file.
func TestLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, map[string]*gpk.Array{"w": gpk.Arange(gpk.Float32, 5)}, nil); err != nil {
		t.Fatal(err)
	}
	f := opened(t, path)
	w, err := f.Load("w")
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Load("w")
	if err != nil {
		t.Fatal(err)
	}
	y := w.Add(1)
	if err := w.AddInPlace(10); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	for a, want := range map[*gpk.Array]float64{w: 10, y: 1, again: 0} {
		if !same(t, a, gpk.Arange(gpk.Float32, 5).Add(want)) {
			t.Errorf("%v, want %v more than 0 to 4", a, want)
		}
	}
	w.Free()
	if _, err := gpk.ToSlice[float32](w); !errors.Is(err, gpk.ErrFreed) {
		t.Error(err)
	}
}

// TestViews: views and pending arrays are written as their elements in row-major order,
// and stay as they are.
func TestViews(t *testing.T) {
	x := gpk.Arange(gpk.Float32, 24).Reshape(4, 6)
	views := map[string]*gpk.Array{
		"turned": x.T(), "part": x.Slice(0, 1, 3).Slice(1, 5, 0, -2), "one": gpk.Ones(gpk.Float32, 1).BroadcastTo(3, 4),
		"pending": x.Add(1).Mul(2), "dense": x, "scalar": x.Sum(), "flipped": x.Flip(1).Cast(gpk.Bool),
	}
	want := map[string][]byte{}
	for name, a := range views {
		want[name] = arraytest.Bytes(t, a.Clone())
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, views, map[string]string{"b": "2", "a": "1"}); err != nil {
		t.Fatal(err)
	}
	f := opened(t, path)
	for name, a := range views {
		got, err := f.Load(name)
		if err != nil || !bytes.Equal(arraytest.Bytes(t, got), want[name]) || !slices.Equal(got.Shape(), a.Shape()) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if !bytes.Equal(arraytest.Bytes(t, a), want[name]) {
			t.Errorf("%s has become %v", name, a)
		}
	}
}

// TestBool: a byte that is neither 0 nor 1 is true.
func TestBool(t *testing.T) {
	h := header{entries: []entry{{name: "b", format: formatAt(t, gpk.Bool), shape: []int{5}, end: 5}}}
	text, err := h.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, append(text, 0, 1, 2, 255, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := opened(t, path).Load("b")
	if err != nil || !bytes.Equal(arraytest.Bytes(t, a), []byte{0, 1, 1, 1, 0}) {
		t.Errorf("%v, %v", a, err)
	}
}

func formatAt(t *testing.T, dt gpk.DType) int {
	i, err := formatOf(dt)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestReverse: a machine of the other byte order turns the halves of complex numbers.
func TestReverse(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	reverse(b, gpk.Complex64.Real().Size())
	if !bytes.Equal(b, []byte{4, 3, 2, 1, 8, 7, 6, 5}) {
		t.Errorf("%v", b)
	}
	if reverse(b, gpk.Int8.Size()); b[0] != 4 {
		t.Errorf("%v", b)
	}
}

// TestRefused checks that arrays that cannot be written are refused before any write, and
// that the existing file remains.
func TestRefused(t *testing.T) {
	x, freed := gpk.Ones(gpk.Float32, 2), gpk.Ones(gpk.Float32, 2)
	freed.Free()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, map[string]*gpk.Array{"x": x}, nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arrays   map[string]*gpk.Array
		metadata map[string]string
		want     error
	}{
		"complex128":   {map[string]*gpk.Array{"a": x, "c": gpk.Ones(gpk.Complex128, 2)}, nil, gpk.ErrDType},
		"nil":          {map[string]*gpk.Array{"a": nil}, nil, gpk.ErrShape},
		"failed":       {map[string]*gpk.Array{"a": x.Reshape(3)}, nil, gpk.ErrShape},
		"freed":        {map[string]*gpk.Array{"a": freed}, nil, gpk.ErrFreed},
		"reserved":     {map[string]*gpk.Array{"__metadata__": x}, nil, gpk.ErrUnsupported},
		"name":         {map[string]*gpk.Array{"\xff": x}, nil, gpk.ErrUnsupported},
		"text":         {nil, map[string]string{"a": "\xff"}, gpk.ErrUnsupported},
		"key":          {nil, map[string]string{"\xff": "a"}, gpk.ErrUnsupported},
		"large header": {nil, map[string]string{"a": strings.Repeat("a", maxHeader)}, gpk.ErrUnsupported},
	} {
		var b bytes.Buffer
		err := Write(&b, c.arrays, c.metadata)
		if !errors.Is(err, c.want) || b.Len() > 0 || !contains(err, "roundtrip_test.go:") || contains(err, "write.go") {
			t.Errorf("%s: %d bytes, %v", name, b.Len(), err)
		}
		if err := WriteFile(path, c.arrays, c.metadata); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Write(nil, nil, nil); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file is another: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
