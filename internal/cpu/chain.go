package cpu

import (
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Chain runs a program on the CPU, block by block. If tileCode supports the program, a block stays
// in registers. Otherwise each step of a block runs the kernel of the single operation, so that
// intermediate results stay in the first-level cache. Both paths give the bits of the single
// operations.
type Chain struct {
	Program *expr.Program
	Shape   []int // at least one dimension and one element
	Leaves  []ChainLeaf
	Scalars [][2]uint64
	// Scratch returns memory of the given size and a function that frees it. Some large
	// reductions need it for all the elements that they fold. If it is nil, the memory
	// comes from Go's heap.
	Scratch func(bytes int) (p unsafe.Pointer, free func(), err error)

	inner       int // length of the innermost dimension
	flat        bool
	length      int // elements of a block
	slot        [expr.MaxSteps]uint8
	slots       int
	kernels     [expr.MaxSteps]denseKernel
	tiles       tileCode
	code        [8]tileCodeStep // memory of a short tiles.steps
	nonTemporal bool            // tiles are written with non-temporal stores
}

// ChainLeaf is an array that a chain reads: the address of element (0, 0, …) and the
// strides in elements.
type ChainLeaf struct {
	P       unsafe.Pointer
	Strides []int
}

// A block takes chainBytes in the widest type of its chain, and has at least
// chainShort elements.
const (
	chainBytes = 4 << 10
	chainShort = 512
	chainLong  = 1 << 14 // elements of a block that needs no scratch memory
	chainFew   = 1 << 10 // elements below which a chain is too short to compile to tiles
)

// chainWork is the scratch memory of one goroutine in a chain: for every leaf that must
// be gathered, and for the results of the steps.
type chainWork struct {
	block [expr.MaxLeaves + expr.MaxSteps + 1][chainBytes / 16]complex128
	tiles tileWork
}

var chainWorks = sync.Pool{New: func() any { return new(chainWork) }}

// prepare chooses the block length, the slots and the kernels. It must be called once,
// before anything else.
func (c *Chain) prepare() {
	c.inner, c.flat = c.Shape[len(c.Shape)-1], true
	widest, n := 1, 1
	for _, l := range c.Program.Leaves {
		widest = max(widest, l.DType.Size())
		c.flat = c.flat && (l.Class == expr.Dense || l.Class == expr.Single)
	}
	for i := range c.Program.Steps {
		widest = max(widest, c.Program.Steps[i].DType.Size())
	}
	for _, d := range c.Shape {
		n *= d
	}
	c.length = chainBytes / widest
	if n >= chainFew {
		c.tiles = newTileCode(c.Program, c.code[:0])
	}
	c.assignSlots()
	for i := range c.Program.Steps {
		c.kernels[i] = denseKernelOf(&c.Program.Steps[i], c.Program.TypeOf(c.Program.Steps[i].Args[0]))
	}
}

// assignSlots gives every step a slot of scratch memory. A step reuses the slot of an
// argument that no later step reads if both have one size and the kernel works in place;
// otherwise it gets a free slot.
func (c *Chain) assignSlots() {
	p := c.Program
	last := p.LastReads()
	var room [expr.MaxSteps]uint8
	free := room[:0]
	for i := range p.Steps {
		s := &p.Steps[i]
		at := -1
		var ended [3]uint8
		done := ended[:0]
		for j, a := range s.Args[:s.N] {
			if a.Kind != expr.ToStep || last[a.N] != i {
				continue
			}
			seen := false
			for _, b := range s.Args[:j] {
				seen = seen || a == b
			}
			switch {
			case seen:
			case at < 0 && s.Op != expr.None && p.Steps[a.N].DType.Size() == s.DType.Size():
				at = int(c.slot[a.N])
			default:
				done = append(done, c.slot[a.N])
			}
		}
		switch {
		case at >= 0:
		case len(free) > 0:
			at, free = int(free[len(free)-1]), free[:len(free)-1]
		default:
			at = c.slots
			c.slots++
		}
		c.slot[i] = uint8(at)
		free = append(free, done...)
	}
}

// Elementwise computes the chain's last step into dst, the address of element (0, 0, …);
// strides are in elements. A leaf may have the elements of dst if both have the same
// element size; otherwise it must not overlap dst.
func (c *Chain) Elementwise(dst unsafe.Pointer, ds []int) error {
	c.prepare()
	n, size := 1, c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	for _, d := range c.Shape {
		n *= d
	}
	if c.takesRows(dst, ds) {
		c.rows(dst, ds)
		return nil
	}
	dense := c.Program.Dst == expr.Dense
	nonTemporal := dense && streams(n*size)
	if c.tiles.steps != nil && dense {
		c.nonTemporal, nonTemporal = nonTemporal, false // the tiles use non-temporal stores themselves
		c.lengthenBlocks()
	}
	part := minPart
	for i := range c.Program.Steps {
		part = min(part, partFor(c.Program.Steps[i].Op))
	}
	if n <= part { // no closure, which would be in Go's heap
		return c.elements(dst, ds, nonTemporal, 0, n)
	}
	return c.parallel(dst, ds, nonTemporal, n, part)
}

// parallel computes n elements into dst, by several goroutines in parts of at least part elements.
func (c *Chain) parallel(dst unsafe.Pointer, ds []int, nonTemporal bool, n, part int) error {
	var failed firstError
	Parallel(n, part, func(lo, hi int) {
		if err := c.elements(dst, ds, nonTemporal, lo, hi); err != nil {
			failed.set(err)
		}
	})
	return failed.err
}

// elements computes the elements lo … hi-1 into dst. With nonTemporal, blocks are stored in a
// dense dst by non-temporal stores.
func (c *Chain) elements(dst unsafe.Pointer, ds []int, nonTemporal bool, lo, hi int) error {
	dense, size := c.Program.Dst == expr.Dense, c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	w := chainWorks.Get().(*chainWork)
	defer chainWorks.Put(w)
	for m := 0; lo < hi; lo += m {
		m = c.blockLength(lo, hi)
		var to unsafe.Pointer
		if dense && !nonTemporal {
			to = unsafe.Add(dst, lo*size)
		}
		from, err := c.block(w, lo, m, to)
		switch {
		case err != nil:
			return err
		case nonTemporal:
			stream(unsafe.Add(dst, lo*size), from, m*size)
		case !dense:
			c.scatter(dst, ds, from, lo, m)
		}
	}
	if nonTemporal || c.nonTemporal {
		fenceStores()
	}
	return nil
}

// scatter copies n elements at from to the places in dst of the elements from number k on.
func (c *Chain) scatter(dst unsafe.Pointer, ds []int, from unsafe.Pointer, k, n int) {
	size := c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	c.spans(ds, k, n, func(off, at, m, step int) {
		copySpan(unsafe.Add(dst, off*size), step*size, unsafe.Add(from, at*size), size, size, m)
	})
}

// lengthenBlocks makes blocks longer if tiles compute them into the result and no leaf
// needs gathering.
func (c *Chain) lengthenBlocks() {
	for i := range c.Leaves {
		last := c.Leaves[i].Strides[len(c.Shape)-1]
		if !c.flat && (c.inner < chainShort || last != 0 && last != 1) {
			return
		}
	}
	c.length = chainLong
}

// firstError keeps the first error that is set.
type firstError struct {
	once sync.Once
	err  error
}

func (f *firstError) set(err error) { f.once.Do(func() { f.err = err }) }

// blockLength returns the length of the block that begins at element k. A block does not
// cross the end of the innermost dimension if that is long and an operand is not dense.
func (c *Chain) blockLength(k, end int) int {
	n := min(c.length, end-k)
	if !c.flat && c.inner >= chainShort {
		n = min(n, c.inner-k%c.inner)
	}
	return n
}

// spans calls f for every span of the innermost dimension among n elements from number k on: f is
// given the span's offset in elements, the number of elements before it, its length and its
// stride.
func (c *Chain) spans(strides []int, k, n int, f func(off, at, n, step int)) {
	last := len(c.Shape) - 1
	step, i, row := strides[last], k%c.inner, k/c.inner
	for at := 0; at < n; {
		// The rows of one matrix are evenly spaced.
		base, rows := c.outer(strides, row), 1
		if last > 0 {
			rows = c.Shape[last-1] - row%c.Shape[last-1]
		}
		row += rows
		for ; rows > 0 && at < n; rows-- {
			m := min(n-at, c.inner-i)
			f(base+i*step, at, m, step)
			at += m
			i = 0
			if last > 0 {
				base += strides[last-1]
			}
		}
	}
}

// outer returns the offset, in elements, of a row along the innermost dimension.
func (c *Chain) outer(strides []int, row int) (off int) {
	for d := len(c.Shape) - 2; d >= 0; d-- {
		off += row % c.Shape[d] * strides[d]
		row /= c.Shape[d]
	}
	return off
}

// argument is an operand of a step: n contiguous elements, or one element for all.
type argument struct {
	p   unsafe.Pointer
	one bool
}

var (
	oneApart = []int{1}
	noApart  = []int{0}
)

func (a argument) strides() []int {
	if a.one {
		return noApart
	}
	return oneApart
}

// block computes n elements from number k on, at most c.length, and returns their
// address. That is to or, if to is nil, an address in w.
func (c *Chain) block(w *chainWork, k, n int, to unsafe.Pointer) (unsafe.Pointer, error) {
	var leaves [expr.MaxLeaves]argument
	for i := range c.Leaves {
		leaves[i] = c.leaf(w, i, k, n)
	}
	p := c.Program
	size := p.Steps[len(p.Steps)-1].DType.Size()
	m := n * size &^ (tileBytes - 1) / size
	if c.tiles.steps == nil || m == 0 {
		return c.steps(w, &leaves, n, to)
	}
	if to == nil {
		to = unsafe.Pointer(&w.block[len(w.block)-1])
	}
	c.tiles.run(&w.tiles, p, &leaves, c.Scalars, to, m, c.nonTemporal)
	if m == n {
		return to, nil
	}
	for i := range c.Leaves {
		if !leaves[i].one {
			leaves[i].p = unsafe.Add(leaves[i].p, m*size)
		}
	}
	_, err := c.steps(w, &leaves, n-m, unsafe.Add(to, m*size))
	return to, err
}

// steps is block without tiles: one step after the other.
func (c *Chain) steps(w *chainWork, leaves *[expr.MaxLeaves]argument, n int, to unsafe.Pointer) (unsafe.Pointer, error) {
	p := c.Program
	shape := [1]int{n}
	var at [expr.MaxSteps]unsafe.Pointer
	for i := range p.Steps {
		s := &p.Steps[i]
		var in [3]argument
		for j, a := range s.Args[:s.N] {
			switch a.Kind {
			case expr.ToLeaf:
				in[j] = leaves[a.N]
			case expr.ToScalar:
				in[j] = argument{unsafe.Pointer(&c.Scalars[a.N]), true}
			default:
				in[j] = argument{at[a.N], false}
			}
		}
		at[i] = unsafe.Pointer(&w.block[expr.MaxLeaves+int(c.slot[i])])
		if i == len(p.Steps)-1 && to != nil {
			at[i] = to
		}
		if c.kernels[i].run(at[i], in, n) {
			continue
		}
		if err := runStep(s, p.TypeOf(s.Args[0]), shape[:], in, at[i]); err != nil {
			return nil, &expr.StepError{Step: i, Err: err}
		}
	}
	return at[len(p.Steps)-1], nil
}

// runStep computes a block of one step by the kernel of its operation.
func runStep(s *expr.Step, xt dtype.DType, shape []int, in [3]argument, dst unsafe.Pointer) error {
	switch {
	case s.Op == expr.None:
		return Cast(xt, s.DType, shape, in[0].p, in[0].strides(), dst, oneApart)
	case s.N == 1:
		return Unary(s.Op, xt, s.DType, shape, in[0].p, in[0].strides(), dst, oneApart)
	case s.N == 2:
		return Binary(s.Op, xt, s.DType, shape, in[0].p, in[0].strides(), in[1].p, in[1].strides(), dst, oneApart)
	}
	return Ternary(s.Op, s.DType, shape, in[0].p, in[0].strides(), in[1].p, in[1].strides(), in[2].p, in[2].strides(), dst, oneApart)
}

// leaf returns n elements from number k on of a leaf: in place if they are contiguous or
// one repeated element, otherwise gathered in w.
func (c *Chain) leaf(w *chainWork, i, k, n int) argument {
	l, size := &c.Leaves[i], c.Program.Leaves[i].DType.Size()
	switch c.Program.Leaves[i].Class {
	case expr.Dense:
		return argument{unsafe.Add(l.P, k*size), false}
	case expr.Single:
		return argument{l.P, true}
	}
	var a argument
	c.spans(l.Strides, k, n, func(off, at, m, step int) {
		if m == n && (step == 0 || step == 1) {
			a = argument{unsafe.Add(l.P, off*size), step == 0}
			return
		}
		b := unsafe.Pointer(&w.block[i])
		copySpan(unsafe.Add(b, at*size), size, unsafe.Add(l.P, off*size), step*size, size, m)
		a.p = b
	})
	return a
}
