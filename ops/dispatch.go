package ops

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// maxDims is how many dimensions a kernel takes; what collapses to more is
// looped over.
const maxDims = 8

// Scalar is one element in the bytes of its type, little-endian.
type Scalar [2]uint64

// call is one operation about to run: its shape, the strides of each operand
// and the element at which each begins, with the destination first. It is one
// piece of memory, used again and again: for small arrays its making is what an
// operation costs.
type call struct {
	kernel  kernel
	op      expr.Op
	scalar  Scalar
	first   bool // the scalar is the left operand
	views   []device.View
	shape   []int
	strides [][]int
	offsets [3]int

	viewBuf   [3]device.View
	strideBuf [3][]int
	bufs      [3]*device.Buffer
	size      [1]int
}

// kernel is how a call runs on either kind of device.
type kernel struct {
	cpu  func(*call) error
	cuda func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error
}

var calls = sync.Pool{New: func() any { return new(call) }}

// unit is the strides of a dense operand that is one dimension to a kernel.
var unit = []int{1}

func newCall(k kernel, views ...device.View) *call {
	c := calls.Get().(*call)
	c.kernel = k
	c.views = append(c.viewBuf[:0], views...)
	c.strides = c.strideBuf[:len(views)]
	dense := true
	for i, v := range views {
		c.bufs[i], c.offsets[i] = v.Buffer, v.Layout.Offset
		c.strides[i] = v.Layout.Strides
		dense = dense && v.Layout.IsDense()
	}
	if !dense {
		c.shape, c.strides = layout.Collapse(views[0].Layout.Shape, c.strides...)
		return c
	}
	c.size[0] = views[0].Layout.Size()
	c.shape = c.size[:]
	for i := range c.strides {
		c.strides[i] = unit
	}
	return c
}

// each runs f on pieces of at most maxDims dimensions.
func (c *call) each(f func(*call) error) error {
	if len(c.shape) <= maxDims {
		return f(c)
	}
	inner := *c
	inner.shape, inner.strides = c.shape[1:], make([][]int, len(c.strides))
	for i, s := range c.strides {
		inner.strides[i] = s[1:]
	}
	for range c.shape[0] {
		if err := inner.each(f); err != nil {
			return err
		}
		for i := range inner.strides {
			inner.offsets[i] += c.strides[i][0]
		}
	}
	return nil
}

// ptr is the host address of operand i.
func (c *call) ptr(i int) unsafe.Pointer {
	return unsafe.Add(c.views[i].Buffer.Ptr(), c.offsets[i]*c.views[i].DType.Size())
}

// addr is the device address of operand i.
func (c *call) addr(i int) uint64 {
	return c.views[i].Buffer.Addr() + uint64(c.offsets[i]*c.views[i].DType.Size())
}

// run launches the call on s and gives it back.
func (c *call) run(s *device.Stream) error {
	err := c.launch(s)
	*c = call{} // it must not keep buffers alive
	calls.Put(c)
	return err
}

func (c *call) launch(s *device.Stream) error {
	if slices.Contains(c.shape, 0) {
		return nil
	}
	dev := s.Device()
	return dev.Launch(s, c.bufs[1:len(c.views)], c.bufs[:1], func(ordinal int, stream uint64) error {
		if dev.Kind() == device.CPU {
			return c.each(c.kernel.cpu)
		}
		if len(c.shape) <= maxDims {
			return c.kernel.cuda(c, dev.Library(), ordinal, stream)
		}
		return c.each(func(p *call) error { return p.kernel.cuda(p, dev.Library(), ordinal, stream) })
	})
}

// Apply1 computes dst = op(x). Both views have dst's shape.
func Apply1(s *device.Stream, op expr.Op, dst, x device.View) error {
	c := newCall(unaryKernel, dst, x)
	c.op = op
	return c.run(s)
}

var unaryKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Unary(c.op, c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.Unary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(0), c.strides[0])
	},
}

// Apply2 computes dst = op(x, y). All views have dst's shape, x and y one
// type.
func Apply2(s *device.Stream, op expr.Op, dst, x, y device.View) error {
	c := newCall(binaryKernel, dst, x, y)
	c.op = op
	return c.run(s)
}

var binaryKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Binary(c.op, c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(2), c.strides[2], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.Binary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(2), c.strides[2], 0, 0, c.addr(0), c.strides[0])
	},
}

// ApplyScalar computes dst = op(x, scalar), or op(scalar, x) when first is
// set.
func ApplyScalar(s *device.Stream, op expr.Op, dst, x device.View, scalar Scalar, first bool) error {
	c := newCall(scalarKernel, dst, x)
	c.op, c.scalar, c.first = op, scalar, first
	return c.run(s)
}

