package ops

import (
	"math"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
)

// Along computes dst = op(x) along an axis: CumSum, Softmax or LogSoftmax. Both
// have one shape; dst may be x.
func Along(s *device.Stream, op expr.Op, dst, x device.View, axis int) error {
	return launchLine(s, op, dst, x, axis, device.View{}, device.View{}, 0)
}

// Norm computes dst = op(x), LayerNorm or RMSNorm, along the last axis. gamma and beta have
// x's type and are dense along that axis; without a buffer they stand for 1 and 0.
func Norm(s *device.Stream, op expr.Op, dst, x, gamma, beta device.View, eps float64) error {
	return launchLine(s, op, dst, x, len(x.Layout.Shape)-1, gamma, beta, eps)
}

func launchLine(s *device.Stream, op expr.Op, dst, x device.View, axis int, gamma, beta device.View, eps float64) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	shape, xs, ds := x.Layout.Shape, x.Layout.Strides, dst.Layout.Strides
	if len(shape) > 1 || dev.Kind() != device.CPU {
		// The axis of the lines becomes the last one. The others are merged.
		drop := func(v []int) []int { return slices.Delete(slices.Clone(v), axis, axis+1) }
		rest, strides := layout.Collapse(drop(shape), drop(xs), drop(ds))
		shape = append(rest, shape[axis])
		xs, ds = append(strides[0], xs[axis]), append(strides[1], ds[axis])
	}
	if op == expr.CumSum && dev.Kind() != device.CPU && len(shape) <= maxDims {
		if ok, err := cumSumLong(s, dst, x, cutlass.CumSum{Type: x.DType, Shape: shape, XStrides: xs, DstStrides: ds, X: address(x), Dst: address(dst)}); ok || err != nil {
			return nameMissing(err, op, x.DType, dev)
		}
	}
	w := &lineWork{op: op, dev: dev, dst: dst, x: x, gamma: gamma, beta: beta, shape: shape, xStrides: xs, dstStrides: ds, eps: eps}
	return nameMissing(dev.LaunchWork(s, []*device.Buffer{x.Buffer, gamma.Buffer, beta.Buffer}, []*device.Buffer{dst.Buffer}, w), op, x.DType, dev)
}

// lineWork is the launch of an operation along the last dimension of shape.
type lineWork struct {
	op                          expr.Op
	dev                         *device.Device
	dst, x, gamma, beta         device.View
	shape, xStrides, dstStrides []int
	eps                         float64
}

// Start implements device.Work.
func (w *lineWork) Start(ordinal int, stream uint64) error {
	if w.dev.Kind() != device.CPU {
		return w.enqueue(w.dev.Library(), ordinal, stream)
	}
	p, q, last := pointer(w.x), pointer(w.dst), len(w.shape)-1
	switch w.op {
	case expr.CumSum:
		return cpu.CumSum(w.x.DType, w.dst.DType, w.shape, last, p, w.xStrides, q, w.dstStrides)
	case expr.LayerNorm, expr.RMSNorm:
		return cpu.Norm(w.op, w.x.DType, w.shape, p, w.xStrides, pointer(w.gamma), pointer(w.beta), w.eps, q, w.dstStrides)
	}
	return cpu.Softmax(w.op, w.x.DType, w.shape, last, p, w.xStrides, q, w.dstStrides)
}

// Enqueue implements device.Queued.
func (w *lineWork) Enqueue(ordinal int, stream uint64) (bool, error) {
	if len(w.shape) > maxDims {
		return false, nil
	}
	return true, w.enqueue(w.dev.Submitted(), ordinal, stream)
}

func (w *lineWork) enqueue(lib entries, ordinal int, stream uint64) error {
	at := [4]uint64{address(w.dst), address(w.x)}
	return inPieces(w.shape, [][]int{w.dstStrides, w.xStrides}, [4]int{w.dst.DType.Size(), w.x.DType.Size()}, at, func(shape []int, strides [][]int, at [4]uint64) error {
		return lib.Line(ordinal, stream, w.op, w.x.DType, w.dst.DType, shape, at[1], strides[1], at[0], strides[0], address(w.gamma), address(w.beta), w.eps)
	})
}

