package cpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestChainStorageOrder computes the elements of strided chains in the order in which a leaf is stored, and reduces
// them. It compares the results with reductions of a dense array of the same elements.
func TestChainStorageOrder(t *testing.T) {
	rng := testrand.New(t)
	taken := 0
	for range 600 {
		taken += testChainStorageOrder(t, rng)
	}
	if taken < 40 {
		t.Errorf("%d of 600 chains were computed in the order of their leaves", taken)
	}
}

// testChainStorageOrder compares one chain, and returns 1 if it was computed in the order of its leaves, else 0.
func testChainStorageOrder(t *testing.T, rng *rand.Rand) int {
	t.Helper()
	rank := 3 + rng.IntN(3)
	shape, n := make([]int, rank), 1
	for d := range shape {
		shape[d] = 2 + rng.IntN([...]int{30, 12, 7}[rank-3])
		if d == rank-1 {
			shape[d] = 1 + rng.IntN(6)
		}
		n *= shape[d]
	}
	order := rng.Perm(rank)
	x, xs, first := storedIn(rng, shape, order)
	if rng.IntN(4) == 0 {
		order = rng.Perm(rank)
	}
	y, ys, at := storedIn(rng, shape, order)
	for d := range ys {
		if rng.IntN(3) == 0 {
			at += max(0, -ys[d]) * (1 - shape[d]) // the first element of the dimension that is repeated
			ys[d] = 0
		}
	}
	sum := make([]float32, n)
	index := make([]int, rank)
	for i := range sum {
		p, q := first, at
		for d, k := range index {
			p += k * xs[d]
			q += k * ys[d]
		}
		sum[i] = x[p] + y[q]
		for d := rank - 1; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
	op := []expr.Op{expr.Sum, expr.Mean, expr.Max, expr.ArgMax}[rng.IntN(4)]
	to := dtype.Float32
	if op == expr.ArgMax {
		to = dtype.Int64
	}
	axes := uint32(1 + rng.IntN(1<<rank-1))
	got, want := make([]uint64, n), make([]uint64, n)
	c := Chain{Shape: shape, Leaves: []ChainLeaf{{at0(x[first:]), xs}, {at0(y[at:]), ys}}, Program: &expr.Program{
		Leaves:    []expr.Leaf{{DType: dtype.Float32}, {DType: dtype.Float32}},
		Steps:     []expr.Step{{Op: expr.Add, DType: dtype.Float32, Args: [3]expr.Ref{{Kind: expr.ToLeaf}, {Kind: expr.ToLeaf, N: 1}}, N: 2}},
		Rank:      rank,
		Reduction: expr.Reduction{Op: op, DType: to, Over: expr.OverSome},
	}}
	for i, l := range c.Leaves {
		c.Program.Leaves[i].Class = c.classOf(l.Strides)
	}
	c.prepare()
	o, strides := c.inStorageOrder()
	if o == nil {
		return 0
	}
	o.prepare()
	if err := c.fold(axes, at0(got), o, n, at0(make([]float32, n)), strides); err != nil {
		t.Fatal(err)
	}
	dense := make([]int, rank)
	for d := range dense {
		dense[d] = d
	}
	if err := Reduce(op, dtype.Float32, to, shape, axes, at0(sum), denseIn(dense, shape), at0(want)); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v over %b of %v, strides %v and %v: word %d is %x, not %x (%v)", op, axes, shape, xs, ys, i, got[i], want[i], math.Float32frombits(uint32(want[i])))
		}
	}
	return 1
}

// storedIn returns an array whose dimensions are stored in an order, some of them backwards, its strides and
// the place of its first element. In one array of three, the elements of neighbours overlap, as those of windows do.
func storedIn(rng *rand.Rand, shape, order []int) (x []float32, strides []int, first int) {
	strides = denseIn(order, shape)
	if rng.IntN(3) == 0 {
		strides[rng.IntN(len(shape))] = 1
	}
	end := 1
	for d, n := range shape {
		end += (n - 1) * strides[d]
		if rng.IntN(5) == 0 {
			first += (n - 1) * strides[d]
			strides[d] = -strides[d]
		}
	}
	x = make([]float32, end)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x, strides, first
}

// TestChainWindows reduces windows of 2 x 2, whose elements are computed in the order in which the matrix is stored.
// They have the same bits if there is no memory for all elements. Windows that overlap are not stored.
func TestChainWindows(t *testing.T) {
	rng := testrand.New(t)
	const side = 600
	x := make([]float32, side*side)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	p := &expr.Program{
		Leaves:    []expr.Leaf{{DType: dtype.Float32, Class: expr.Strided}},
		Steps:     []expr.Step{{Op: expr.Neg, DType: dtype.Float32, Args: [3]expr.Ref{{Kind: expr.ToLeaf}}, N: 1}},
		Rank:      4,
		Reduction: expr.Reduction{Op: expr.Max, DType: dtype.Float32, Over: expr.OverSome},
	}
	asked := 0
	for _, full := range []error{nil, errors.New("full")} {
		c := Chain{Program: p, Shape: []int{side / 2, side / 2, 2, 2}, Leaves: []ChainLeaf{{at0(x), []int{2 * side, 2, side, 1}}}}
		c.Scratch = func(bytes int) (unsafe.Pointer, func(), error) {
			asked++
			return unsafe.Pointer(&make([]byte, bytes)[0]), func() {}, full
		}
		got := make([]float32, side/2*side/2)
		if err := c.Reduce(0b1100, at0(got)); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			at := i/(side/2)*2*side + i%(side/2)*2
			if want := -min(x[at], x[at+1], x[at+side], x[at+side+1]); v != want {
				t.Fatalf("window %d: %v, want %v (no memory: %v)", i, v, want, full)
			}
		}
	}
	if asked != 2 {
		t.Errorf("memory was asked for %d times, want 2", asked)
	}
	c := Chain{Program: p, Shape: []int{side - 1, side - 1, 2, 2}, Leaves: []ChainLeaf{{at0(x), []int{side, 1, side, 1}}}}
	c.Scratch = func(bytes int) (unsafe.Pointer, func(), error) {
		t.Errorf("overlapping windows ask for %d bytes", bytes)
		return unsafe.Pointer(&make([]byte, bytes)[0]), func() {}, nil
	}
	got := make([]float32, (side-1)*(side-1))
	if err := c.Reduce(0b1100, at0(got)); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		at := i/(side-1)*side + i%(side-1)
		if want := -min(x[at], x[at+1], x[at+side], x[at+side+1]); v != want {
			t.Fatalf("overlapping window %d: %v, want %v", i, v, want)
		}
	}
}
