package fused

import "slices"

func (w *kernelLaunch) launchFlat(stream uint64) error {
	at := w.addresses()
	w.packOperands(&at)
	n, v := w.call.Size(), int(w.variant.width)
	w.packLong(n / v)
	w.packLong(n % v)
	return w.launchItems(stream, max(n/v, n%v), unroll(w.p, w.variant))
}

func (w *kernelLaunch) launchRows(stream uint64) error {
	at := w.addresses()
	m, columns := w.call.Shape[0], w.call.Shape[1]/int(w.variant.width)
	// The widest block that wastes few threads at the end of a row.
	threads, _ := rowThreads(w.p, w.variant)
	bx := threads
	for bx > 32 && (bx/2 >= columns || ceil(columns, bx)*bx*8 > columns*9 && ceil(columns, bx/2)*(bx/2) < ceil(columns, bx)*bx) {
		bx /= 2
	}
	for bx > 1 && bx/2 >= columns {
		bx /= 2
	}
	by := threads / bx
	each := by * unroll(w.p, w.variant)
	if rowsTogether(w.p, w.variant) {
		return w.launchRowsTogether(stream, &at, bx, by, each*maxGridY)
	}
	groups := ceil(m, each)
	w.packOperands(&at)
	w.packLong(m)
	w.packLong(groups)
	w.packLong(columns)
	return w.launchGrid(stream, [3]int{ceil(columns, bx), min(groups, maxGridY), 1}, [3]int{bx, by, 1})
}

// launchRowsTogether launches the kernel in which a block computes one group of rows. A launch computes
// at most `most` rows.
func (w *kernelLaunch) launchRowsTogether(stream uint64, at *[1 + MaxLeaves]uint64, bx, by, most int) error {
	m, n := w.call.Shape[0], w.call.Shape[1]
	columns := n / int(w.variant.width)
	for r := 0; r < m; r += most {
		rows := min(most, m-r)
		w.packOperands(at)
		w.packWord(uint32(rows))
		w.packWord(uint32(columns))
		groups := ceil(rows, by*unroll(w.p, w.variant))
		if err := w.launchGrid(stream, [3]int{ceil(columns, bx), groups, 1}, [3]int{bx, by, 1}); err != nil {
			return err
		}
		w.skipRows(at, rows, n)
	}
	return nil
}

// skipRows advances the addresses by a number of rows of n elements.
func (w *kernelLaunch) skipRows(at *[1 + MaxLeaves]uint64, rows, n int) {
	at[0] += uint64(rows * n * w.p.Result().Size())
	for i, l := range w.p.Leaves {
		switch l.Class {
		case Dense:
			at[1+i] += uint64(rows * n * l.DType.Size())
		case Column:
			at[1+i] += uint64(rows * l.DType.Size())
		}
	}
}

func (w *kernelLaunch) launchMixed(stream uint64) error {
	m, n, v := w.call.Shape[0], w.call.Shape[1], int(w.variant.width)
	// A launch must begin at a multiple of v rows, so that it begins at a vector.
	step := max(1, maxPiece/n/v) * v
	at := w.addresses()
	for r := 0; r < m; r += step {
		size := min(step, m-r) * n
		w.packOperands(&at)
		w.packWord(uint32(size / v))
		w.packWord(uint32(size % v))
		w.packDivider(n)
		if err := w.launchItems(stream, max(size/v, size%v), unroll(w.p, w.variant)); err != nil {
			return err
		}
		w.skipRows(&at, step, n)
	}
	return nil
}

// launchParts launches a strided traversal in parts of at most maxPiece elements each.
func (w *kernelLaunch) launchParts(stream uint64, shape []int, at [1 + MaxLeaves]uint64) error {
	size, longest := 1, len(shape)-1
	for i, n := range shape {
		size *= n
		if n > shape[longest] {
			longest = i
		}
	}
	if size <= maxPiece {
		return w.launchPart(stream, shape, &at)
	}
	// Split the longest dimension in half.
	v := int(w.variant.width)
	if longest == 0 && len(shape) > 1 && shape[0] < 2*v { // a vector cannot be split
		longest = 1
		for i, n := range shape[1:] {
			if n > shape[longest] {
				longest = 1 + i
			}
		}
	}
	half := shape[longest] / 2
	if longest == 0 { // it is the dimension of the vectors
		half = half / v * v
	}
	for _, part := range [][2]int{{0, half}, {half, shape[longest] - half}} {
		inner := slices.Clone(shape)
		inner[longest] = part[1]
		from := at
		for j, s := range w.strides {
			size := w.p.Result().Size()
			if j > 0 {
				size = w.p.Leaves[j-1].DType.Size()
			}
			from[j] += uint64(part[0] * s[longest] * size)
		}
		if err := w.launchParts(stream, inner, from); err != nil {
			return err
		}
	}
	return nil
}

func (w *kernelLaunch) launchPart(stream uint64, shape []int, at *[1 + MaxLeaves]uint64) error {
	w.packOperands(at)
	for _, s := range w.strides {
		for _, n := range s {
			w.packLong(n)
		}
	}
	v := int(w.variant.width)
	if w.variant.traversal == traverseTiles {
		across, down := ceil(shape[0], 32), ceil(shape[1], 32)
		w.packWord(uint32(shape[0]))
		w.packWord(uint32(shape[1]))
		w.packDivider(across)
		w.packDivider(down)
		tiles := across * down
		for i, n := range shape {
			w.packDivider(n)
			if i >= 2 {
				tiles *= n
			}
		}
		return w.launchGrid(stream, [3]int{tiles, 1, 1}, [3]int{kernelThreads, 1, 1})
	}
	items := 1
	for i, n := range shape {
		if i == 0 {
			n /= v
		}
		items *= n
	}
	w.packWord(uint32(items))
	for i, n := range shape {
		if i == 0 {
			n /= v
		}
		w.packDivider(n)
	}
	return w.launchItems(stream, items, unroll(w.p, w.variant))
}