var scalarKernel = kernel{
	cpu: func(c *call) error {
		zero := make([]int, len(c.shape))
		x, xs, y, ys := c.ptr(1), c.strides[1], unsafe.Pointer(&c.scalar), zero
		if c.first {
			x, xs, y, ys = y, ys, x, xs
		}
		return cpu.Binary(c.op, c.views[1].DType, c.views[0].DType, c.shape, x, xs, y, ys, c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error {
		x, y := c.addr(1), uint64(0)
		if c.first {
			x, y = y, x
		}
		return lib.Binary(ordinal, stream, c.op, c.views[1].DType, c.views[0].DType, c.shape, x, c.strides[1], y, c.strides[1], c.scalar[0], c.scalar[1], c.addr(0), c.strides[0])
	},
}

// Cast copies x into dst, converting where the types differ: the strided
// copy, the transpose and the padded copy of a product's prepare pass too.
func Cast(s *device.Stream, dst, x device.View) error { return newCall(castKernel, dst, x).run(s) }

var castKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Cast(c.views[1].DType, c.views[0].DType, c.shape, c.ptr(1), c.strides[1], c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.Cast(ordinal, stream, c.views[1].DType, c.views[0].DType, c.shape, c.addr(1), c.strides[1], c.addr(0), c.strides[0])
	},
}

// Fill sets every element of dst.
func Fill(s *device.Stream, dst device.View, scalar Scalar) error {
	c := newCall(fillKernel, dst)
	c.scalar = scalar
	return c.run(s)
}

var fillKernel = kernel{
	cpu: func(c *call) error {
		return cpu.Fill(c.views[0].DType, c.shape, unsafe.Pointer(&c.scalar), c.ptr(0), c.strides[0])
	},
	cuda: func(c *call, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.Fill(ordinal, stream, c.views[0].DType, c.shape, c.scalar[0], c.scalar[1], c.addr(0), c.strides[0])
	},
}

// Reduce folds the axes of x that are set with op; dst is dense, over the
// remaining ones. An empty fold gives the operation's neutral element.
func Reduce(s *device.Stream, op expr.Op, dst, x device.View, axes []bool) error {
	if !dst.Layout.IsDense() {
		return fmt.Errorf("%w: %v into a strided destination", expr.ErrUnsupported, op)
	}
	if dst.Layout.Size() == 0 {
		return nil
	}
	if x.Layout.Size() == 0 {
		return Fill(s, dst, Scalar{})
	}
	shape, strides, mask, err := reduceDims(x.Layout, axes)
	if err != nil {
		return err
	}
	dev := s.Device()
	xOff, dOff := x.Layout.Offset*x.DType.Size(), dst.Layout.Offset*dst.DType.Size()
	reads, writes := []*device.Buffer{x.Buffer}, []*device.Buffer{dst.Buffer}
	var work *device.Buffer
	var need int64
	if dev.Kind() != device.CPU {
		if need, err = dev.Library().ReduceWorkspace(dev.Info().Index, op, x.DType, dst.DType, shape, mask); err != nil {
			return err
		}
		if need > 0 {
			if work, err = dev.Alloc(need, s); err != nil {
				return err
			}
			defer work.Free()
			writes = append(writes, work)
		}
	}
	return dev.Launch(s, reads, writes, func(ordinal int, stream uint64) error {
		if dev.Kind() == device.CPU {
			return cpu.Reduce(op, x.DType, dst.DType, shape, mask, unsafe.Add(x.Buffer.Ptr(), xOff), strides, unsafe.Add(dst.Buffer.Ptr(), dOff))
		}
		var workspace uint64
		if work != nil {
			workspace = work.Addr()
		}
		return dev.Library().Reduce(ordinal, stream, op, x.DType, dst.DType, shape, mask, x.Buffer.Addr()+uint64(xOff), strides, dst.Buffer.Addr()+uint64(dOff), workspace, need)
	})
}

// reduceDims drops dimensions of length 1 and merges neighbours of the same
// role that lie evenly, so that kernels see as few as can be.
func reduceDims(l layout.Layout, axes []bool) (shape, strides []int, mask uint32, err error) {
	var role []bool
	for d, n := range l.Shape {
		if n == 1 {
			continue
		}
		if k := len(shape) - 1; k >= 0 && role[k] == axes[d] && strides[k] == l.Strides[d]*n {
			shape[k] *= n
			strides[k] = l.Strides[d]
			continue
		}
		shape, strides, role = append(shape, n), append(strides, l.Strides[d]), append(role, axes[d])
	}
	if len(shape) == 0 {
		shape, strides, role = []int{1}, []int{1}, []bool{true}
	}
	if len(shape) > maxDims {
		return nil, nil, 0, fmt.Errorf("%w: a reduction over %d separate dimensions (at most %d); make the operand Contiguous first", expr.ErrUnsupported, len(shape), maxDims)
	}
	for k, r := range role {
		if r {
			mask |= 1 << k
		}
	}
	return shape, strides, mask, nil
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
