package ops

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// maxDims is the largest number of dimensions of a kernel's operands. Shapes that have more
// after they were collapsed are computed in several launches.
const maxDims = 8

// maxViews is the largest number of operands of a call, with the destination.
const maxViews = 4

// Scalar holds one element: the bytes of its type, little-endian.
type Scalar [2]uint64

// call is one operation that is about to run: its shape, and the strides and the first
// element of each operand, the destination first. Calls are pooled: for small arrays their
// allocation would dominate an operation's cost.
type call struct {
	kernel  kernel
	op      expr.Op
	scalars [2]Scalar // the scalar operands; Apply3 has up to two, other calls one
	first   bool      // the scalar is the left operand
	dev     *device.Device
	views   [maxViews]device.View
	n       int // number of views
	shape   []int
	strides [maxViews][]int
	offsets [maxViews]int

	bufs [maxViews]*device.Buffer
	size [1]int
	dims [1 + maxViews][maxDims]int // shape and strides, collapsed
}

// kernel is the function of a call on either kind of device.
type kernel struct {
	cpu  func(*call) error
	cuda func(c *call, lib entries, ordinal int, stream uint64) error
}

// entries are the functions that both the kernel library and the device's launch queue
// have.
type entries interface {
	Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int) error
	Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int, x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int) error
	Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int, x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int) error
	Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int) error
	Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi, dst uint64, dstStrides []int) error
	Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64) error
	Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32, x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64) error
}

var calls = sync.Pool{New: func() any { return new(call) }}

// unitStride holds the strides of a dense operand, which has one dimension in a kernel.
var unitStride = []int{1}

// newCall returns a call on views. The shape is that of the first view, the destination,
// and the other views are broadcast to it.
func newCall(k kernel, views ...device.View) *call {
	c := calls.Get().(*call)
	c.kernel, c.n = k, copy(c.views[:], views)
	shape := views[0].Layout.Shape
	dense := true
	for i := range views {
		v := &c.views[i]
		c.bufs[i], c.offsets[i] = v.Buffer, v.Layout.Offset
		dense = dense && (i == 0 || slices.Equal(v.Layout.Shape, shape)) && v.Layout.IsDense()
	}
	if dense {
		c.size[0] = views[0].Layout.Size()
		c.shape = c.size[:]
		for i := range views {
			c.strides[i] = unitStride
		}
		return c
	}
	c.collapse()
	return c
}

// collapse merges neighbouring dimensions that have one common stride in each operand, and
// drops those of length 1, as layout.Collapse does.
func (c *call) collapse() {
	shape := c.views[0].Layout.Shape
	if len(shape) > maxDims {
		var strides [maxViews][]int
		for i := range c.n {
			l, _ := c.views[i].Layout.BroadcastTo(shape) // cannot fail: the caller has checked it
			strides[i] = l.Strides
		}
		var collapsed [][]int
		c.shape, collapsed = layout.Collapse(shape, strides[:c.n]...)
		copy(c.strides[:], collapsed)
		return
	}
	k := 0 // dimensions so far
	for d, n := range shape {
		if n == 1 {
			continue
		}
		var step [maxViews]int
		merge := k > 0
		for i := range c.n {
			step[i] = stride(&c.views[i].Layout, d-len(shape))
			merge = merge && c.dims[1+i][k-1] == step[i]*n
		}
		if merge {
			k--
			n *= c.dims[0][k]
		}
		c.dims[0][k] = n
		for i := range c.n {
			c.dims[1+i][k] = step[i]
		}
		k++
	}
	if k == 0 {
		c.dims[0][0], k = 1, 1
		for i := range c.n {
			c.dims[1+i][0] = 0
		}
	}
	c.shape = c.dims[0][:k]
	for i := range c.n {
		c.strides[i] = c.dims[1+i][:k]
	}
}

// stride returns the stride along an axis counted from the end (-1 is the last), or 0 if
// the layout is broadcast along it.
func stride(l *layout.Layout, axis int) int {
	if axis += len(l.Shape); axis < 0 || l.Shape[axis] == 1 {
		return 0
	}
	return l.Strides[axis]
}

// each runs f on parts of at most maxDims dimensions.
func (c *call) each(f func(*call) error) error {
	if len(c.shape) <= maxDims {
		return f(c)
	}
	inner := *c
	inner.shape = c.shape[1:]
	for i := range c.n {
		inner.strides[i] = c.strides[i][1:]
	}
	for range c.shape[0] {
		if err := inner.each(f); err != nil {
			return err
		}
		for i := range c.n {
			inner.offsets[i] += c.strides[i][0]
		}
	}
	return nil
}

// ptr returns the host address of operand i.
func (c *call) ptr(i int) unsafe.Pointer {
	return unsafe.Add(c.views[i].Buffer.Ptr(), c.offsets[i]*c.views[i].DType.Size())
}

// addr returns the device address of operand i.
func (c *call) addr(i int) uint64 {
	return c.views[i].Buffer.Addr() + uint64(c.offsets[i]*c.views[i].DType.Size())
}

// run launches the call on s and returns it to the pool.
func (c *call) run(s *device.Stream) error {
	var err error
	if !slices.Contains(c.shape, 0) {
		c.dev = s.Device()
		if err = c.dev.LaunchWork(s, c.bufs[1:c.n], c.bufs[:1], c); err != nil {
			err = nameMissing(err, c.op, c.views[c.n-1].DType, c.dev)
		}
	}
	c.done()
	return err
}

