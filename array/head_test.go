package array

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// random returns an array of random elements of a type.
func random(rng *rand.Rand, dt dtype.DType, shape ...int) *Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	a := FromSlice(x, shape...).Cast(dt)
	if err := Eval(a); err != nil {
		panic(err)
	}
	return a
}

// bits returns the elements of an array in float64, which represents every value of its type
// exactly.
func bits(t *testing.T, a *Array) []float64 {
	t.Helper()
	out, err := ToSlice[float64](a.Cast(dtype.Float64))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tails lists chains after a product p of [m, n]; row is [n], all is [m, n].
var tails = map[string]func(p, row, all *Array) *Array{
	"bias":      func(p, row, _ *Array) *Array { return p.Add(row) },
	"bias ReLU": func(p, row, _ *Array) *Array { return p.Add(row).ReLU() },
	"GELU":      func(p, row, _ *Array) *Array { return Binary(expr.Add, row, p).GELU() },
	"scaled":    func(p, row, _ *Array) *Array { return Binary(expr.Mul, 0.3, p).Add(row).SiLU() },
	"residual":  func(p, row, all *Array) *Array { return p.Add(row).GELUTanh().Add(all) },
	"twice":     func(p, _, _ *Array) *Array { return p.Mul(p).Sub(1) },
	"view":      func(p, _, all *Array) *Array { return p.T().Add(all.T()).T().Abs() },
	"cast":      func(p, row, _ *Array) *Array { return p.Add(row).Cast(dtype.Float64) },
	"sum":       func(p, row, _ *Array) *Array { return p.Add(row).Abs().Sum(1) },
	"products":  func(p, row, all *Array) *Array { return p.Add(row).Add(all.T().MatMul(all)) },
}

// TestHead checks that chains after products have the same bits as single operations, in new
// memory and in existing memory.
func TestHead(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Float16} {
		for name, tail := range tails {
			m, k, n := 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(40)
			if name == "products" {
				n = m
			}
			x, w, row, all := random(rng, dt, m, k), random(rng, dt, k, n), random(rng, dt, n), random(rng, dt, m, n)
			was := eager.Swap(true)
			want := bits(t, tail(x.MatMul(w), row, all))
			eager.Store(false)
			if got := bits(t, tail(x.MatMul(w), row, all)); !slices.Equal(got, want) {
				t.Errorf("%v %s of %dx%dx%d: not the bits of single operations", dt, name, m, k, n)
			}
			waiting := tail(x.MatMul(w), row, all)
			dst := Full(waiting.DType(), 99, waiting.Shape()...)
			if err := errors.Join(Eval(dst), Into(dst, waiting)); err != nil {
				t.Fatal(err)
			}
			if got := bits(t, dst); !slices.Equal(got, want) {
				t.Errorf("%v %s of %dx%dx%d into memory: not the bits of single operations", dt, name, m, k, n)
			}
			eager.Store(was)
		}
	}
}

// TestHeadCast checks that a chain after a product may end in any type, also in one of the
// product's element size.
func TestHeadCast(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const seed = 6
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	chains := map[string]func(p *Array) *Array{
		"":        func(p *Array) *Array { return p },
		".Add(1)": func(p *Array) *Array { return p.Add(1) },
		".Ne(5)":  func(p *Array) *Array { return p.Ne(5) },
		".Mul(p)": func(p *Array) *Array { return p.Mul(p) },
	}
	for _, in := range dtype.All {
		if !in.HasProducts() {
			continue
		}
		x, w := random(rng, dtype.Float32, 5, 9).Mul(3).Cast(in), random(rng, dtype.Float32, 9, 7).Mul(3).Cast(in)
		for name, chain := range chains {
			for _, out := range dtype.All {
				eager.Store(true)
				stored := chain(x.MatMul(w))
				want := stored.Cast(out)
				eager.Store(false)
				waiting := func() *Array { return chain(x.MatMul(w)).Cast(out) }
				dst := Zeros(out, 5, 7)
				err := errors.Join(Eval(dst), Into(dst, waiting()))
				if err := errors.Join(err, Eval(want)); err != nil {
					t.Errorf("%v product%s.Cast(%v): %v", in, name, out, err)
				}
				for how, got := range map[string]*Array{"anew": waiting(), "into memory": dst} {
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%v product%s.Cast(%v) %s:\n%v, want\n%v", in, name, out, how, got, want)
					}
				}
			}
		}
	}
}

