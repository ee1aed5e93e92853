package fused

import (
	"context"
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestRowsTogether compiles op(x + row) as a walk over rows, and checks which read
// all rows first: those of a block of the bounds whose registers are known to do.
func TestRowsTogether(t *testing.T) {
	for _, tt := range []struct {
		op     expr.Op
		dt     dtype.DType
		width  uint8
		leaves int
		want   bool
	}{
		{expr.GELU, dtype.Float32, 4, 2, true},
		{expr.Tanh, dtype.Float32, 4, 2, true},
		{expr.ReLU, dtype.Float32, 4, 2, false},
		{expr.Sin, dtype.Float32, 4, 2, false},
		{expr.GELU, dtype.Float32, 4, 3, false},
		{expr.GELU, dtype.BFloat16, 8, 2, false},
		{expr.GELU, dtype.Float64, 2, 2, false},
	} {
		p := &Program{Rank: 2, Leaves: []Leaf{{DType: tt.dt, Class: Row}}}
		last := Ref{Kind: ToLeaf}
		for i := 1; i < tt.leaves; i++ {
			p.Leaves = append(p.Leaves, Leaf{DType: tt.dt, Class: Dense})
			p.Steps = append(p.Steps, Step{Op: expr.Add, DType: tt.dt, Args: [3]Ref{last, {Kind: ToLeaf, N: uint8(i)}}, N: 2})
			last = Ref{Kind: ToStep, N: uint8(i - 1)}
		}
		p.Steps = append(p.Steps, Step{Op: tt.op, DType: tt.dt, Args: [3]Ref{last}, N: 1})
		f := kernelVariant{traversal: traverseRows, width: tt.width}
		if _, blocks := rowThreads(p, f); tt.want && blocks != 8 {
			t.Errorf("%v of %v: %d blocks", tt.op, tt.dt, blocks)
		}
		if got := rowsTogether(p, f); got != tt.want {
			t.Errorf("%v of %d leaves of %v: %v, want %v", tt.op, tt.leaves, tt.dt, got, tt.want)
		}
		t.Run(tt.op.String()+tt.dt.String(), func(t *testing.T) { compileOrSkip(t, p, f) })
	}
}

// geluOfSum returns the call dst = GELU(x + y) for a y that is a row or a column. The
// recorder reads no element, so the operands have little memory.
func geluOfSum(t *testing.T, r *recorder, rows, n int, column bool) (c *Call, x, y, dst device.View) {
	t.Helper()
	lay := layout.Dense([]int{rows, n})
	of := []int{n}
	if column {
		of = []int{rows, 1}
	}
	other, err := layout.Dense(of).BroadcastTo(lay.Shape)
	if err != nil {
		t.Fatal(err)
	}
	small := layout.Dense([]int{8, 4})
	x, y, dst = r.view(t, small), r.view(t, small), r.view(t, small)
	x.Layout, y.Layout, dst.Layout = lay, other, lay
	b := NewBuilder(lay.Shape)
	p, _ := b.Leaf(x)
	q, _ := b.Leaf(y)
	sum, _ := b.Step(expr.Add, dtype.Float32, p, q)
	if _, err := b.Step(expr.GELU, dtype.Float32, sum); err != nil {
		t.Fatal("no room for a step")
	}
	return b.Elementwise(dst), x, y, dst
}

// TestTogetherLong checks that rows whose stride exceeds 32 bits use another traversal.
func TestTogetherLong(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("rows of 2^32 elements need an int of 64 bits")
	}
	for _, tt := range []struct {
		n    int64
		want traversal
	}{{4 * maxPiece, traverseRows}, {4 * (maxPiece + 1), traverseStrided}} {
		c, _, _, dst := geluOfSum(t, newRecorder(), 2, int(tt.n), false)
		w := kernelLaunch{p: c.Program, call: c, dst: Operand{Buffer: dst.Buffer}}
		if w.choose(); w.variant.traversal != tt.want {
			t.Errorf("rows of %d: %s, want %s", tt.n, traversalNames[w.variant.traversal], traversalNames[tt.want])
		}
	}
}

// TestTogetherLaunches: rows that are read together take a block a group, and a launch
// has no more groups than a grid. The parts follow each other and have all rows.
func TestTogetherLaunches(t *testing.T) {
	const n = 4
	most := maxGridY * kernelThreads / 2 * 8
	for _, tt := range []struct {
		rows, launches int
		column         bool
	}{{2, 1, false}, {1003, 1, false}, {most, 1, false}, {most + 1, 2, false}, {2*most + 77, 3, true}} {
		r := newRecorder()
		c, x, y, dst := geluOfSum(t, r, tt.rows, n, tt.column)
		g, s := &compiled{}, r.dev.DefaultStream()
		for range 2 { // the first call has the kernel compiled
			r.launches, r.params = nil, nil
			if _, err := g.Run(s, c); err != nil {
				t.Fatal(err)
			}
			if err := devicetest.AwaitCompiled(r.dev, context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.launches) != tt.launches {
			t.Fatalf("%d rows: %d launches, want %d", tt.rows, len(r.launches), tt.launches)
		}
		le, row := binary.LittleEndian, 0
		for i, l := range r.launches {
			at, k := r.params[i], int(le.Uint32(r.params[i][24:]))
			if to := le.Uint64(at); to != dst.Buffer.Addr()+uint64(4*n*row) {
				t.Errorf("%d rows, launch %d: it writes to %#x", tt.rows, i, to)
			}
			// The operands are in the program's order.
			from := map[uint64]bool{le.Uint64(at[8:]): true, le.Uint64(at[16:]): true}
			second := y.Buffer.Addr()
			if tt.column {
				second += uint64(4 * row)
			}
			if !from[x.Buffer.Addr()+uint64(4*n*row)] || !from[second] {
				t.Errorf("%d rows, launch %d: it reads from %v", tt.rows, i, from)
			}
			groups := ceil(k, 8*l.Block[1])
			if columns := le.Uint32(at[28:]); columns != n/4 || l.Grid != [3]int{1, groups, 1} || groups > maxGridY || l.Block[0]*l.Block[1] > 128 {
				t.Errorf("%d rows, launch %d: %+v of %d rows, %d columns", tt.rows, i, l, k, columns)
			}
			row += k
		}
		if row != tt.rows {
			t.Errorf("%d rows: launches have %d", tt.rows, row)
		}
	}
}
