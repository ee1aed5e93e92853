package quantum

// stateBlock identifies the states of the samples lo … hi-1 of a set, which are in a slot
// of the engine's memory.
type stateBlock struct {
	of     *samples // nil: the slot is empty
	lo, hi int
	slot   int
}

// tileEngine is the interface of a device to the tile driver.
type tileEngine interface {
	// buildStates builds the states of a block in its slot, replacing the previous ones.
	buildStates(b stateBlock) error
	// cuts returns the indices at which the tiles of the samples lo … hi-1 begin, and hi.
	cuts(of *samples, lo, hi int) []int
	// computeTile multiplies rows of a by columns of b: r samples from i on and c from j
	// on. It stores the tile, and its mirror if K is symmetric. A triangle is a tile on the
	// diagonal, of which only the upper part is computed.
	computeTile(a, b stateBlock, i, r, j, c int, triangle bool) error
}

// tileDriver computes a Gram matrix tile by tile, in the same order on every device.
type tileDriver struct {
	*job
	slots  [2]stateBlock
	builds [2][]int // how often the states of each block of x and of y were built
}

// block is the number of samples whose states are built together: all, or half a tile.
func (d *tileDriver) block() int {
	if d.plan.Keep == Recompute {
		return d.plan.Tile / 2
	}
	return max(d.x.n, d.y.n, 1)
}

// set is 0 for x, 1 for a different y.
func (d *tileDriver) set(of *samples) int {
	if of == d.x {
		return 0
	}
	return 1
}

// computeTiles computes all tiles by e. The columns are visited in alternating directions,
// so that one block of each pair is already in its slot.
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
			if !d.wanted(e, i*block, c*block) {
				continue
			}
			a, err := d.states(e, d.x, i*block, min((i+1)*block, d.x.n), d.slot(d.y, c*block))
			if err != nil {
				return err
			}
			b, err := d.states(e, d.y, c*block, min((c+1)*block, d.y.n), a)
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

// wanted reports whether the rank has yet to compute any tile of the pair of blocks that begins at
// row i and column j.
func (d *tileDriver) wanted(e tileEngine, i, j int) bool {
	if d.part == nil {
		return true
	}
	down, across := e.cuts(d.x, i, min(i+d.block(), d.x.n)), e.cuts(d.y, j, min(j+d.block(), d.y.n))
	for _, i := range down[:len(down)-1] {
		for _, j := range across[:len(across)-1] {
			if _, wanted := d.part.tile(i, j); wanted {
				return true
			}
		}
	}
	return false
}

// slot returns the slot that has the states of these samples, or nil.
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

// multiply computes the tiles of a pair of blocks; for a block with itself those on and
// above the diagonal.
func (d *tileDriver) multiply(e tileEngine, a, b stateBlock) error {
	same := d.symmetric() && a.lo == b.lo
	down, across := e.cuts(d.x, a.lo, a.hi), e.cuts(d.y, b.lo, b.hi)
	for y, i := range down[:len(down)-1] {
		first := 0
		if same {
			first = y
		}
		for x := first; x < len(across)-1; x++ {
			j := across[x]
			if d.part != nil {
				if _, wanted := d.part.tile(i, j); !wanted {
					continue
				}
			}
			if err := e.computeTile(a, b, i, down[y+1]-i, j, across[x+1]-j, same && x == y); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut returns the indices from lo on, a side apart, and then hi.
func cut(lo, hi, side int) (at []int) {
	for ; lo < hi; lo += side {
		at = append(at, lo)
	}
	return append(at, hi)
}

// maxBuilds is the maximum number of times that a block's states were built.
func (d *tileDriver) maxBuilds() (n int) {
	for _, builds := range d.builds {
		for _, b := range builds {
			n = max(n, b)
		}
	}
	return n
}
