package matmul

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// A block is rows of D that are computed by one launch, from column col on.
type block struct{ row, rows, col int }

// blocks cuts D into blocks of the given number of rows, all of it where rows
// is 0. Those of a symmetric result begin at the diagonal: with b blocks
// (1+1/b)/2 of the work is left.
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

// Blocks are multiples of blockUnit rows, so that each begins where the
// largest tile and the widest alignment do. A result that is squared on its
// own is written aside, by blocks of at most asideBytes.
const (
	blockUnit  = 256
	maxBlocks  = 16
	asideBytes = 512 << 20
)

// block decides into which blocks the candidate cuts D and returns what the
// kernel takes for all of them. Members of a batch are not cut.
func (c *candidate) block(p Problem, dev device.Capabilities, pitch int, cost func(Problem, cutlass.Kernel, device.Capabilities) float64) float64 {
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
	most := p.M
	if c.square && c.strip {
		most = max(blockUnit, asideBytes/max(1, pitch*p.written(c.kernel).Size())/blockUnit*blockUnit)
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
	if most >= p.M {
		consider(0)
	} else if !p.Symmetric {
		consider(most)
	}
	if !p.Symmetric {
		return best
	}
	for n := 2; n <= maxBlocks; n++ {
		if rows := alignUp((p.M+n-1)/n, blockUnit); rows <= most {
			consider(rows)
		}
	}
	if best == 0 {
		consider(most)
	}
	return best
}
