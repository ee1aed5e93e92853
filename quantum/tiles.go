package quantum

import "iter"

// stateBlock identifies the states of the samples lo … hi-1 of a set, which are in a slot
// of the engine's memory.
type stateBlock struct {
	of     *samples // nil: the slot is empty
	lo, hi int
	slot   int
}

// tileEngine is the part of an engine that the tile driver uses.
type tileEngine interface {
	// buildStates builds the states of a block in its slot, replacing the previous ones.
	buildStates(b stateBlock) error
	// cuts returns the indices at which the tiles of the samples lo … hi-1 begin, and hi.
	cuts(of *samples, lo, hi int) []int
	// computeTile multiplies rows of a by columns of b. It stores the tile, and its mirror if K is symmetric. For a
	// triangle it computes only the upper part.
	computeTile(a, b stateBlock, t bounds) error
}

// tileDriver computes a Gram matrix tile by tile, in the same order on every device.
type tileDriver struct {
	*job
	slots  [2]stateBlock
	builds [2][]int // number of times that the states of each block of x and of y were built
}

// block returns the number of samples whose states are built together: all, or half a tile.
func (d *tileDriver) block() int {
	if d.plan.Keep == Recompute {
		return d.plan.Tile / 2
	}
	return max(d.x.n, d.y.n, 1)
}

// set returns 0 for x, and 1 for a different y.
func (d *tileDriver) set(of *samples) int {
	if of == d.x {
		return 0
	}
	return 1
}

// computeTiles computes all tiles with e. It visits the columns in alternating directions, so that one block of each
// pair is already in its slot.
func (d *tileDriver) computeTiles(e tileEngine) error {
	block := d.block()
	for i := 0; i*block < d.x.n; i++ {
		first, last := 0, (d.y.n+block-1)/block-1
		if d.symmetric() {
			first = i
		}
		for s := range last - first + 1 {
			c := first + s
			if i%2 == 1 {
				c = last - s
			}
			rows, cols := [2]int{i * block, min((i+1)*block, d.x.n)}, [2]int{c * block, min((c+1)*block, d.y.n)}
			if !some(d.wanted(e, rows, cols)) {
				continue
			}
			a, err := d.states(e, d.x, rows[0], rows[1], d.slot(d.y, cols[0]))
			if err != nil {
				return err
			}
			b, err := d.states(e, d.y, cols[0], cols[1], a)
			if err != nil {
				return err
			}
			if err := d.multiply(e, *a, *b); err != nil {
				return err
			}
		}
	}
	return nil
}

// bounds are the bounds of a tile: r rows from i on and c columns from j on. A triangle is a tile on the diagonal of a
// symmetric K.
type bounds struct {
	i, r, j, c int
	triangle   bool
}

// pairs returns the number of entries of a tile that are computed, and of those off K's diagonal.
func (t bounds) pairs() (n, off int64) {
	r, c := int64(t.r), int64(t.c)
	if t.triangle {
		return r * (r + 1) / 2, r * (r - 1) / 2
	}
	return r * c, r * c
}

// mirrored returns the bounds of the transpose.
func (t bounds) mirrored() bounds { return bounds{t.j, t.c, t.i, t.r, t.triangle} }

// wanted iterates over the tiles, within the rows and columns from the first to the second number, that are still to be
// computed. For a block of a symmetric K with itself these are the tiles on and above the diagonal.
func (d *tileDriver) wanted(e tileEngine, rows, cols [2]int) iter.Seq[bounds] {
	return func(yield func(bounds) bool) {
		same := d.symmetric() && rows == cols
		down, across := e.cuts(d.x, rows[0], rows[1]), e.cuts(d.y, cols[0], cols[1])
		for y, i := range down[:len(down)-1] {
			for x, j := range across[:len(across)-1] {
				if same && x < y {
					continue
				}
				if d.part != nil {
					if _, wanted := d.part.tile(i, j); !wanted {
						continue
					}
				}
				if !yield(bounds{i, down[y+1] - i, j, across[x+1] - j, same && x == y}) {
					return
				}
			}
		}
	}
}

// some reports whether there are any tiles.
func some(tiles iter.Seq[bounds]) bool {
	for range tiles {
		return true
	}
	return false
}

// slot returns the slot that holds the states of the samples from lo on, or nil.
func (d *tileDriver) slot(of *samples, lo int) *stateBlock {
	for i := range d.slots {
		if s := &d.slots[i]; s.of == of && s.lo == lo {
			return s
		}
	}
	return nil
}

// states returns the slot with the states of these samples. If no slot has them, it builds
// them in a slot other than keep, whose states are still needed.
func (d *tileDriver) states(e tileEngine, of *samples, lo, hi int, keep *stateBlock) (*stateBlock, error) {
	if s := d.slot(of, lo); s != nil {
		return s, nil
	}
	s := &d.slots[0]
	if keep == s {
		s = &d.slots[1]
	}
	builds := &d.builds[d.set(of)]
	if *builds == nil {
		*builds = make([]int, (of.n+d.block()-1)/d.block())
	}
	(*builds)[lo/d.block()]++
	b := stateBlock{of: of, lo: lo, hi: hi}
	if s == &d.slots[1] {
		b.slot = 1
	}
	s.of = nil
	if err := e.buildStates(b); err != nil {
		return nil, err
	}
	*s = b
	return s, nil
}

// multiply computes the tiles of a pair of blocks.
func (d *tileDriver) multiply(e tileEngine, a, b stateBlock) error {
	for t := range d.wanted(e, [2]int{a.lo, a.hi}, [2]int{b.lo, b.hi}) {
		if err := e.computeTile(a, b, t); err != nil {
			return err
		}
	}
	return nil
}

// cut returns the indices from lo on at a distance of side, and then hi.
func cut(lo, hi, side int) (at []int) {
	for ; lo < hi; lo += side {
		at = append(at, lo)
	}
	return append(at, hi)
}

// maxBuilds returns the maximum number of times that a block's states were built.
func (d *tileDriver) maxBuilds() (n int) {
	for _, builds := range d.builds {
		for _, b := range builds {
			n = max(n, b)
		}
	}
	return n
}
