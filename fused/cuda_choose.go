package fused

import "slices"

// preferred returns the variant of a program for aligned arrays whose rows are whole
// vectors.
func preferred(p *Program) kernelVariant {
	f := kernelVariant{traversal: traverseFlat, width: uint8(width(p))}
	for _, l := range p.Leaves {
		switch l.Class {
		case Row, Column:
			f.traversal = max(f.traversal, traverseRows)
		case Strided:
			f.traversal = traverseStrided
		}
	}
	if p.Dst == Strided {
		f.traversal = traverseStrided
	}
	return f
}

// choose sets the variant for the call.
func (w *kernelLaunch) choose() {
	f := preferred(w.p)
	v := int(f.width)
	aligned := func(o *Operand, size, elements int) bool {
		return aligned(o.Buffer, o.Offset*size, min(16, elements*size))
	}
	if f.traversal == traverseStrided {
		w.order()
		f.traversal, f.width = w.strided(v, aligned)
		w.variant = f
		return
	}
	n := w.call.Shape[len(w.call.Shape)-1]
	whole := n%v == 0
	for i := range w.call.Leaves {
		o, leaf := &w.call.Leaves[i], w.p.Leaves[i]
		ok := aligned(o, leaf.DType.Size(), v)
		switch leaf.Class {
		case Dense:
			if !ok {
				f.width = 1
			}
		case Row:
			whole = whole && ok
		}
	}
	if !aligned(&w.dst, w.p.Result().Size(), v) {
		f.width = 1
	}
	if f.traversal == traverseRows && (!whole || f.width == 1 || n/v > maxPiece && rowsTogether(w.p, f)) {
		f = w.unalignedRows(f, n)
	}
	w.variant = f
}

// unalignedRows returns the variant for rows of n elements that are not whole vectors. It is
// a mixed traversal if one launch can index at least as many rows as a vector has elements.
func (w *kernelLaunch) unalignedRows(f kernelVariant, n int) kernelVariant {
	switch {
	case n*int(f.width) <= maxPiece:
		return kernelVariant{traversal: traverseMixed, width: f.width}
	case n <= maxPiece:
		return kernelVariant{traversal: traverseMixed, width: 1}
	}
	w.order()
	return kernelVariant{traversal: traverseStrided, width: 1}
}

// order sorts the dimensions of a strided traversal by the destination's strides,
// innermost first.
func (w *kernelLaunch) order() {
	c := w.call
	rank := len(c.Shape)
	by := make([]int, rank)
	for i := range by {
		by[i] = rank - 1 - i
	}
	dst := w.dst.Strides
	if dst == nil { // dense
		dst = make([]int, rank)
		for i, n := rank-1, 1; i >= 0; i-- {
			dst[i] = n
			n *= c.Shape[i]
		}
	} else {
		slices.SortStableFunc(by, func(i, j int) int { return abs(dst[i]) - abs(dst[j]) })
	}
	pick := func(list []int) []int {
		out := make([]int, rank)
		for i, d := range by {
			out[i] = list[d]
		}
		return out
	}
	w.shape = pick(c.Shape)
	w.strides = [][]int{pick(dst)}
	for i := range c.Leaves {
		w.strides = append(w.strides, pick(c.Leaves[i].Strides))
	}
}

// strided returns the traversal over the sorted dimensions, and the elements of a vector.
// If an operand is contiguous along another dimension than the innermost, strided moves
// that dimension next to the innermost, and the kernel transposes tiles.
func (w *kernelLaunch) strided(v int, aligned func(o *Operand, size, elements int) bool) (traversal, uint8) {
	vectors := w.shape[0]%v == 0
	across := 0
	for j, strides := range w.strides {
		o, size, class := &w.dst, w.p.Result().Size(), Dense
		if j > 0 {
			o, size, class = &w.call.Leaves[j-1], w.p.Leaves[j-1].DType.Size(), w.p.Leaves[j-1].Class
		}
		inner := strides[0]
		switch {
		case class == Single, j > 0 && inner == 0:
		case inner != 1:
			vectors = false
			if across == 0 {
				across = w.contiguous(strides)
			}
		default:
			vectors = vectors && aligned(o, size, v) && allMultiples(v, strides[1:])
		}
	}
	switch {
	case vectors:
		return traverseStrided, uint8(v)
	case across == 0:
		return traverseStrided, 1
	}
	w.shape[1], w.shape[across] = w.shape[across], w.shape[1]
	for _, s := range w.strides {
		s[1], s[across] = s[across], s[1]
	}
	return traverseTiles, 1
}

// contiguous returns the first dimension, other than the innermost, along which an operand is
// contiguous and that is long enough for tiles. It returns 0 if there is none.
func (w *kernelLaunch) contiguous(strides []int) int {
	for i := 1; i < len(strides); i++ {
		if strides[i] == 1 && w.shape[i] >= 4 && w.shape[i]*w.shape[0] >= 512 {
			return i
		}
	}
	return 0
}