// cumSumLong computes the cumulative sums of a few long lines on a GPU, with many blocks a line.
// It reports false if one block a line is as fast; both give the same bits.
func cumSumLong(s *device.Stream, dst, x device.View, c cutlass.CumSum) (bool, error) {
	need, err := s.Device().Library().CumSumWorkspace(s.Device().Info().Index, &c)
	if need == 0 || err != nil {
		return false, err
	}
	return true, scan(s, dst, x, c, need)
}

// scan starts a scan on a GPU. need is the size of its workspace in bytes.
func scan(s *device.Stream, dst, x device.View, c cutlass.CumSum, need int64) error {
	dev, writes := s.Device(), []*device.Buffer{dst.Buffer}
	if need > 0 {
		work, err := dev.Alloc(need, s)
		if err != nil {
			return err
		}
		defer work.Free()
		c.Workspace, c.WorkspaceBytes = work.Addr(), need
		writes = append(writes, work)
	}
	return dev.Launch(s, []*device.Buffer{x.Buffer}, writes, func(ordinal int, stream uint64) error {
		return dev.Library().CumSum(ordinal, stream, &c)
	})
}

// Scan computes the cumulative products or extremes of x along an axis on a GPU, as gpk_cum_sum does. x and dst are dense.
func Scan(s *device.Stream, op cutlass.ScanOp, dst, x device.View, axis int) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	lines, n, inner := 1, x.Layout.Shape[axis], 1
	for d, m := range x.Layout.Shape {
		switch {
		case d < axis:
			lines *= m
		case d > axis:
			inner *= m
		}
	}
	strides := []int{n * inner, 1, inner}
	return scanPieces(lines, inner, math.MaxInt32, func(line, lines, first, width int) error {
		c := cutlass.CumSum{Op: op, Type: x.DType, Shape: []int{lines, width, n}, XStrides: strides, DstStrides: strides}
		at := line*n*inner + first
		c.X, c.Dst = address(x)+uint64(at*x.DType.Size()), address(dst)+uint64(at*dst.DType.Size())
		need, err := s.Device().Library().CumSumWorkspace(s.Device().Info().Index, &c)
		if err != nil {
			return err
		}
		return scan(s, dst, x, c, need)
	})
}

// scanPieces divides lines x inner lines into pieces of at most `most` lines, the limit of a launch. It calls f with the
// first index and the length of each piece along both dimensions.
func scanPieces(lines, inner, most int, f func(line, lines, first, width int) error) error {
	width := min(inner, most)
	each := max(1, most/width)
	for line := 0; line < lines; line += each {
		for first := 0; first < inner; first += width {
			if err := f(line, min(each, lines-line), first, min(width, inner-first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pointer returns the host address of a view's first element, nil without a buffer.
func pointer(v device.View) unsafe.Pointer {
	if v.Buffer == nil {
		return nil
	}
	return unsafe.Add(v.Buffer.Ptr(), v.Layout.Offset*v.DType.Size())
}

// address returns the device address of a view's first element, 0 without a buffer.
func address(v device.View) uint64 {
	if v.Buffer == nil {
		return 0
	}
	return v.Buffer.Addr() + uint64(v.Layout.Offset*v.DType.Size())
}

// CheckNorm returns an error that wraps layout.ErrShape if x has no last axis, or if a
// weight of the norm is not 1-D with the length of that axis.
func CheckNorm(x []int, weights ...[]int) error {
	if len(x) == 0 {
		return layout.Errorf("%v has no last axis", x)
	}
	for i, w := range weights {
		if n := x[len(x)-1]; len(w) != 1 || w[0] != n {
			return layout.Errorf("weight %d is %v, and the last axis of %v has length %d", i+1, w, x, n)
		}
	}
	return nil
}