// done returns the call to the pool. It clears the references to memory, and the fields
// that not every operation sets.
func (c *call) done() {
	c.op, c.scalars, c.first, c.dev = expr.None, [2]Scalar{}, false, nil
	clear(c.views[:])
	clear(c.bufs[:])
	calls.Put(c)
}

// Start implements device.Work.
func (c *call) Start(ordinal int, stream uint64) error {
	switch {
	case c.dev.Kind() == device.CPU:
		return c.each(c.kernel.cpu)
	case len(c.shape) <= maxDims:
		return c.enqueue(ordinal, stream)
	}
	return c.each(func(p *call) error { return p.enqueue(ordinal, stream) })
}

// enqueue calls the kernel library.
func (c *call) enqueue(ordinal int, stream uint64) error {
	return c.kernel.cuda(c, c.dev.Library(), ordinal, stream)
}

// Enqueue implements device.Queued.
func (c *call) Enqueue(ordinal int, stream uint64) (bool, error) {
	if len(c.shape) > maxDims {
		return false, nil
	}
	return true, c.kernel.cuda(c, c.dev.Submitted(), ordinal, stream)
}

// Apply1 computes dst = op(x), with x broadcast to dst's shape.
func Apply1(s *device.Stream, op expr.Op, dst, x device.View) error {
	c := newCall(unaryKernel, dst, x)
	c.op = op
	return c.run(s)
}

var unaryKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Unary(c.op, c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		return lib.Unary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(0), c.strides[0])
	},
}

// Apply2 computes dst = op(x, y). x and y have one type and are broadcast to dst's shape.
func Apply2(s *device.Stream, op expr.Op, dst, x, y device.View) error {
	c := newCall(binaryKernel, dst, x, y)
	c.op = op
	return c.run(s)
}

var binaryKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Binary(c.op, c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(2), c.strides[2], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		return lib.Binary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(2), c.strides[2], 0, 0, c.addr(0), c.strides[0])
	},
}

// nextAfter is the number of NextAfter in the kernel library. It cannot be a step of a chain.
const nextAfter expr.Op = 149

// NextAfter computes the number that follows each element of x in the direction of that of y, of a floating-point type; on the
// CPU Float32 or Float64. x and y are broadcast to dst's shape.
func NextAfter(s *device.Stream, dst, x, y device.View) error {
	return newCall(nextAfterKernel, dst, x, y).run(s)
}

var nextAfterKernel = kernel{
	cpu: func(c *call) error {
		return cpu.NextAfter(c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(2), c.strides[2], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		return lib.Binary(ordinal, stream, nextAfter, c.views[0].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(2), c.strides[2], 0, 0, c.addr(0), c.strides[0])
	},
}

// ApplyScalar computes dst = op(x, scalar), or op(scalar, x) if first is set.
func ApplyScalar(s *device.Stream, op expr.Op, dst, x device.View, scalar Scalar, first bool) error {
	c := newCall(scalarKernel, dst, x)
	c.op, c.scalars[0], c.first = op, scalar, first
	return c.run(s)
}

var scalarKernel = kernel{
	cpu: func(c *call) error {
		x, xs, y, ys := c.ptr(1), c.strides[1], unsafe.Pointer(&c.scalars[0]), zeros(len(c.shape))
		if c.first {
			x, xs, y, ys = y, ys, x, xs
		}
		return cpu.Binary(c.op, c.views[1].DType, c.views[0].DType, c.shape, x, xs, y, ys, c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		x, y := c.addr(1), uint64(0)
		if c.first {
			x, y = y, x
		}
		return lib.Binary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, x, c.strides[1], y, c.strides[1], c.scalars[0][0], c.scalars[0][1], c.addr(0), c.strides[0])
	},
}

var noStrides [maxDims]int

// zeros returns the n strides of a scalar, all zero.
func zeros(n int) []int { return noStrides[:n] }

// Cast copies x into dst, and converts the elements if the types differ. It is also
// the strided copy, the transpose and the padded copy of a product's prepare pass.
func Cast(s *device.Stream, dst, x device.View) error { return newCall(castKernel, dst, x).run(s) }

var castKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Cast(c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		return lib.Cast(ordinal, stream, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(0), c.strides[0])
	},
}

// Fill sets every element of dst.
func Fill(s *device.Stream, dst device.View, scalar Scalar) error {
	c := newCall(fillKernel, dst)
	c.scalars[0] = scalar
	return c.run(s)
}

var fillKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Fill(c.views[0].DType, c.shape, unsafe.Pointer(&c.scalars[0]), c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib entries, ordinal int, stream uint64) error {
		return lib.Fill(ordinal, stream, c.views[0].DType, c.shape, c.scalars[0][0], c.scalars[0][1], c.addr(0), c.strides[0])
	},
}

// Arange writes start, start+step, … to dst, which is dense.
func Arange(s *device.Stream, dst device.View, start, step float64) error {
	n := dst.Layout.Size()
	if n == 0 {
		return nil
	}
	dev, off := s.Device(), dst.Layout.Offset*dst.DType.Size()
	return dev.Launch(s, nil, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
		if dev.Kind() == device.CPU {
			at := unsafe.Add(dst.Buffer.Ptr(), off)
			if dst.DType.IsFloat() || dst.DType.IsComplex() {
				return cpu.Arange(dst.DType, n, start, step, at)
			}
			return cpu.ArangeInt(dst.DType, n, int64(start), int64(step), at)
		}
		return dev.Library().Arange(ordinal, stream, dst.DType, n, start, step, dst.Buffer.Addr()+uint64(off))
	})
}
