package fused

import (
	"math"
	"math/bits"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// folding plans the call's kernel. ok is false if there is none. If means is true, it plans the
// kernel that computes the means for Var.
func (c *Call) folding(means bool) (f folding, ok bool) {
	if len(c.Shape) > MaxDims {
		return f, false
	}
	kept, folded := c.split()
	f.folds, f.terms = kept.size, folded.size
	f.variant.fold = fold{kept: uint8(kept.n), folded: uint8(folded.n), means: means}
	// The kernels compute indices over several dimensions by 32-bit divisions.
	if kept.n > 1 && f.folds > math.MaxInt32 || folded.n > 1 && f.terms > math.MaxInt32 {
		return f, false
	}
	switch op := c.Program.Reduction.Op; {
	case isLine(op):
		if !f.line(c, &folded) {
			return f, false
		}
	case isSum(op):
		f.sum(c, &kept, &folded)
	default:
		f.other(c, &kept, &folded)
	}
	return f, f.grid <= math.MaxInt32 && f.lastGrid <= math.MaxInt32
}

// whole reports whether all operands can be read in vectors of v elements along run.at[0].
func (c *Call) whole(run *foldDims, v int) bool {
	if run.n == 0 || run.at[0] != len(c.Shape)-1 {
		return false
	}
	inner := run.at[0]
	if run.n > 1 && c.Shape[inner]%v != 0 {
		return false
	}
	for i := range c.Leaves {
		o, size := &c.Leaves[i], c.Program.Leaves[i].DType.Size()
		switch o.Strides[inner] {
		case 0:
			continue
		case 1:
		default:
			return false
		}
		if !aligned(o.Buffer, o.Offset*size, min(16, v*size)) {
			return false
		}
		for d, n := range o.Strides {
			if d != inner && n%v != 0 {
				return false
			}
		}
	}
	return true
}

// aligned reports whether an address in a buffer is a multiple of n. It assumes so if there
// is no buffer yet, as in a plan for Explain.
func aligned(b *device.Buffer, offset, n int) bool {
	return b == nil || (b.Addr()+uint64(offset))%uint64(n) == 0
}

// line plans softmax or a norm. It reports false if a line does not fit in the registers of a
// block, for which line in ops_line.cuh has other kernels.
func (f *folding) line(c *Call, folded *foldDims) bool {
	dt := c.terms()
	v := 16 / dt.Size()
	for _, to := range [...]*device.View{&c.dst, &c.gamma, &c.beta} {
		if !aligned(to.Buffer, to.Layout.Offset*dt.Size(), 16) {
			return false
		}
	}
	if folded.n != 1 || f.terms%v != 0 || f.terms > 512*heldVectors*v || !c.dst.Layout.IsDense() {
		return false
	}
	team, held := 32, heldVectors
	if f.terms <= 32*2*v {
		held = 2
	}
	for team*held*v < f.terms {
		team *= 2
	}
	f.groups, f.perGroup = 1, f.terms
	f.variant.traversal, f.variant.width = traverseLines, uint8(v)
	f.variant.fold.team, f.variant.fold.held = uint16(team), uint8(held)
	f.variant.fold.whole = c.whole(folded, v)
	f.team = team
	f.grid = ceil(f.folds, lineBlock(team)/team)
	return true
}

// lineBlock returns the number of threads of a block if team threads share each line.
func lineBlock(team int) int { return max(128, team) }

// terms returns the type of the elements that are folded.
func (c *Call) terms() dtype.DType { return c.Program.Steps[len(c.Program.Steps)-1].DType }

// accumulated returns the bytes of the type in which elements of a type are summed.
func accumulated(dt dtype.DType) int {
	switch dt.ComputeType() {
	case dtype.Float32:
		return 4
	case dtype.Complex128:
		return 16
	}
	return 8
}

// cut divides the chunks of a sum into about as many groups as wanted. A group has a power
// of two times `least` chunks.
func (f *folding) cut(chunks, wanted, least int) {
	f.perGroup = least
	for ceil(chunks, f.perGroup) > max(1, wanted) {
		f.perGroup *= 2
	}
	f.groups = ceil(chunks, f.perGroup)
}

// sum plans a sum. The division of the work changes no bit of the result.
func (f *folding) sum(c *Call, kept, folded *foldDims) {
	dt := c.terms()
	lanes := 32 * (16 / dt.Size())
	if c.Program.Reduction.Op == expr.Mean {
		f.over = f.terms
	}
	f.groups, f.perGroup = 1, ceil(f.terms, chunkRows*lanes)
	if kept.n == 0 || folded.at[0] == len(c.Shape)-1 {
		f.sumRows(c, folded)
	} else {
		f.sumColumns(c, kept)
	}
	if f.groups > 1 {
		f.partial = accumulated(dt)
		f.lastTeam, f.lastGrid = 1, f.folds
		if f.folds >= 4096 {
			f.lastTeam, f.lastGrid = foldWarps, ceil(f.folds, 32)
		}
	}
}

// sumRows plans a sum over the innermost dimension. A sum of at most half a chunk is added
// by a team of lanes, in one group.
func (f *folding) sumRows(c *Call, folded *foldDims) {
	v := 16 / c.terms().Size()
	lanes := 32 * v
	chunk := chunkRows * lanes
	f.variant.traversal, f.variant.width = traverseFold, uint8(v)
	f.variant.fold.whole = c.whole(folded, v)
	if 2*f.terms <= chunk {
		rows := 1 << bits.Len(uint(ceil(f.terms, lanes)-1))
		f.variant.fold.rows = uint8(rows)
		f.team = 1
		for f.team < 32 && f.team*v < f.terms {
			f.team *= 2
		}
		f.grid = ceil(f.folds, 32/f.team*(chunkRows/rows)*foldWarps)
		return
	}
	f.variant.fold.rows = chunkRows
	f.slices = 1
	if f.folds < 1024 { // the warps of a block share a group
		f.slices = foldWarps
		f.cut(f.perGroup, foldBusy/f.folds, foldWarps)
	}
	f.perSlice = f.perGroup / f.slices
	f.grid = ceil(f.folds*f.groups, foldWarps/f.slices)
}

// sumColumns plans a sum whose innermost dimension is kept: each thread adds neighbouring
// columns.
func (f *folding) sumColumns(c *Call, kept *foldDims) {
	lanes := 32 * (16 / c.terms().Size())
	n := columnWidth(c.Program)
	if !c.whole(kept, n) || f.folds%n != 0 {
		n = 1
	}
	f.variant.traversal, f.variant.width = traverseFoldColumns, uint8(n)
	f.variant.fold.whole = n > 1
	f.variant.fold.rows = uint8(min(chunkRows, 1<<bits.Len(uint(ceil(f.terms, lanes)-1))))
	f.cut(f.perGroup, 2*foldBusy/ceil(f.folds, 32), 1)
	f.team = 32
	for f.team > 1 && f.team/2*n >= f.folds {
		f.team /= 2
	}
	present := 1 // the number of the chunk's lanes that have terms is rounded up to a power of two
	for present < lanes && present < f.terms {
		present *= 2
	}
	f.slices = 1
	if present >= 2*sumBatch {
		f.slices = min(present/sumBatch, kernelThreads/f.team)
	}
	f.perSlice = present / f.slices
	f.grid = ceil(f.folds, n*(kernelThreads/f.slices)) * f.groups
}

// columnWidth returns the number of neighbouring columns that a thread adds: 16 bytes of
// the smallest operand that has an element for each column, but at most 32 bytes of the
// largest. With more than 64 bytes of sums in each thread, the sums of a block would not
// fit its shared memory.
func columnWidth(p *Program) int {
	least, most := 16, 2
	for _, l := range p.Leaves {
		if l.Class != Single && l.Class != Column {
			least, most = min(least, l.DType.Size()), max(most, l.DType.Size())
		}
	}
	return max(1, min(8, 16/least, 32/most, 64/accumulated(p.Steps[len(p.Steps)-1].DType)))
}

// foldResult returns the bytes of the accumulator of a reduction other than a sum.
func foldResult(op expr.Op, dt dtype.DType, means bool) int {
	wide := 8
	if dt.IsComplex() {
		wide = 16
	}
	switch op {
	case expr.Prod:
		return wide
	case expr.Var:
		if means {
			return wide
		}
		return 2*wide + 8
	case expr.ArgMax, expr.ArgMin:
		return 16 // the value and its index
	case expr.Any, expr.All:
		return 4
	}
	return dt.ComputeType().Size()
}

// other plans a reduction other than a sum as fold in reduction.cuh plans it for dense elements. If the order of
// the terms does not affect the result, otherRows may use more blocks.
func (f *folding) other(c *Call, kept, folded *foldDims) {
	op, dt := c.Program.Reduction.Op, c.terms()
	v, result := 16/dt.Size(), foldResult(op, dt, f.variant.fold.means)
	width := min(v, 8) // number of columns
	if result > 16 {
		width = min(v, 4)
	}
	keptDims, foldedDims := c.dense(kept), c.dense(folded)
	columns := f.folds > 1 && (f.terms < 8 || keptDims.step < foldedDims.step)
	f.otherGroups(v, columns && !isOrdered(op))
	if columns {
		if !keptDims.vectors(width, true) || !allMultiples(width, foldedDims.strides) {
			width = 1
		}
		f.otherColumns(width)
		f.variant.fold.whole = width > 1 && c.whole(kept, width)
	} else {
		f.otherRows(op, v)
		f.variant.fold.vectors = foldedDims.vectors(v, len(foldedDims.strides) > 1) && allMultiples(v, keptDims.strides)
		f.variant.fold.whole = f.variant.fold.vectors && c.whole(folded, v)
	}
	if f.groups > 1 {
		f.partial = result
		f.lastTeam = 1
		for f.lastTeam < kernelThreads && f.lastTeam*2 <= f.groups {
			f.lastTeam *= 2
		}
		f.lastGrid = ceil(f.folds, kernelThreads/f.lastTeam)
	}
}

// otherGroups divides the terms of a fold into groups of a multiple of v terms. more asks
// for smaller groups, which folds of columns can use.
func (f *folding) otherGroups(v int, more bool) {
	f.groups = min(1024, max(1, foldBusy/ceil(f.folds, 8)), (f.terms-1)/1024+1)
	if more {
		f.groups = max(f.groups, min(2*foldBusy/ceil(f.folds, 32), f.terms/256))
	}
	f.perGroup = ((f.terms-1)/f.groups + v) / v * v
	f.groups = ceil(f.terms, f.perGroup)
}

// otherColumns sets the team and the grid of a reduction in which a thread folds
// width neighbouring columns.
func (f *folding) otherColumns(width int) {
	f.team = 32
	for f.team > 1 && f.team/2*width >= f.folds {
		f.team /= 2
	}
	for f.team < kernelThreads && f.team*width < f.folds && kernelThreads/f.team*8 > f.perGroup {
		f.team *= 2
	}
	f.grid = ceil(f.folds, f.team*width) * f.groups
	f.variant.traversal, f.variant.width = traverseFoldColumns, uint8(width)
}

// otherRows sets the team and the grid of a reduction in which a team of threads
// folds a row, v elements at a time.
func (f *folding) otherRows(op expr.Op, v int) {
	limit := 16 // vectors of a thread, in teams of 8 threads and more
	if op == expr.ArgMax || op == expr.ArgMin {
		limit = 32
	}
	f.team = 1
	for f.team < kernelThreads && f.team*v < f.perGroup && (f.team < 8 || f.team*limit*v < f.perGroup) {
		f.team *= 2
	}
	f.grid = ceil(f.folds*f.groups, kernelThreads/f.team)
	if !isOrdered(op) {
		for f.team < 32 && f.team*v < f.perGroup && f.grid < foldBusy/8 {
			f.team *= 2
			f.grid = ceil(f.folds*f.groups, kernelThreads/f.team)
		}
	}
	f.variant.traversal, f.variant.width = traverseFold, uint8(v)
}

// denseDims describes the kept or the folded dimensions of dense elements of the call's
// shape. Neighbouring dimensions of the same kind count as one.
type denseDims struct {
	run, step int   // length and stride of the innermost dimension
	strides   []int // strides of all dimensions, innermost first
}

// dense returns the strides that the dimensions would have in dense elements.
func (c *Call) dense(dims *foldDims) (d denseDims) {
	var room [MaxDims]int
	d.strides = room[:0]
	for i := range dims.n {
		at := dims.at[i]
		if i > 0 && dims.at[i-1] == at+1 {
			if len(d.strides) == 1 {
				d.run *= c.Shape[at]
			}
			continue
		}
		stride := 1
		for _, n := range c.Shape[at+1:] {
			stride *= n
		}
		if i == 0 {
			d.run, d.step = c.Shape[at], stride
		}
		d.strides = append(d.strides, stride)
	}
	return d
}

// vectors reports whether the innermost dimension can be read in vectors of n elements.
// divided requires that its length is a multiple of n.
func (d *denseDims) vectors(n int, divided bool) bool {
	return d.step == 1 && (!divided || d.run%n == 0) && allMultiples(n, d.strides[min(1, len(d.strides)):])
}

// allMultiples reports whether all strides are multiples of n.
func allMultiples(n int, strides []int) bool {
	for _, s := range strides {
		if s%n != 0 {
			return false
		}
	}
	return true
}
