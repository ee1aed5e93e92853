package fused

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// traversal is the order in which a kernel visits the elements. The choice depends on the
// program, and on the call's lengths, strides and addresses. The results are the same.
type traversal uint8

const (
	// traverseFlat: every operand is dense or a single element. A thread computes vectors.
	traverseFlat traversal = iota
	// traverseRows: the shape is [m, n], and rows are whole vectors. A thread stays in one
	// column of vectors. It reads an operand that has one row for all rows only once, and needs
	// no index divisions.
	traverseRows
	// traverseMixed: as traverseRows, but rows are not whole vectors. Vectors extend
	// across the ends of rows.
	traverseMixed
	// traverseStrided: any strides. If vectors have more than one element, the innermost
	// strides are 0 or 1.
	traverseStrided
	// traverseTiles: any strides, element by element in tiles of 32 x 32, for operands
	// that are transposed relative to the destination.
	traverseTiles
	// traverseFold: a reduction whose threads accumulate along a row of terms (cuda_fold.go).
	traverseFold
	// traverseLines: softmax or a norm along lines in the registers of threads.
	traverseLines
	// traverseFoldColumns: a reduction whose threads accumulate neighbouring columns.
	traverseFoldColumns
)

var traversalNames = [...]string{"flat", "rows", "mixed", "strided", "tiles", "fold", "lines", "columns"}

// kernelVariant is a kernel of a program: its traversal, the number of elements of a
// vector, and the parameters of kernels with a reduction.
type kernelVariant struct {
	traversal traversal
	width     uint8
	fold      fold
}

// folds reports whether the kernel has a reduction, a softmax or a norm.
func (f kernelVariant) folds() bool { return f.traversal >= traverseFold }

// kernelThreads is the largest number of threads of a block.
const kernelThreads = 256

// width returns the number of elements of a vector: 16 bytes of the smallest operand that
// has an element for each element of the result, but at most 32 bytes of the largest.
func width(p *Program) int {
	least, most := p.Result().Size(), p.Result().Size()
	for _, l := range p.Leaves {
		if l.Class != Single && l.Class != Column {
			least, most = min(least, l.DType.Size()), max(most, l.DType.Size())
		}
	}
	return max(1, min(16/least, 32/most))
}

// heavy counts the operations with much arithmetic. Several vectors in each thread hide
// their latency.
func heavy(p *Program) int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].Op.IsSmooth() {
			n++
		}
	}
	return n
}

// unroll returns the number of vectors that a thread has in flight. If memory bandwidth is the
// limit, one vector of each operand is best (ops_unary.cuh).
func unroll(p *Program, f kernelVariant) int {
	heavy := heavy(p)
	wide := 0 // bytes of one vector of each operand
	for _, l := range p.Leaves {
		wide += int(f.width) * l.DType.Size()
	}
	switch f.traversal {
	case traverseTiles:
		return 4
	case traverseStrided, traverseMixed:
		if f.width == 1 {
			return 4
		}
		return 1
	case traverseRows:
		switch {
		case rowsTogether(p, f):
			return 8
		case heavy > 0 && f.width <= 4: // rowAfterRow: the rows are not in registers at once
			return 32
		case heavy > 0:
			return 16
		}
		if wide > 64 {
			return 2
		}
		return 4
	}
	if heavy > 0 && wide <= 64 {
		return max(1, min(8, 32/int(f.width)))
	}
	return 1
}

// rowsTogether reports whether a thread of a traversal over rows reads the vectors of all
// its rows before it computes. It does if there is much arithmetic on at most two operands
// of float32, because then there are enough registers. Blocks are small and short, as in
// unary_contiguous of ops_unary.cuh. (H200: GELU of x + row at 4.2 TB/s, the speed of a copy.)
func rowsTogether(p *Program, f kernelVariant) bool {
	if f.traversal != traverseRows || f.width != 4 || heavy(p) == 0 {
		return false
	}
	n := 0
	for _, l := range p.Leaves {
		if l.DType != dtype.Float32 {
			return false
		}
		if l.Class != Single {
			n++
		}
	}
	for i := range p.Steps {
		switch step := &p.Steps[i]; {
		case step.DType != dtype.Float32:
			return false
		case step.Op == expr.Pow, step.Op == expr.Sin, step.Op == expr.Cos, step.Op.IsFunction(): // these use float64 or more registers
			return false
		}
	}
	return n <= 2
}

// rowThreads returns the largest number of threads of a block of a traversal over rows, and
// the minimum number of blocks per multiprocessor, or 0 for none. If the steps read
// elements of rows more than once, eight blocks leave too few registers.
func rowThreads(p *Program, f kernelVariant) (threads, blocks int) {
	switch {
	case !rowsTogether(p, f):
		return kernelThreads, 0
	case reads(p) > 1:
		return 128, 7
	}
	return 128, 8
}

// reads counts the arguments of steps that are leaves with separate elements in each row.
func reads(p *Program) int {
	n := 0
	for i := range p.Steps {
		step := &p.Steps[i]
		for _, a := range step.Args[:step.N] {
			if a.Kind == ToLeaf && p.Leaves[a.N].Class != Single && p.Leaves[a.N].Class != Row {
				n++
			}
		}
	}
	return n
}
