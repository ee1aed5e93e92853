package fused

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// TestFoldsNothing: a reduction along an axis of length 1 has neighbouring folds that
// lie in different rows, each with elements of its own of a row that is broadcast.
func TestFoldsNothing(t *testing.T) {
	r := newRecorder()
	shape := []int{4, 6, 1}
	dense := layout.Dense(shape)
	x := r.view(t, dense)
	row := r.view(t, layout.Layout{Shape: shape, Strides: []int{0, 1, 1}})
	b := NewBuilder(shape)
	p, _ := b.Leaf(x)
	q, _ := b.Leaf(row)
	if _, err := b.Step(expr.Add, dtype.Float32, p, q); err != nil {
		t.Fatal("no room for a step")
	}
	c := b.Reduce(expr.Max, []bool{false, false, true}, r.view(t, layout.Dense([]int{4, 6})))
	f, ok := c.folding(false)
	if !ok || f.variant.width < 2 || f.folds != 24 || f.terms != 1 {
		t.Fatalf("%+v, %t", f, ok)
	}
	if over := c.Program.Reduction.Over; over != OverSome {
		t.Errorf("it goes over %v", over)
	}
	if source := code(c.Program, f.variant).Source; strings.Contains(source, "(p.leaf[1])[b.at[1] + e]") {
		t.Error("neighbouring folds read the row as if they lay in one")
	}
}

// TestColumnWidth: the sums of a block, and what its last launch needs, lie in 48 KiB
// of shared memory, however narrow the operands are.
func TestColumnWidth(t *testing.T) {
	for _, from := range []dtype.DType{dtype.Int8, dtype.Float16, dtype.Float32, dtype.Complex64, dtype.Complex128} {
		for _, to := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Int64, dtype.Complex64, dtype.Complex128} {
			p := &Program{Leaves: []Leaf{{DType: from, Class: Dense}}, Steps: []Step{{DType: to, N: 1}}}
			n := columnWidth(p)
			const lastThreads, lastWide = 1024, 8 * 32 // add_partials_by_block, add_partials_by_eight in reduce_sum.cuh
			if bytes := (n*kernelThreads + lastThreads + lastWide) * accumulated(to); bytes > 48<<10 {
				t.Errorf("%v of %v: %d columns a thread take %d bytes", to, from, n, bytes)
			}
		}
	}
}
