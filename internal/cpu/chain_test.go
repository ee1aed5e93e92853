package cpu

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestChainScratch checks a large reduction over leading dimensions: it takes the memory
// that it needs from Scratch, frees it, and has the bits of the reduction of stored elements.
// An error of Scratch is returned.
func TestChainScratch(t *testing.T) {
	rng := testrand.New(t)
	shape, strides := []int{4000, 77}, []int{77, 1}
	x, sum := make([]float32, 4000*77), make([]float32, 4000*77)
	for i := range x {
		x[i] = rng.Float32()
		sum[i] = x[i] + x[i]
	}
	p := &expr.Program{
		Leaves:    []expr.Leaf{{DType: dtype.Float32}},
		Steps:     []expr.Step{{Op: expr.Add, DType: dtype.Float32, Args: [3]expr.Ref{{Kind: expr.ToLeaf}, {Kind: expr.ToLeaf}}, N: 2}},
		Rank:      2,
		Reduction: expr.Reduction{Op: expr.Sum, DType: dtype.Float32, Over: expr.OverFirst},
	}
	taken, freed := 0, 0
	c := Chain{Program: p, Shape: shape, Leaves: []ChainLeaf{{at0(x), strides}}}
	c.Scratch = func(bytes int) (unsafe.Pointer, func(), error) {
		taken++
		if bytes != 4*len(x) {
			t.Errorf("%d bytes, want %d", bytes, 4*len(x))
		}
		return unsafe.Pointer(&make([]byte, bytes)[0]), func() { freed++ }, nil
	}
	got, want := make([]float32, 77), make([]float32, 77)
	if err := c.Reduce(1, at0(got)); err != nil {
		t.Fatal(err)
	}
	if err := Reduce(expr.Sum, dtype.Float32, dtype.Float32, shape, 1, at0(sum), strides, at0(want)); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != want[i] || got[i] == 0 {
			t.Fatalf("column %d: %v, want %v", i, got[i], want[i])
		}
	}
	if taken != 1 || freed != 1 {
		t.Errorf("%d taken, %d freed", taken, freed)
	}
	full := errors.New("full")
	c = Chain{Program: p, Shape: shape, Leaves: c.Leaves, Scratch: func(int) (unsafe.Pointer, func(), error) { return nil, nil, full }}
	if err := c.Reduce(1, at0(got)); err != full {
		t.Errorf("%v, want %v", err, full)
	}
}
