package cpu

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestDirectLengths checks that an operation on many adjacent elements has the bits of the same operation on pieces of blockLen.
// A kernel computes up to directLen elements at once. The operands begin at random elements, and each of them is an array or a
// number.
func TestDirectLengths(t *testing.T) {
	rng := testrand.New(t)
	for op := range expr.Op(kernelOps) {
		if op != expr.Where && strings.HasPrefix(op.String(), "Op(") {
			continue
		}
		for range 3 {
			dt := dtype.All[rng.IntN(len(dtype.All))]
			n := directLen + rng.IntN(100) - 50
			numbers := rng.IntN(8)
			var in [3]unsafe.Pointer
			var steps [3][]int
			for j := range in {
				x := dense(dt, []int{n + 40})
				x.randomize(rng)
				if op == expr.Where && j == 0 {
					x = dense(dtype.Bool, []int{n + 40}).randomize(rng)
				}
				from := rng.IntN(40)
				in[j], steps[j] = x.at(from), []int{1 - numbers>>j&1}
			}
			of := func(dst unsafe.Pointer, to, at, n int) error {
				p := func(j int) unsafe.Pointer {
					size := dt.Size()
					if op == expr.Where && j == 0 {
						size = 1
					}
					return unsafe.Add(in[j], at*size*steps[j][0])
				}
				shape, ds := []int{n}, []int{1}
				result := dt
				if _, unary := unaryKernel(op, computeType(dt)); op >= expr.Eq && op <= expr.Ge || unary == dtype.Bool {
					result = dtype.Bool
				}
				dst = unsafe.Add(dst, to*result.Size())
				switch {
				case op == expr.Where || op == expr.Clamp:
					return Ternary(op, dt, shape, p(0), steps[0], p(1), steps[1], p(2), steps[2], dst, ds)
				case op >= expr.Add && op < expr.Where:
					return Binary(op, dt, result, shape, p(0), steps[0], p(1), steps[1], dst, ds)
				}
				return Unary(op, dt, result, shape, p(0), steps[0], dst, ds)
			}
			whole, pieces := make([]complex128, n+1), make([]complex128, n+1)
			if of(at0(whole), 1, 0, n) != nil {
				continue // there is no such kernel
			}
			for at := 0; at < n; at += blockLen {
				if err := of(at0(pieces), 1+at, at, min(blockLen, n-at)); err != nil {
					t.Fatal(err)
				}
			}
			a, b := unsafe.Slice((*byte)(at0(whole)), 16*len(whole)), unsafe.Slice((*byte)(at0(pieces)), 16*len(pieces))
			if !bytes.Equal(a, b) {
				t.Errorf("%v of %d %v, numbers %03b: the bits differ from those of pieces", op, n, dt, numbers)
			}
		}
	}
}

// TestDirectReduction checks that the sum of products of two arrays, whose kernel reads both, has the bits of the product
// followed by the sum.
func TestDirectReduction(t *testing.T) {
	rng := testrand.New(t)
	for range 60 {
		dt := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Int32}[rng.IntN(3)]
		length := 1 + rng.IntN([]int{20, 3000, 3 * chainGroup}[rng.IntN(3)])
		shape := []int{1 + rng.IntN(1+3*chainGroup/length), length}
		n := shape[0] * length
		x, y := dense(dt, []int{n + 20}).randomize(rng), dense(dt, []int{n + 20}).randomize(rng)
		px, py := x.at(rng.IntN(20)), y.at(rng.IntN(20))
		to := dt.SumType()
		p := &expr.Program{
			Steps:     []expr.Step{{Op: expr.Mul, DType: dt, N: 2, Args: [3]expr.Ref{{Kind: expr.ToLeaf, N: 0}, {Kind: expr.ToLeaf, N: 1}}}},
			Leaves:    []expr.Leaf{{DType: dt, Class: expr.Dense}, {DType: dt, Class: expr.Dense}},
			Reduction: expr.Reduction{Op: expr.Sum, DType: to},
		}
		strides := []int{length, 1}
		c := &Chain{Program: p, Shape: shape, Leaves: []ChainLeaf{{P: px, Strides: strides}, {P: py, Strides: strides}}}
		got, want := make([]uint64, shape[0]), make([]uint64, shape[0])
		if err := c.Reduce(2, at0(got)); err != nil {
			t.Fatal(err)
		}
		product := make([]uint64, n)
		if err := Binary(expr.Mul, dt, dt, []int{n}, px, []int{1}, py, []int{1}, at0(product), []int{1}); err != nil {
			t.Fatal(err)
		}
		if err := Reduce(expr.Sum, dt, to, shape, 2, at0(product), strides, at0(want)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("sums of products of %v %v: the bits differ from those of the product's sums", shape, dt)
		}
	}
}
