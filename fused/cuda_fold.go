package fused

import (
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/observe"
)

// folding is the plan of one kernel that computes the steps and the reduction after
// them: the variant of the kernel, and its parameters (Folding in cutlass/src/fold_sum.cuh).
// Terms are combined in the same order as in the precompiled reduction of the same
// elements, dense. Sums use a tree that depends only on the number and the type of the
// terms; the other reductions follow fold in cutlass/src/reduction.cuh.
type folding struct {
	variant          kernelVariant
	folds, terms     int
	groups, perGroup int
	over             int
	team             int
	slices, perSlice int
	grid             int
	partial          int // bytes of the partial result of a group, if there is more than one group
	lastTeam         int
	lastGrid         int
}

// fold has the parameters that select the kernel of a reduction.
type fold struct {
	kept, folded uint8  // number of dimensions of either kind
	rows         uint8  // rows of a chunk (for sums of rows): 8, or fewer for short rows
	team         uint16 // threads that share a line
	held         uint8  // vectors of the line that a thread holds in registers
	whole        bool   // operands are read in vectors
	vectors      bool   // terms are reduced in vectors (fold_rows)
	means        bool   // the kernel computes the means for Var
}

// Constants of fold_sum.cuh and reduce_sum.cuh.
const (
	foldWarps = kernelThreads / 32
	chunkRows = 8
	sumBatch  = 4
	foldBusy  = 4096
)

// heldVectors is the largest number of vectors of a line that a thread holds (lines.cuh).
const heldVectors = 8

// isLine reports whether an operation works along lines and keeps their shape.
func isLine(op expr.Op) bool {
	return op == expr.Softmax || op == expr.LogSoftmax || op == expr.LayerNorm || op == expr.RMSNorm
}

// isOrdered reports whether the order of the terms affects the result of a reduction other than a sum.
func isOrdered(op expr.Op) bool { return op == expr.Prod || op == expr.Var }

// isSum reports whether a reduction adds its terms in the tree of ops_reduce.cuh.
func isSum(op expr.Op) bool { return op == expr.Sum || op == expr.Mean }

// foldDims lists the dimensions of a call that are kept, or those that are folded,
// innermost first.
type foldDims struct {
	at   [MaxDims]int // dimensions of the call's shape
	n    int          // number of these dimensions
	size int
}

// split returns the dimensions that are kept and those that are folded.
func (c *Call) split() (kept, folded foldDims) {
	kept.size, folded.size = 1, 1
	for d := len(c.Shape) - 1; d >= 0; d-- {
		to := &kept
		if c.Axes>>d&1 != 0 {
			to = &folded
		}
		to.at[to.n] = d
		to.n++
		to.size *= c.Shape[d]
	}
	return kept, folded
}

// Choice is the kernel that a GPU uses for a call.
type Choice struct {
	variant kernelVariant
	one     bool // steps and reduction are one kernel; otherwise variant is the kernel of the steps
}

// Choice returns the kernel for the call. For Var, a kernel that computes the means runs
// before it. If the reduction is a separate kernel, Choice returns the kernel of the
// steps. Memory that does not exist yet, as in a plan for Explain, counts as aligned.
func (c *Call) Choice() Choice {
	if c.chosen {
		return c.choice
	}
	c.chosen = true
	if c.Program.Reduction.Op != expr.None {
		if f, ok := c.folding(false); ok {
			c.choice = Choice{variant: f.variant, one: true}
			return c.choice
		}
	}
	w := kernelLaunches.Get().(*kernelLaunch)
	defer w.release()
	w.p, w.call = stepsOf(c.Program), c
	one := w.p == c.Program
	if one {
		w.dst = c.Dst
	}
	w.choose()
	c.choice = Choice{variant: w.variant, one: one}
	return c.choice
}