// TestHeadMemory checks that a chain after a product allocates only the product's memory
// and, in place, not even the result's. The result does not overlap the operands. A GPU's
// product may also copy its operands to align their rows.
func TestHeadMemory(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, w := FromSlice([]float32{1, 2, 3, 4}, 2, 2), FromSlice([]float32{1, 0, 1, 1}, 2, 2)
	row := FromSlice([]float32{-10, 1})
	product := allocs(func() { wants(t, x.MatMul(w).Reshape(4), 3, 2, 7, 4) })
	chain := compiled(t, x.MatMul(w).Add(row).ReLU())
	n := allocs(func() { wants(t, chain.Reshape(4), 0, 3, 0, 5) })
	if n != product || chain.on().Kind() == device.CPU && n != 1 {
		t.Errorf("%d buffers, and %d for the product alone\n%s", n, product, chain.Explain())
	}
	dst := Zeros(dtype.Float32, 2, 2)
	if err := Eval(dst); err != nil {
		t.Fatal(err)
	}
	chain = compiled(t, x.MatMul(w).Add(row))
	n = allocs(func() {
		if err := Into(dst, chain); err != nil {
			t.Fatal(err)
		}
	})
	if n != product-1 {
		t.Errorf("%d buffers into memory, and %d for a product with its result\n%s", n, product, chain.Explain())
	}
	wants(t, dst.Reshape(4), -7, 3, -3, 5)
	// The result goes to an operand of the chain or of the product.
	if err := Into(dst, x.MatMul(w).Add(dst)); err != nil {
		t.Fatal(err)
	}
	wants(t, dst.Reshape(4), -4, 5, 4, 9)
	if err := Into(x, x.MatMul(w).Add(row)); err != nil {
		t.Fatal(err)
	}
	wants(t, x.Reshape(4), -7, 3, -3, 5)
}

// TestHeadAgain checks that a product that is a step of a chain is computed once if a second
// operation reads it first, and again if it is used later; and that it reads the same
// elements if an operand was written in between.
func TestHeadAgain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, w := FromSlice([]float32{1, 2}, 1, 2), FromSlice([]float32{1, 1}, 2, 1)
	p := x.MatMul(w)
	first, second := p.Add(1), p.Mul(2)
	if p.isPending() {
		t.Error("the second reader did not start it")
	}
	wants(t, first.Reshape(1), 4)
	wants(t, second.Reshape(1), 6)

	p = x.MatMul(w)
	q := p.Add(1)
	wants(t, q.Reshape(1), 4)
	wants(t, p.Reshape(1), 3)

	p = x.MatMul(w)
	q = p.Add(1)
	if err := x.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	wants(t, q.Reshape(1), 4)
	wants(t, p.Reshape(1), 3)

	// One product begins a chain; another is stored.
	a, b := x.MatMul(w).Add(1), x.MatMul(w).Mul(2)
	sum := a.Add(b)
	if !strings.Contains(sum.Explain(), "MatMul") {
		t.Error(sum.Explain())
	}
	wants(t, sum.Reshape(1), 6+10)

	// The product returns its operands' error, if the line has not been computed again
	// before.
	forgetRereads()
	bad := x.MatMul(w)
	late := bad.Add(1)
	x.Free()
	if err := Eval(late); err != nil { // it was started before the memory went
		t.Error(err)
	}
	if err := Eval(bad); !errors.Is(err, device.ErrFreed) || !strings.Contains(err.Error(), "Free at ") {
		t.Error(err)
	}
}

// TestInPlaceChain checks that an in-place addition or multiplication fuses the chain of its
// second operand, even if the array is itself an operand of the chain.
func TestInPlaceChain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for _, lazy := range []bool{true, false} {
		eager.Store(!lazy)
		a, row := FromSlice([]float32{1, 2, 3, 4}, 2, 2), FromSlice([]float32{10, 20})
		view := a.Slice(0, 1, 2)
		compiled(t, a.Add(row.BroadcastTo(2, 2).Neg())).Free() // the write's kernel
		n := allocs(func() { must(t, a.AddInPlace(row.Mul(2).BroadcastTo(2, 2).Neg())) })
		if lazy && n > 1 { // row.Mul(2), which is broadcast
			t.Errorf("%d buffers, want 1", n)
		}
		wants(t, view.Reshape(2), -17, -36)
		b := FromSlice([]float32{1, 1, 1, 1}, 2, 2)
		if err := Eval(b); err != nil {
			t.Fatal(err)
		}
		compiled(t, a.Mul(b.Add(1).Mul(0.5))).Free()
		if n := allocs(func() { must(t, a.MulInPlace(b.Add(1).Mul(0.5))) }); lazy && n != 0 {
			t.Errorf("%d buffers, want 0", n)
		}
		must(t, a.AddInPlace(a.Mul(a)))
		must(t, a.AddInPlace(a.T().Mul(0)))
		wants(t, a.Reshape(4), -19+19*19, -38+38*38, -17+17*17, -36+36*36)
		wants(t, view.Reshape(2), -17+17*17, -36+36*36)
		// What is added reads the array itself, and keeps its elements.
		twice := b.Mul(2)
		must(t, b.AddInPlace(twice))
		wants(t, twice.Reshape(4), 2, 2, 2, 2)
		wants(t, b.Reshape(4), 3, 3, 3, 3)
		must(t, b.AddInPlace(-2))
		// Pending readers read the old elements.
		before := a.Sub(1)
		must(t, a.AddInPlace(b.Sub(1).Abs()))
		wants(t, before.Reshape(4), -20+19*19, -39+38*38, -18+17*17, -37+36*36)
	}
}
