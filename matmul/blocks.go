package matmul

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// A block is a range of rows of D that one launch computes, from column col on.
type block struct{ row, rows, col int }

// blocks divides D into blocks of a number of rows; rows = 0 means one block. The blocks of
// a symmetric result begin at the diagonal: b blocks compute (1+1/b)/2 of its elements.
func blocks(m int, rows int, symmetric bool) []block {
	if rows == 0 || rows >= m {
		return []block{{rows: m}}
	}
	out := make([]block, 0, (m+rows-1)/rows)
	for r := 0; r < m; r += rows {
		b := block{row: r, rows: min(rows, m-r)}
		if symmetric {
			b.col = r
		}
		out = append(out, b)
	}
	return out
}

// Blocks are multiples of blockUnit rows, so that each begins on a boundary of
// the largest tile and of the widest alignment. A result that a separate kernel
// squares goes through a temporary buffer, in blocks of at most tempBytes.
const (
	blockUnit = 256
	maxBlocks = 16
	tempBytes = 512 << 20
)

// chooseBlocks chooses the blocks into which the candidate divides D, and returns the
// kernel's predicted cycles for all of them. The matrices of a batch are not divided.
func (c *candidate) chooseBlocks(p Problem, dev device.Capabilities, pitch int, cost func(Problem, cutlass.Kernel, device.Capabilities) float64) float64 {
	total := func(rows int) float64 {
		t := 0.0
		for _, b := range blocks(p.M, rows, p.Symmetric) {
			q := p
			q.M, q.N = b.rows, p.N-b.col
			t += cost(q, c.kernel, dev)
		}
		return t
	}
	if p.Batch > 1 {
		return total(0)
	}
	maxRows := p.M
	if c.separateSquare && c.copyOut {
		maxRows = max(blockUnit, tempBytes/max(1, pitch*p.storedType(c.kernel).Size())/blockUnit*blockUnit)
	}
	best := 0.0
	consider := func(rows int) {
		if rows >= p.M {
			rows = 0
		}
		if t := total(rows); best == 0 || t < best {
			best, c.rows = t, rows
		}
	}
	if maxRows >= p.M {
		consider(0)
	} else if !p.Symmetric {
		consider(maxRows)
	}
	if !p.Symmetric {
		return best
	}
	for n := 2; n <= maxBlocks; n++ {
		if rows := alignUp((p.M+n-1)/n, blockUnit); rows <= maxRows {
			consider(rows)
		}
	}
	if best == 0 {
		consider(maxRows)
	}
	return best
}
