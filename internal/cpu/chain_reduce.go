package cpu

import (
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

const (
	// chainLines is the length of the longest lines that a goroutine computes before it folds them.
	chainLines = 1 << 16
	// chainGroup is the number of elements of shorter lines that it computes at once: the fold reads them from the cache.
	chainGroup = 1 << 14
	// longProducts is the length of lines from which a sum of products reads its factors once, without storing products.
	longProducts = 1 << 10
)

// Reduce folds the chain's last step along the dimensions whose bit is set in axes into
// dst, as the function Reduce does. If these are the last dimensions and lines are short,
// it works on a few lines at a time. Otherwise it stores all elements in scratch memory. For small windows it also stores
// them, in the order of a leaf, if that order has longer spans.
func (c *Chain) Reduce(axes uint32, dst unsafe.Pointer) error {
	c.prepare()
	lines, length := 1, 1
	strided := false // a folded dimension lies before one that is not
	for d, n := range c.Shape {
		if axes>>d&1 != 0 {
			length *= n
			continue
		}
		strided = strided || length > 1
		lines *= n
	}
	r := c.Program.Reduction
	dt, to := c.Program.Steps[len(c.Program.Steps)-1].DType, r.DType.Size()
	if !strided && length >= longProducts && (r.Op == expr.Sum || r.Op == expr.Mean) {
		if x, y := c.product(); x != nil {
			args := reduceArgs{xt: dt, shape: []int{lines, length}, axes: 2, x: x, xs: []int{length, 1}, y: y, dst: dst}
			if r.Op == expr.Mean {
				mean(args)
			} else {
				reduceSum(args)
			}
			return nil
		}
	}
	if !c.flat && c.inner <= chainGather && length <= chainWindow && lines*length >= chainLong {
		if o, strides := c.inStorageOrder(); o != nil {
			if p, free, err := c.scratch(lines * length * dt.Size()); err == nil {
				defer free()
				o.prepare()
				return c.fold(axes, dst, o, lines*length, p, strides)
			} // without the memory, the lines can still be computed a few at a time
		}
	}
	if strided || length > chainLines {
		return c.reduceWhole(axes, dst, lines*length)
	}
	group := max(chainGroup/length, 1)
	var failed firstError
	Parallel(lines, max(chainLines/length, 1), func(lo, hi int) {
		w := chainWorks.Get().(*chainWork)
		defer chainWorks.Put(w)
		scratch := chainScratches.Get().(*chainScratch)
		defer chainScratches.Put(scratch)
		p := unsafe.Pointer(scratch)
		for ; lo < hi; lo += group {
			n := min(group, hi-lo)
			err := c.fill(w, lo*length, (lo+n)*length, p)
			if err == nil {
				err = Reduce(r.Op, dt, r.DType, []int{n, length}, 2, p, []int{length, 1}, unsafe.Add(dst, lo*to))
			}
			if err != nil {
				failed.set(err)
				return
			}
		}
	})
	return failed.err
}

// product returns the factors if the chain is a product of two operands that lie in order, or a square, of Float32 or Float64.
func (c *Chain) product() (x, y unsafe.Pointer) {
	s := &c.Program.Steps[0]
	if len(c.Program.Steps) != 1 || s.DType != dtype.Float32 && s.DType != dtype.Float64 {
		return nil, nil
	}
	other := s.Args[0]
	switch s.Op {
	case expr.Mul:
		other = s.Args[1]
	case expr.Square, expr.AbsSquare:
	default:
		return nil, nil
	}
	if !c.isDense(s.Args[0]) || !c.isDense(other) || c.Program.Leaves[s.Args[0].N].DType != s.DType || c.Program.Leaves[other.N].DType != s.DType {
		return nil, nil
	}
	return c.Leaves[s.Args[0].N].P, c.Leaves[other.N].P
}

// chainScratch holds chainLines elements of any type.
type chainScratch [chainLines]complex128

var chainScratches = sync.Pool{New: func() any { return new(chainScratch) }}

// fill computes the elements lo … hi-1 into memory at p.
func (c *Chain) fill(w *chainWork, lo, hi int, p unsafe.Pointer) error {
	if c.isDirect() {
		var leaves [3]argument
		for i, a := range c.Program.Steps[0].Args[:2] {
			leaves[i] = c.leaf(w, int(a.N), lo, hi-lo)
		}
		c.kernels[0].run(p, leaves, hi-lo)
		return nil
	}
	size := c.Program.Steps[len(c.Program.Steps)-1].DType.Size()
	for at, n := lo, 0; at < hi; at += n {
		n = c.blockLength(at, hi)
		// A pointer must not point after the last element, because that may be outside of any
		// allocation.
		if _, err := c.block(w, at, n, unsafe.Add(p, (at-lo)*size)); err != nil {
			return err
		}
	}
	return nil
}

// isDirect reports whether the chain is one operation on two operands that lie in order, which its kernel reads itself.
func (c *Chain) isDirect() bool {
	s := &c.Program.Steps[0]
	return len(c.Program.Steps) == 1 && c.kernels[0].two != nil && c.isDense(s.Args[0]) && c.isDense(s.Args[1])
}

func (c *Chain) isDense(a expr.Ref) bool {
	return a.Kind == expr.ToLeaf && c.Program.Leaves[a.N].Class == expr.Dense
}

// scratch returns memory for a reduction. Small amounts come from a pool.
func (c *Chain) scratch(bytes int) (p unsafe.Pointer, free func(), err error) {
	if bytes <= int(unsafe.Sizeof(chainScratch{})) {
		s := chainScratches.Get().(*chainScratch)
		return unsafe.Pointer(s), func() { chainScratches.Put(s) }, nil
	}
	if c.Scratch != nil {
		return c.Scratch(bytes)
	}
	all := make([]complex128, (bytes-1)/16+1)
	return unsafe.Pointer(unsafe.SliceData(all)), func() {}, nil
}

// reduceWhole stores all n elements in scratch memory and folds them.
func (c *Chain) reduceWhole(axes uint32, dst unsafe.Pointer, n int) error {
	dt := c.Program.Steps[len(c.Program.Steps)-1].DType
	p, free, err := c.scratch(n * dt.Size())
	if err != nil {
		return err
	}
	defer free()
	strides := make([]int, len(c.Shape))
	for d, m := len(c.Shape)-1, 1; d >= 0; d-- {
		strides[d] = m
		m *= c.Shape[d]
	}
	return c.fold(axes, dst, c, n, p, strides)
}

// fold stores the n elements of o at p and folds them. strides are those of c's dimensions there.
func (c *Chain) fold(axes uint32, dst unsafe.Pointer, o *Chain, n int, p unsafe.Pointer, strides []int) error {
	r, dt := c.Program.Reduction, c.Program.Steps[len(c.Program.Steps)-1].DType
	var failed firstError
	Parallel(n, minPart, func(lo, hi int) {
		w := chainWorks.Get().(*chainWork)
		defer chainWorks.Put(w)
		if err := o.fill(w, lo, hi, unsafe.Add(p, lo*dt.Size())); err != nil {
			failed.set(err)
		}
	})
	if failed.err != nil {
		return failed.err
	}
	return Reduce(r.Op, dt, r.DType, c.Shape, axes, p, strides, dst)
}
