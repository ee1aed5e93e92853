package fused

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/nvrtc"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// compileOrSkip compiles a kernel for an H200, which takes no GPU.
func compileOrSkip(t *testing.T, p *Program, f kernelVariant) []byte {
	t.Helper()
	image, err := deviceapi.CompileImage(90, code(p, f))
	var missing *nvrtc.Error
	if errors.As(err, &missing) {
		t.Skipf("kernels are not compiled here: %v", err)
	}
	if err != nil {
		t.Fatalf("%s, %s x%d: %v\n%s", p.Key(), traversalNames[f.traversal], f.width, err, numbered(kernel(p, f)))
	}
	if len(image) == 0 {
		t.Fatalf("%s: no image", p.Key())
	}
	return image
}

func numbered(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%4d %s\n", i+1, l)
	}
	return b.String()
}

// TestSourceOperations compiles every element-wise operation of the table: for
// each of its types all operations in one kernel, each on leaves of its own
// class.
func TestSourceOperations(t *testing.T) {
	begun := time.Now()
	types := dtype.All
	var source strings.Builder
	source.WriteString(preambles[0][1]())
	n := 0
	one := func(p *Program) {
		// Many kernels in one source, each in a namespace of its own.
		text := kernel(p, kernelVariant{traversal: preferred(p).traversal, width: 1}) // vectors take four times as long
		text = strings.ReplaceAll(text, "namespace gpk {", fmt.Sprintf("namespace gpk { namespace k%d {", n))
		text = strings.ReplaceAll(text, "}  // namespace gpk", "}}")
		text = strings.ReplaceAll(text, kernelName+"(", fmt.Sprintf("%s%d(", kernelName, n))
		source.WriteString(text)
		n++
	}
	for _, dt := range types {
		for i := range ops.Table {
			row := &ops.Table[i]
			to, err := row.Check(dt)
			if err != nil {
				continue
			}
			step := Step{Op: row.Op, DType: to}
			p := &Program{Leaves: []Leaf{{DType: dt, Class: Dense}, {DType: dt, Class: Row}, {DType: dt, Class: Single}}, Rank: 2}
			switch row.Kind {
			case ops.Unary:
				p.Leaves, p.Rank = p.Leaves[:1], 1
				step.N = 1
			case ops.Binary:
				p.Leaves = p.Leaves[:2]
				step.N, step.Args[1] = 2, Ref{Kind: ToLeaf, N: 1}
			case ops.Ternary:
				p.Scalars = []dtype.DType{dt}
				p.Leaves = p.Leaves[:2]
				step.N, step.Args[1], step.Args[2] = 3, Ref{Kind: ToLeaf, N: 1}, Ref{Kind: ToScalar, N: 0}
				if row.Op == expr.Where {
					p.Leaves[0].DType = dtype.Bool
				}
			default:
				continue
			}
			step.Args[0] = Ref{Kind: ToLeaf, N: 0}
			p.Steps = []Step{step}
			one(p)
		}
		for _, to := range types {
			one(&Program{Leaves: []Leaf{{DType: dt, Class: Dense}}, Rank: 1, Steps: []Step{{Op: expr.None, DType: to, Args: [3]Ref{{Kind: ToLeaf, N: 0}}, N: 1}}})
		}
	}
	_, err := deviceapi.CompileImage(90, device.Code{Source: source.String(), Kernel: "gpk::k0::gpk_chain0", Options: append(slices.Clone(compileOptions), "--ptxas-options=-O0")}) // half the time
	var missing *nvrtc.Error
	if errors.As(err, &missing) {
		t.Skipf("kernels are not compiled here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kernels in %v", n, time.Since(begun))
}

// TestSourceWalks compiles one chain in every variant.
func TestSourceWalks(t *testing.T) {
	leaf := func(i int) Ref { return Ref{Kind: ToLeaf, N: uint8(i)} }
	chain := func(rank int, classes ...Class) *Program {
		p := &Program{Rank: rank, Scalars: []dtype.DType{dtype.BFloat16}}
		for _, c := range classes {
			p.Leaves = append(p.Leaves, Leaf{DType: dtype.BFloat16, Class: c})
		}
		p.Steps = []Step{
			{Op: expr.Mul, DType: dtype.BFloat16, Args: [3]Ref{leaf(0), {Kind: ToScalar, N: 0}}, N: 2},
			{Op: expr.Add, DType: dtype.BFloat16, Args: [3]Ref{{Kind: ToStep, N: 0}, leaf(1)}, N: 2},
			{Op: expr.Gt, DType: dtype.Bool, Args: [3]Ref{{Kind: ToStep, N: 1}, leaf(2)}, N: 2},
			{Op: expr.Where, DType: dtype.BFloat16, Args: [3]Ref{{Kind: ToStep, N: 2}, {Kind: ToStep, N: 1}, leaf(0)}, N: 3},
			{Op: expr.GELU, DType: dtype.BFloat16, Args: [3]Ref{{Kind: ToStep, N: 3}}, N: 1},
			{Op: expr.None, DType: dtype.Float32, Args: [3]Ref{{Kind: ToStep, N: 4}}, N: 1},
		}
		return p
	}
	for _, tt := range []struct {
		p *Program
		f kernelVariant
	}{
		{chain(1, Dense, Single, Dense), kernelVariant{traversal: traverseFlat, width: 8}},
		{chain(1, Dense, Single, Dense), kernelVariant{traversal: traverseFlat, width: 1}},
		{chain(2, Dense, Row, Column), kernelVariant{traversal: traverseRows, width: 8}},
		{chain(2, Dense, Row, Column), kernelVariant{traversal: traverseMixed, width: 8}},
		{chain(2, Dense, Row, Column), kernelVariant{traversal: traverseMixed, width: 1}},
		{chain(1, Strided, Dense, Single), kernelVariant{traversal: traverseStrided, width: 1}},
		{chain(3, Strided, Strided, Dense), kernelVariant{traversal: traverseStrided, width: 8}},
		{chain(3, Strided, Strided, Single), kernelVariant{traversal: traverseStrided, width: 1}},
		{chain(4, Strided, Strided, Dense), kernelVariant{traversal: traverseTiles, width: 1}},
		{chain(2, Strided, Strided, Dense), kernelVariant{traversal: traverseTiles, width: 1}},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", traversalNames[tt.f.traversal], tt.f.width, tt.p.Rank), func(t *testing.T) {
			begun := time.Now()
			compileOrSkip(t, tt.p, tt.f)
			t.Log(time.Since(begun))
		})
	}
}

