package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// takesRows reports whether rows can compute the chain into dst: not all operands are
// dense, their rows are contiguous or repeat one element, and a row holds a tile. If rows
// are long and the result is dense, the blocks are used instead, because they can use
// non-temporal stores.
func (c *Chain) takesRows(dst unsafe.Pointer, ds []int) bool {
	last := len(c.Shape) - 1
	bytes := c.inner * c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	dense := c.Program.Dst == expr.Dense
	if c.tiles.steps == nil || last == 0 || bytes < tileBytes || ds[last] != 1 || dense && (c.flat || c.inner >= chainShort) {
		return false
	}
	for i := range c.Leaves {
		if s := c.Leaves[i].Strides[last]; s != 0 && s != 1 {
			return false
		}
		// The last two tiles of a row overlap, so the second one reads elements of the leaf
		// that the first one has overwritten.
		if bytes%tileBytes != 0 && c.overlaps(&c.Leaves[i], dst, ds) {
			return false
		}
	}
	return true
}

// overlaps reports whether the leaf and the result may share memory. Their
// elements have one size.
func (c *Chain) overlaps(l *ChainLeaf, dst unsafe.Pointer, ds []int) bool {
	size := c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	first, end := c.extent(uintptr(l.P), l.Strides, size)
	from, to := c.extent(uintptr(dst), ds, size)
	return first < to && from < end
}

// extent returns the address of an operand's first byte and the address after its last.
func (c *Chain) extent(p uintptr, strides []int, size int) (first, end uintptr) {
	first, end = p, p+uintptr(size)
	for d, n := range c.Shape {
		if span := (n - 1) * strides[d] * size; span < 0 {
			first -= uintptr(-span)
		} else {
			end += uintptr(span)
		}
	}
	return first, end
}

// rows computes the chain by tiles, row by row along the innermost dimension, reading the
// leaves in place. The last tile of a row ends with the row and overlaps the one before.
func (c *Chain) rows(dst unsafe.Pointer, ds []int) {
	last, size, n := len(c.Shape)-1, c.Program.Steps[len(c.Program.Steps)-1].DType.Size(), 1
	for _, d := range c.Shape[:last] {
		n *= d
	}
	bytes := c.inner * size
	Parallel(n, max(minPart/c.inner, 1), func(lo, hi int) {
		work := chainWorks.Get().(*chainWork)
		defer chainWorks.Put(work)
		w := &work.tiles
		var leaves [expr.MaxLeaves]argument
		for i := range c.Leaves {
			l := &c.Leaves[i]
			leaves[i] = argument{unsafe.Add(l.P, c.outer(l.Strides, lo)*size), l.Strides[last] == 0}
		}
		to := unsafe.Add(dst, c.outer(ds, lo)*size)
		c.tiles.bind(w, c.Program, &leaves, c.Scalars, to, false)
		for row := lo; ; {
			runTiles(unsafe.SliceData(w.steps), len(w.steps), bytes&^(tileBytes-1))
			if bytes%tileBytes != 0 {
				for i := range w.steps {
					if s := &w.steps[i]; s.mask != 0 {
						s.p = unsafe.Add(s.p, bytes-tileBytes)
					}
				}
				runTiles(unsafe.SliceData(w.steps), len(w.steps), tileBytes)
			}
			if row++; row == hi {
				break
			}
			// The rows of one matrix are evenly spaced; the next matrix may be anywhere.
			within := row%c.Shape[last-1] != 0
			for i := range c.Leaves {
				l := &c.Leaves[i]
				if within {
					leaves[i].p = unsafe.Add(leaves[i].p, l.Strides[last-1]*size)
				} else {
					leaves[i].p = unsafe.Add(l.P, c.outer(l.Strides, row)*size)
				}
				if leaves[i].one && (!within || l.Strides[last-1] != 0) {
					w.leaves[i].repeat(leaves[i].p, size)
				}
			}
			to = unsafe.Add(dst, c.outer(ds, row)*size)
			for i, s := range c.tiles.steps {
				switch {
				case w.steps[i].mask == 0:
				case s.from == toResult:
					w.steps[i].p = to
				default:
					w.steps[i].p = leaves[s.from.N].p
				}
			}
		}
		clear(w.steps) // drop the references to the operands
	})
}
