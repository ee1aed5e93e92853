package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Linspace writes numbers evenly spaced from lo to hi to dst, which is dense and Float64
// and has one axis: lo + i (hi - lo)/(n - 1), the last exactly hi. For n = 1 the number is
// lo.
func Linspace(s *device.Stream, dst device.View, lo, hi float64) error {
	n, step := dst.Layout.Shape[0], 0.0
	tooFar := n > 1 && math.IsInf(hi-lo, 0)
	if tooFar { // hi - lo overflows: halve the bounds and double the result, which is exact
		lo, hi = lo/2, hi/2
	}
	if n > 1 {
		step = (hi - lo) / float64(n-1)
	}
	if err := Arange(s, dst, lo, step); err != nil || n < 2 {
		return err
	}
	last := dst
	last.Layout = layout.Layout{Shape: []int{1}, Strides: []int{1}, Offset: dst.Layout.Offset + n - 1}
	if err := Fill(s, last, Scalar{math.Float64bits(hi)}); err != nil || !tooFar {
		return err
	}
	return ApplyScalar(s, expr.Mul, dst, dst, Scalar{math.Float64bits(2)}, false)
}

// LinspaceBounds returns an error for an invalid type, and for an integer type that cannot
// hold the floor of both ends of n numbers from lo to hi. For n = 1 the only end is lo.
func LinspaceBounds(dt dtype.DType, lo, hi float64, n int) error {
	if !dt.Valid() {
		return fmt.Errorf("%w: %v", dtype.ErrDType, dt)
	}
	if !dt.IsInteger() || n < 1 {
		return nil
	}
	ends := [2]float64{lo, hi}
	for _, end := range ends[:min(n, 2)] {
		if _, err := ScalarOf(dt, math.Floor(end), ""); err != nil {
			return fmt.Errorf("%w: %v does not hold the numbers from %v to %v", dtype.ErrDType, dt, lo, hi)
		}
	}
	return nil
}

// Eye writes the identity matrix to dst, which is square. one is 1 in dst's type.
func Eye(s *device.Stream, dst device.View, one Scalar) error {
	if err := Fill(s, dst, Scalar{}); err != nil {
		return err
	}
	dst.Layout = dst.Layout.Diagonal()
	return Fill(s, dst, one)
}

// Triangle copies the lower or the upper triangle of each matrix in the last two axes of x to dst on a GPU, and writes 0 to the
// other elements. The lower triangle has the columns up to row + diagonal, the upper one those from row + diagonal on. The
// views are dense and have one shape.
func Triangle(s *device.Stream, dst, x device.View, diagonal int, upper bool) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	shape := dst.Layout.Shape
	rows, cols := shape[len(shape)-2], shape[len(shape)-1]
	t := cutlass.Triangle{
		Bytes: dst.DType.Size(), X: address(x), Dst: address(dst), Batch: dst.Layout.Size() / rows / cols, Rows: rows, Cols: cols, Diagonal: diagonal, Upper: upper,
	}
	dev := s.Device()
	return dev.Launch(s, []*device.Buffer{x.Buffer}, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
		return dev.Library().Triangle(ordinal, stream, &t)
	})
}

// Concat writes views to dst, one after the other along an axis. The axis of dst is as long
// as those of the views together.
func Concat(s *device.Stream, dst device.View, axis int, views []device.View) error {
	if s.Device().Kind() == device.CUDA && stacks(dst, axis, views) {
		return stack(s, dst, views)
	}
	at := 0
	for _, v := range views {
		n := v.Layout.Shape[axis]
		part := dst
		var err error
		if part.Layout, err = dst.Layout.Slice(axis, at, at+n, 1); err != nil {
			return err
		}
		if err := Cast(s, part, v); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// stacks reports whether Concat only copies memory blocks of one size. This is so if dst is
// dense, axis is its first axis that is longer than 1, and there are several views that are
// dense, of one size and of dst's type.
func stacks(dst device.View, axis int, views []device.View) bool {
	if len(views) < 2 || !dst.Layout.IsDense() || dst.Layout.Size() == 0 {
		return false
	}
	for _, n := range dst.Layout.Shape[:axis] {
		if n != 1 {
			return false
		}
	}
	size := views[0].Layout.Size()
	for i := range views {
		if v := &views[i]; v.DType != dst.DType || v.Layout.Size() != size || !v.Layout.IsDense() {
			return false
		}
	}
	return true
}

// stack is Concat for views that stacks accepts. One launch copies many views.
func stack(s *device.Stream, dst device.View, views []device.View) error {
	dev, bytes, to := s.Device(), views[0].Layout.Size()*dst.DType.Size(), address(dst)
	for part := range slices.Chunk(views, cutlass.StackSources) {
		reads, sources := make([]*device.Buffer, len(part)), make([]uint64, len(part))
		for i, v := range part {
			reads[i], sources[i] = v.Buffer, address(v)
		}
		err := dev.Launch(s, reads, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
			return dev.Library().Stack(ordinal, stream, to, bytes, sources)
		})
		if err != nil {
			return nameMissing(err, expr.Concat, dst.DType, dev)
		}
		to += uint64(len(part) * bytes)
	}
	return nil
}

// Float32 returns a number of Float32 or a half type. For all other types, whose numbers
// may not fit a float32, it reports false.
func (v Scalar) Float32(dt dtype.DType) (float64, bool) {
	if dt == dtype.Float32 {
		return float64(math.Float32frombits(uint32(v[0]))), true
	}
	if h, ok := dt.Half(); ok {
		return float64(h.Float32(uint16(v[0]))), true
	}
	return 0, false
}
