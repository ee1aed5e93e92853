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
	"github.com/gpk-go/gpk/ops"
)

// compileOrSkip compiles a kernel for an H200, which takes no GPU.
func compileOrSkip(t *testing.T, p *Program, f form) []byte {
	t.Helper()
	image, err := device.CompileImage(90, code(p, f))
	var missing *device.CompilerError
	if errors.As(err, &missing) {
		t.Skipf("kernels are not compiled here: %v", err)
	}
	if err != nil {
		t.Fatalf("%s, %s x%d: %v\n%s", p.Key(), walkNames[f.walk], f.width, err, numbered(kernel(p, f)))
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
	types := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Int64, dtype.Bool, dtype.Complex64, dtype.Complex128}
	var source strings.Builder
	source.WriteString(preamble())
	n := 0
	one := func(p *Program) {
		// Many kernels in one source, each in a namespace of its own.
		text := kernel(p, form{preferred(p).walk, 1}) // vectors take four times as long
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
	_, err := device.CompileImage(90, device.Code{Source: source.String(), Kernel: "gpk::k0::gpk_chain0", Options: append(slices.Clone(compileOptions), "--ptxas-options=-O0")}) // half the time
	var missing *device.CompilerError
	if errors.As(err, &missing) {
		t.Skipf("kernels are not compiled here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kernels in %v", n, time.Since(begun))
}

// TestSourceWalks compiles one chain in every form.
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
		f form
	}{
		{chain(1, Dense, Single, Dense), form{walkFlat, 8}},
		{chain(1, Dense, Single, Dense), form{walkFlat, 1}},
		{chain(2, Dense, Row, Column), form{walkRows, 8}},
		{chain(2, Dense, Row, Column), form{walkMixed, 8}},
		{chain(2, Dense, Row, Column), form{walkMixed, 1}},
		{chain(1, Strided, Dense, Single), form{walkStrided, 1}},
		{chain(3, Strided, Strided, Dense), form{walkStrided, 8}},
		{chain(3, Strided, Strided, Single), form{walkStrided, 1}},
		{chain(4, Strided, Strided, Dense), form{walkTiles, 1}},
		{chain(2, Strided, Strided, Dense), form{walkTiles, 1}},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", walkNames[tt.f.walk], tt.f.width, tt.p.Rank), func(t *testing.T) {
			begun := time.Now()
			compileOrSkip(t, tt.p, tt.f)
			t.Log(time.Since(begun))
		})
	}
}

// TestSourceFold compiles sums of rows with the steps before them.
func TestSourceFold(t *testing.T) {
	leaf := func(i int) Ref { return Ref{Kind: ToLeaf, N: uint8(i)} }
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16} {
		for _, whole := range []bool{true, false} {
			p := &Program{
				Rank: 2, Scalars: []dtype.DType{dt},
				Leaves: []Leaf{{DType: dt}, {DType: dt, Class: Row}, {DType: dt, Class: Column}, {DType: dtype.Float16, Class: Single}},
				Steps: []Step{
					{Op: expr.None, DType: dt, Args: [3]Ref{leaf(3)}, N: 1},
					{Op: expr.Mul, DType: dt, Args: [3]Ref{leaf(0), {Kind: ToScalar}}, N: 2},
					{Op: expr.Add, DType: dt, Args: [3]Ref{{Kind: ToStep, N: 1}, leaf(1)}, N: 2},
					{Op: expr.Sub, DType: dt, Args: [3]Ref{{Kind: ToStep, N: 2}, leaf(2)}, N: 2},
					{Op: expr.Maximum, DType: dt, Args: [3]Ref{{Kind: ToStep, N: 3}, {Kind: ToStep, N: 0}}, N: 2},
				},
				Reduction: Reduction{Op: expr.Mean, DType: dt, Over: OverLast},
			}
			c := &Call{Program: p, Shape: []int{foldRows, 100}}
			if !c.One() {
				t.Fatalf("%v: not one kernel", dt)
			}
			compileOrSkip(t, p, foldForm(whole))
		}
	}
}