// launchFold launches the kernel of a reduction. It launches it a second time if partial results of several
// groups must be combined.
func (w *kernelLaunch) launchFold(stream uint64) error {
	if w.first != nil {
		if err := w.first.launchFold(stream); err != nil {
			return err
		}
	}
	f := &w.folding
	if err := w.launchFoldPass(stream, f.team, f.grid, 0); err != nil || f.groups == 1 {
		return err
	}
	return w.launchFoldPass(stream, f.lastTeam, f.lastGrid, 1)
}

func (w *kernelLaunch) launchFoldPass(stream uint64, team, grid, last int) error {
	f := &w.folding
	at := w.addresses()
	if f.variant.fold.means { // the means are at the beginning of the workspace
		at[0] = w.workspace
	}
	w.packOperands(&at)
	w.packLong(int(w.workspace) + w.means)
	w.packLong(int(w.workspace))
	for _, n := range [...]int{f.folds, f.terms, f.groups, f.perGroup, f.over, team, f.slices, f.perSlice, last} {
		w.packLong(n)
	}
	if f.variant.traversal == traverseLines {
		w.packLong(address(&w.call.gamma))
		w.packLong(address(&w.call.beta))
		w.packLong(int(math.Float64bits(w.call.eps)))
		w.packLong(f.terms)
	}
	kept, folded := w.call.split()
	for _, dims := range [...]*foldDims{&kept, &folded} {
		for i := range w.call.Leaves {
			for _, d := range dims.at[:dims.n] {
				w.packLong(w.call.Leaves[i].Strides[d])
			}
		}
	}
	for _, dims := range [...]*foldDims{&kept, &folded} {
		for _, d := range dims.at[:dims.n] {
			if dims.n > 1 {
				w.packDivider(w.call.Shape[d])
			}
		}
	}
	block := kernelThreads
	if f.variant.traversal == traverseLines {
		block = lineBlock(f.team)
	}
	return w.launchGrid(stream, [3]int{grid, 1, 1}, [3]int{block, 1, 1})
}

// address returns the address of an array, or 0 for the zero View.
func address(v *device.View) int {
	if v.Buffer == nil {
		return 0
	}
	return int(v.Buffer.Addr()) + v.Layout.Offset*v.DType.Size()
}

// workspace returns the bytes of the partial results of all groups.
func (f *folding) workspace() int {
	if f.groups == 1 {
		return 0
	}
	return f.groups * f.folds * f.partial
}

// runFold starts the kernel of the steps and the reduction. It reports false if there is
// none.
func (k *kernels) runFold(s *device.Stream, c *Call) (bool, error) {
	f, ok := c.folding(false)
	if !ok {
		return false, nil
	}
	d := s.Device()
	w := kernelLaunches.Get().(*kernelLaunch)
	defer w.release()
	w.p, w.call, w.dst, w.folding = c.Program, c, c.Dst, f
	if !w.prepare(k, s, f.variant) {
		return false, nil
	}
	var first *kernelLaunch
	if c.Program.Reduction.Op == expr.Var {
		first = kernelLaunches.Get().(*kernelLaunch)
		defer first.release()
		first.p, first.call, first.dst = c.Program, c, c.Dst
		if first.folding, ok = c.folding(true); !ok || !first.prepare(k, s, first.folding.variant) {
			return false, nil
		}
		w.means = (f.folds*foldResult(expr.Var, c.terms(), true) + 15) / 16 * 16
		first.means = w.means
	}
	writes := w.writes[:1]
	bytes := f.workspace()
	if first != nil {
		bytes = max(bytes, first.folding.workspace()) + w.means
	}
	if bytes > 0 {
		work, err := d.Alloc(int64(bytes), s)
		if err != nil {
			return false, nil // the single operations report the error
		}
		defer work.Free()
		w.writes[1], writes = work, w.writes[:2]
		w.workspace = work.Addr()
	}
	observe.KernelFound(d)
	if first == nil {
		return true, d.LaunchWork(s, w.bufs[:len(c.Leaves)+2], writes, w)
	}
	first.workspace = w.workspace
	w.first = first
	return true, d.LaunchWork(s, w.bufs[:len(c.Leaves)+2], writes, w)
}