// foldCall returns a call on a recorder that reduces x + one + row + column, or the terms
// that the shape has, along axes.
func foldCall(t *testing.T, r *recorder, op expr.Op, dt dtype.DType, shift int, shape []int, axes ...int) *Call {
	t.Helper()
	b := NewBuilder(shape)
	dense := layout.Dense(shape)
	dense.Offset = shift
	view := func(lay layout.Layout) Ref {
		wide, err := lay.BroadcastTo(shape)
		if err != nil {
			t.Fatal(err)
		}
		v := r.view(t, wide)
		v.DType = dt
		ref, err := b.Leaf(v)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	last, err := b.Step(expr.Add, dt, view(dense), view(layout.Dense([]int{1})))
	if n := len(shape); n > 1 {
		row := append(slices.Repeat([]int{1}, n-1), shape[n-1])
		column := append(slices.Clone(shape[:n-1]), 1)
		last, _ = b.Step(expr.Add, dt, last, view(layout.Dense(row)))
		_, err = b.Step(expr.Add, dt, last, view(layout.Dense(column)))
	}
	if err != nil {
		t.Fatal(err)
	}
	set := make([]bool, len(shape))
	var left []int
	for _, d := range axes {
		set[d] = true
	}
	for d, n := range shape {
		if !set[d] {
			left = append(left, n)
		}
	}
	to, err := ops.Lookup(op).Check(dt)
	if err != nil {
		t.Fatal(err)
	}
	if isLine(op) {
		dst := r.view(t, layout.Dense(shape))
		dst.DType = to
		return b.Line(op, dst, device.View{}, device.View{}, 1e-5)
	}
	dst := r.view(t, layout.Dense(left))
	dst.DType = to
	return b.Reduce(op, set, dst)
}

// TestSourceFold compiles reductions with the steps before them: every traversal and
// every reduction, all types.
func TestSourceFold(t *testing.T) {
	r := newRecorder()
	floats := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16}
	others := slices.DeleteFunc(slices.Clone(dtype.All[:]), dtype.DType.IsFloat)
	n := 0
	compile := func(op expr.Op, dt dtype.DType, shift int, shape []int, axes ...int) {
		if _, err := ops.Lookup(op).Check(dt); err != nil {
			return
		}
		c := foldCall(t, r, op, dt, shift, shape, axes...)
		choice := c.Choice()
		if !choice.one {
			t.Fatalf("%v of %v %v over %v: not one kernel", op, dt, shape, axes)
		}
		compileOrSkip(t, c.Program, choice.variant)
		n++
		if op == expr.Var {
			f, _ := c.folding(true)
			compileOrSkip(t, c.Program, f.variant)
			n++
		}
	}
	begun := time.Now()
	all := append(slices.Clone(floats), others...)
	for i, op := range []expr.Op{expr.Sum, expr.Max, expr.ArgMin, expr.Prod, expr.Any, expr.Var, expr.Mean, expr.Min, expr.ArgMax, expr.All} {
		for j, dt := range all {
			if (i+j)%3 != 0 && i > 0 { // all types of sums, and of the others one in three
				continue
			}
			if (i+j)%2 == 0 {
				compile(op, dt, 0, []int{64, 2048}, 1)
			} else {
				compile(op, dt, 0, []int{2048, 64}, 0)
			}
		}
	}
	for _, op := range []expr.Op{expr.Sum, expr.Max} {
		compile(op, dtype.Float32, 0, []int{64, 100}, 1)
		compile(op, dtype.BFloat16, 1, []int{64, 2048}, 1)
		compile(op, dtype.BFloat16, 1, []int{2048, 64}, 0)
		compile(op, dtype.BFloat16, 0, []int{2048, 63}, 0)
		compile(op, dtype.Float32, 0, []int{4, 2048, 5, 64}, 1, 3)
		compile(op, dtype.Float32, 0, []int{4, 2048, 5, 64}, 0, 2)
		compile(op, dtype.Float32, 0, []int{2048, 64}, 0, 1)
		compile(op, dtype.Float32, 0, []int{5, 5}, 0, 1)
	}
	for i, op := range []expr.Op{expr.Softmax, expr.LogSoftmax, expr.LayerNorm, expr.RMSNorm} {
		compile(op, floats[i], 0, []int{64, 2048}, 1)
		compile(op, floats[(i+1)%4], 0, []int{64, 16}, 1)
		compile(op, floats[(i+2)%4], 1, []int{6, 5, 8192}, 2)
	}
	t.Logf("%d kernels in %v", n, time.Since(begun))
}
