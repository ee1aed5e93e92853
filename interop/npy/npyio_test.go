package npy

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/sbinet/npyio/npy"

	"github.com/gpk-go/gpk"
)

// agree makes npyio read this package's output, and this package npyio's output, for n
// random elements.
func agree[T gpk.Elem](t *testing.T, name string, n int, draw func() T) {
	t.Helper()
	want := make([]T, n)
	for i := range want {
		want[i] = draw()
	}
	var ours bytes.Buffer
	if err := Write(&ours, gpk.FromSlice(want)); err != nil {
		t.Errorf("%s: Write: %v", name, err)
		return
	}
	var got []T
	if err := npy.Read(bytes.NewReader(ours.Bytes()), &got); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: npyio reads %v, %v; want %v", name, got, err, want)
	}
	var theirs bytes.Buffer
	if err := npy.Write(&theirs, want); err != nil {
		t.Errorf("%s: npyio writes: %v", name, err)
		return
	}
	a, err := Read(&theirs)
	if err != nil {
		t.Errorf("%s: Read: %v", name, err)
		return
	}
	if back := arraytest.Elements[T](t, a); !slices.Equal(back, want) {
		t.Errorf("%s: Read gives %v; want %v", name, back, want)
	}
}

// TestNpyio holds the package against npyio, on the types that it has.
func TestNpyio(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{1, 2, 1000} {
		agree(t, "float32", n, func() float32 { return float32(r.NormFloat64()) })
		agree(t, "float64", n, r.NormFloat64)
		agree(t, "int8", n, func() int8 { return int8(r.Uint32()) })
		agree(t, "uint8", n, func() uint8 { return uint8(r.Uint32()) })
		agree(t, "int32", n, func() int32 { return int32(r.Uint32()) })
		agree(t, "int16", n, func() int16 { return int16(r.Uint32()) })
		agree(t, "uint16", n, func() uint16 { return uint16(r.Uint32()) })
		agree(t, "uint32", n, r.Uint32)
		agree(t, "uint64", n, r.Uint64)
		agree(t, "int64", n, func() int64 { return int64(r.Uint64()) })
		agree(t, "bool", n, func() bool { return r.Uint32()&1 == 0 })
		agree(t, "complex64", n, func() complex64 { return complex(float32(r.NormFloat64()), float32(r.NormFloat64())) })
		agree(t, "complex128", n, func() complex128 { return complex(r.NormFloat64(), r.NormFloat64()) })
	}
}
