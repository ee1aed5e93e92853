package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestChainRows compares chains of strided operands with the same chains of dense copies.
// TestTiles compares the latter with single elements.
func TestChainRows(t *testing.T) {
	rng := testrand.New(t)
	taken := 0
	for range 400 {
		taken += testChainRows(t, rng, dtype.Float32, math.Float32bits)
		taken += testChainRows(t, rng, dtype.Float64, math.Float64bits)
	}
	if vectorAVX && taken < 200 {
		t.Errorf("%d of 800 chains went row by row", taken)
	}
}

// matrices is a three-dimensional operand with padding around its rows.
type matrices[T any] struct {
	data    []T
	strides []int
}

func (m *matrices[T]) at(i, j, k int) *T {
	return &m.data[i*m.strides[0]+j*m.strides[1]+k*m.strides[2]]
}

func testChainRows[T float32 | float64, B uint32 | uint64](t *testing.T, rng *rand.Rand, dt dtype.DType, bits func(T) B) (taken int) {
	t.Helper()
	shape := []int{1 + rng.IntN(4), 1 + rng.IntN(40), 20 + rng.IntN(300)}
	if rng.IntN(4) == 0 {
		shape[2] = 256
	}
	n := shape[0] * shape[1] * shape[2]
	array := func(fixed bool) matrices[T] {
		pitch := shape[2] + rng.IntN(9)
		m := matrices[T]{strides: []int{shape[1]*pitch + rng.IntN(9), pitch, 1}}
		m.data = make([]T, shape[0]*m.strides[0])
		for i := range m.data {
			m.data[i] = T(rng.NormFloat64())
		}
		for d := range m.strides {
			if !fixed && rng.IntN(6) == 0 {
				m.strides[d] = 0
			}
		}
		return m
	}
	p, flat := &expr.Program{Rank: 3, Dst: expr.Strided}, &expr.Program{Rank: 1}
	c, want := Chain{Program: p, Shape: shape}, Chain{Program: flat, Shape: []int{n}}
	leaves := make([]matrices[T], 1+rng.IntN(3))
	for i := range leaves {
		leaves[i] = array(i == 0)
		dense := make([]T, 0, n)
		for a := range shape[0] {
			for b := range shape[1] {
				for d := range shape[2] {
					dense = append(dense, *leaves[i].at(a, b, d))
				}
			}
		}
		p.Leaves = append(p.Leaves, expr.Leaf{DType: dt, Class: expr.Strided})
		flat.Leaves = append(flat.Leaves, expr.Leaf{DType: dt, Class: expr.Dense})
		c.Leaves = append(c.Leaves, ChainLeaf{at0(leaves[i].data), leaves[i].strides})
		want.Leaves = append(want.Leaves, ChainLeaf{at0(dense), []int{1}})
	}
	p.Scalars = []dtype.DType{dt}
	var number [2]uint64
	*(*T)(unsafe.Pointer(&number)) = T(rng.NormFloat64())
	c.Scalars = [][2]uint64{number}
	for i := range 2 + rng.IntN(5) {
		s := expr.Step{Op: tileTestOps[rng.IntN(len(tileTestOps))], DType: dt, N: 2}
		if s.Op == expr.Clamp || s.Op < expr.Add {
			s.Op = expr.Mul
		}
		s.Args = [3]expr.Ref{{Kind: expr.ToLeaf, N: uint8(i % len(leaves))}, {Kind: expr.ToScalar}}
		if i > 0 {
			s.Args[1] = expr.Ref{N: uint8(rng.IntN(i))}
		}
		p.Steps = append(p.Steps, s)
	}
	flat.Steps, flat.Scalars, want.Scalars = p.Steps, p.Scalars, c.Scalars

	dense := make([]T, n)
	if err := want.Elementwise(at0(dense), []int{1}); err != nil {
		t.Fatal(err)
	}
	dst := array(true)
	inPlace := rng.IntN(4) == 0
	if inPlace { // dst is the first leaf
		dst = leaves[0]
	}
	before := append([]T(nil), dst.data...)
	if err := c.Elementwise(at0(dst.data), dst.strides); err != nil {
		t.Fatal(err)
	}
	i := 0
	for a := range shape[0] {
		for b := range shape[1] {
			for d := range shape[2] {
				if got := *dst.at(a, b, d); bits(got) != bits(dense[i]) && (got == got || dense[i] == dense[i]) {
					t.Fatalf("%s of %v, in place %v: element %d is %v, want %v", p.Key(), shape, inPlace, i, got, dense[i])
				}
				*dst.at(a, b, d) = before[a*dst.strides[0]+b*dst.strides[1]+d]
				i++
			}
		}
	}
	for i, v := range before {
		if bits(dst.data[i]) != bits(v) {
			t.Fatalf("%s of %v: wrote outside the result", p.Key(), shape)
		}
	}
	if c.takesRows(at0(dst.data), dst.strides) {
		taken = 1
	}
	return taken
}
