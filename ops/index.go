package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// indexError returns an error for an index outside an axis. flags[0] is the least negative index outside the axis,
// flags[1] the greatest index outside it; 0 for none.
func indexError(flags [2]int64, axis, length int) error {
	for _, i := range flags {
		if i != 0 {
			return layout.Errorf("index %d lies outside axis %d, which has length %d", i, axis, length)
		}
	}
	return nil
}

// Take copies the elements of x along an axis at indices, Int32 or Int64, to dst. The shape
// of dst is x's with the shape of the indices in place of the axis. Negative indices count
// from the end. An index outside the axis is an error that wraps layout.ErrShape and that
// fail may extend. The CPU returns it immediately. A GPU knows it only when the work is
// done, and the error is attached to dst's buffer (deferred.State.Attach). If the buffer is
// not fresh, Take waits for the check and writes nothing in case of an error.
func Take(s *device.Stream, dst, x, indices device.View, axis int, fail func(error) error) error {
	if dst.Layout.Size() == 0 && indices.Layout.Size() == 0 {
		return nil
	}
	if len(x.Layout.Shape) == 1 && len(indices.Layout.Shape) == 1 {
		return newTakeCall(dst, x, indices, axis, noStrides[:1:1], indices.Layout.Strides).start(s, axis, fail)
	}
	span := len(indices.Layout.Shape)
	zeros := make([]int, len(dst.Layout.Shape))
	xs := slices.Concat(x.Layout.Strides[:axis], zeros[:span], x.Layout.Strides[axis+1:])
	is := slices.Concat(zeros[:axis], indices.Layout.Strides, zeros[axis+span:])
	return newTakeCall(dst, x, indices, axis, xs, is).start(s, axis, fail)
}

// TakeAlong sets each element of dst to the element of x whose index along an axis comes from indices, and whose other
// indices are those of the element of dst, as NumPy's take_along_axis. indices has the shape of dst, and x has that
// shape along all other axes; either may repeat elements by strides of 0. Errors are those of Take.
func TakeAlong(s *device.Stream, dst, x, indices device.View, axis int, fail func(error) error) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	xs := slices.Clone(x.Layout.Strides)
	xs[axis] = 0
	return newTakeCall(dst, x, indices, axis, xs, indices.Layout.Strides).start(s, axis, fail)
}

// start starts the call. fail extends the error for an index outside the axis.
func (t takeCall) start(s *device.Stream, axis int, fail func(error) error) error {
	if t.length == 0 {
		return layout.Errorf("indices into axis %d, which has length 0", axis)
	}
	if s.Device().Kind() == device.CPU {
		h := &hostTake{takeCall: t, axis: axis, fail: fail, fresh: deviceapi.Fresh(t.dst.Buffer), bufs: [3]*device.Buffer{t.dst.Buffer, t.x.Buffer, t.indices.Buffer}}
		return s.Device().LaunchWork(s, h.bufs[1:], h.bufs[:1], h)
	}
	return t.onGPU(s, axis, fail)
}

// onGPU is start for a GPU.
func (t takeCall) onGPU(s *device.Stream, axis int, fail func(error) error) error {
	length := t.length // t has buffers, which judge may not refer to
	judge := func(flags [2]int64) error {
		if err := indexError(flags, axis, length); err != nil {
			return fail(err)
		}
		return nil
	}
	dst := t.dst
	if s.Capturing() {
		return fmt.Errorf("%w: Take in a captured sequence: its indices are checked only when it runs", expr.ErrUnsupported)
	}
	if dst.Layout.Size() > 0 && deviceapi.Fresh(dst.Buffer) {
		failure, _, err := t.launch(s, judge)
		if err == nil {
			dst.Buffer.State().Attach(failure)
		}
		return err
	}
	// Check the indices first, and write only if all are valid.
	failure, _, err := t.checkOnly().launch(s, judge)
	if err == nil {
		err = failure.Wait()
	}
	if err == nil && dst.Layout.Size() > 0 {
		var flags *device.Buffer
		if _, flags, err = t.launch(s, judge); err == nil {
			flags.Free() // the indices are already checked
		}
	}
	return err
}

// takeCall is one Take: the collapsed shape of the destination, with the strides of
// destination, source and indices over it.
type takeCall struct {
	dst, x, indices device.View
	shape           []int
	strides         [][]int
	length, step    int
}

// newTakeCall returns a call on an axis of x. xs are the strides of x along the dimensions of dst, and is those of the
// indices.
func newTakeCall(dst, x, indices device.View, axis int, xs, is []int) takeCall {
	t := takeCall{dst: dst, x: x, indices: indices, length: x.Layout.Shape[axis], step: x.Layout.Strides[axis]}
	if dst.Layout.Size() > 0 {
		t.shape, t.strides = layout.Collapse(dst.Layout.Shape, dst.Layout.Strides, xs, is)
	}
	return t
}

// checkOnly returns a call that checks the indices and writes nothing.
func (t *takeCall) checkOnly() *takeCall {
	dense := layout.Dense(t.indices.Layout.Shape)
	u := &takeCall{x: device.View{DType: t.x.DType}, indices: t.indices, length: t.length}
	u.shape, u.strides = layout.Collapse(dense.Shape, dense.Strides, make([]int, len(dense.Shape)), t.indices.Layout.Strides)
	return u
}

// hostTake is a Take on the CPU. fresh says that the destination has no contents yet; then elements may be written
// even if an index is outside the axis.
type hostTake struct {
	takeCall
	axis  int
	fail  func(error) error
	fresh bool
	bufs  [3]*device.Buffer // the destination, the source and the indices
}

// Start implements device.Work.
func (t *hostTake) Start(int, uint64) error {
	if !t.fresh || t.dst.Layout.Size() == 0 {
		if err := t.check(); err != nil || t.dst.Layout.Size() == 0 {
			return err
		}
	}
	if !cpu.Take(t.dst.DType.Size(), t.indices.DType, t.shape, pointer(t.x), t.strides[1], t.length, t.step, pointer(t.indices), t.strides[2], pointer(t.dst), t.strides[0]) {
		return t.check()
	}
	return nil
}

// check returns the error of the first index outside the axis.
func (t *hostTake) check() error {
	flags := cpu.CheckIndices(t.indices.DType, t.indices.Layout.Shape, t.length, pointer(t.indices), t.indices.Layout.Strides)
	if err := indexError(flags, t.axis, t.length); err != nil {
		return t.fail(err)
	}
	return nil
}

// launch starts the work on a GPU. judge examines the flags when the work is done.
func (t *takeCall) launch(s *device.Stream, judge func([2]int64) error) (*deferred.Error, *device.Buffer, error) {
	dev := s.Device()
	failure, flags, err := dev.NewDeferredError(s, judge)
	if err != nil {
		return nil, nil, err
	}
	reads := []*device.Buffer{t.x.Buffer, t.indices.Buffer}
	writes := []*device.Buffer{t.dst.Buffer, flags}
	err = dev.Launch(s, reads, writes, func(ordinal int, stream uint64) error {
		lib := dev.Library()
		if err := lib.Fill(ordinal, stream, dtype.Int64, []int{2}, 0, 0, flags.Addr(), unitStride); err != nil {
			return err
		}
		sizes := [4]int{t.x.DType.Size(), t.x.DType.Size(), t.indices.DType.Size()}
		return inPieces(t.shape, t.strides, sizes, [4]uint64{address(t.dst), address(t.x), address(t.indices)}, func(shape []int, strides [][]int, at [4]uint64) error {
			return lib.Take(ordinal, stream, t.x.DType, t.indices.DType, shape, at[1], strides[1], t.length, t.step, at[2], strides[2], at[0], strides[0], flags.Addr())
		})
	})
	if err != nil {
		flags.Free()
		return nil, nil, nameMissing(err, expr.Take, t.x.DType, dev)
	}
	return failure, flags, nil
}

// Repeat writes every element of x n times to dst, in which the axis is n times as long.
func Repeat(s *device.Stream, dst, x device.View, n, axis int) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	// The n copies of an element form an extra axis.
	shape := slices.Insert(slices.Clone(x.Layout.Shape), axis+1, n)
	source, target := x, dst
	source.Layout = layout.Layout{Shape: shape, Strides: slices.Insert(slices.Clone(x.Layout.Strides), axis+1, 0), Offset: x.Layout.Offset}
	step := dst.Layout.Strides[axis]
	strides := slices.Insert(slices.Clone(dst.Layout.Strides), axis+1, step)
	strides[axis] = n * step
	target.Layout = layout.Layout{Shape: shape, Strides: strides, Offset: dst.Layout.Offset}
	return Cast(s, target, source)
}

// Pad writes x to dst, surrounded by value: widths[d] elements before and after x along
// axis d.
func Pad(s *device.Stream, dst, x device.View, widths [][2]int, value Scalar) error {
	inner := dst
	for d, w := range widths {
		n := inner.Layout.Shape[d]
		for _, part := range [][2]int{{0, w[0]}, {n - w[1], n}} {
			if part[0] == part[1] {
				continue
			}
			border := inner
			var err error
			if border.Layout, err = inner.Layout.Slice(d, part[0], part[1], 1); err != nil {
				return err
			}
			if err := Fill(s, border, value); err != nil {
				return err
			}
		}
		var err error
		if inner.Layout, err = inner.Layout.Slice(d, w[0], n-w[1], 1); err != nil {
			return err
		}
	}
	return Cast(s, inner, x)
}

// Sort writes the lines of x along an axis to dst, sorted as cpu.Sort does.
func Sort(s *device.Stream, dst, x device.View, axis int, descending bool) error {
	if dst.Layout.Size() == 0 {
		return nil
	}
	if x.Layout.Shape[axis] == 1 && !x.DType.IsFloat() {
		return Cast(s, dst, x)
	}
	return launchLines(s, expr.Sort, x, axis, 0, []device.View{dst}, func(l *lineCall) error {
		if err := lineRoom(l.shape, len(l.shape)-1, 2*x.DType.Size()); err != nil {
			return err
		}
		return cpu.Sort(x.DType, l.shape, len(l.shape)-1, descending, pointer(x), l.strides[0], pointer(dst), l.strides[1])
	}, func(l *lineCall, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.Sort(ordinal, stream, x.DType, l.shape, l.at[0], l.strides[0], l.at[1], l.strides[1], descending, l.workspace, l.need)
	})
}

// lineRoom returns an error if scratch memory for one line exceeds the host's memory. bytes is the scratch memory per
// element.
func lineRoom(shape []int, axis, bytes int) error {
	n := int64(shape[axis])
	if n > math.MaxInt64/int64(bytes) {
		return deviceapi.HostRoom(math.MaxInt64)
	}
	return deviceapi.HostRoom(n * int64(bytes))
}

// TopK writes the k largest elements of each line of x along an axis, and their
// indices, Int64, as cpu.TopK does.
func TopK(s *device.Stream, values, places, x device.View, k, axis int) error {
	if values.Layout.Size() == 0 {
		return nil
	}
	return launchLines(s, expr.TopK, x, axis, k, []device.View{values, places}, func(l *lineCall) error {
		return cpu.TopK(x.DType, l.shape, len(l.shape)-1, k, pointer(x), l.strides[0], pointer(values), l.strides[1], pointer(places), l.strides[2])
	}, func(l *lineCall, lib *cutlass.Library, ordinal int, stream uint64) error {
		return lib.TopK(ordinal, stream, x.DType, l.shape, l.at[0], l.strides[0], k, l.at[1], l.strides[1], l.at[2], l.strides[2], l.workspace, l.need)
	})
}

// lineCall is one Sort or TopK: the shape and the strides of the operand and the
// destinations, with the sorted axis last.
type lineCall struct {
	shape     []int
	strides   [][]int // operand, destinations
	at        []uint64
	sizes     []int
	k         int
	workspace uint64
	need      int64
}

// maxLines is the largest number of lines, or of their results, in one launch.
const maxLines = 1 << 30

// pieces calls f on parts of the call with at most maxDims dimensions and maxLines lines or
// results each.
func (l *lineCall) pieces(f func(*lineCall) error) error {
	outer := l.shape[:len(l.shape)-1]
	lines := 1
	for _, n := range outer {
		lines *= n
	}
	if limit := maxLines / max(l.k, 1); len(l.shape) > maxDims || lines > limit && len(outer) > 0 {
		step := 1
		if len(l.shape) <= maxDims {
			step = max(1, limit/(lines/outer[0]))
		}
		for i := 0; i < outer[0]; i += step {
			p := *l
			p.shape, p.strides, p.at = slices.Clone(l.shape), slices.Clone(l.strides), slices.Clone(l.at)
			p.shape[0] = min(step, outer[0]-i)
			for j := range p.at {
				p.at[j] += uint64(i * l.strides[j][0] * l.sizes[j])
			}
			if p.shape[0] == 1 {
				p.shape = p.shape[1:]
				for j := range p.strides {
					p.strides[j] = p.strides[j][1:]
				}
			}
			if err := p.pieces(f); err != nil {
				return err
			}
		}
		return nil
	}
	return f(l)
}

// collapse makes an axis the last one, and merges the others.
func (l *lineCall) collapse(axis int) {
	drop := func(v []int) []int { return slices.Delete(slices.Clone(v), axis, axis+1) }
	n, lists, steps := l.shape[axis], make([][]int, len(l.strides)), make([]int, len(l.strides))
	for i, v := range l.strides {
		lists[i], steps[i] = drop(v), v[axis]
	}
	l.shape, l.strides = layout.Collapse(drop(l.shape), lists...)
	l.shape = append(l.shape, n)
	for i, step := range steps {
		l.strides[i] = append(l.strides[i], step)
	}
}

// launchLines launches host or cuda on the lines of x along an axis.
func launchLines(s *device.Stream, op expr.Op, x device.View, axis, k int, dsts []device.View, host func(*lineCall) error, cuda func(*lineCall, *cutlass.Library, int, uint64) error) error {
	dev := s.Device()
	views := append([]device.View{x}, dsts...)
	buffers := make([]*device.Buffer, len(views), len(views)+1) // room for a workspace
	l := &lineCall{k: k, shape: x.Layout.Shape, strides: make([][]int, len(views))}
	for i := range views {
		buffers[i], l.strides[i] = views[i].Buffer, views[i].Layout.Strides
	}
	reads, writes := buffers[:1:1], buffers[1:]
	if len(l.shape) > 1 || dev.Kind() != device.CPU {
		l.collapse(axis)
	}
	if dev.Kind() == device.CPU {
		return dev.Launch(s, reads, writes, func(int, uint64) error { return host(l) })
	}
	for i := range views {
		l.at, l.sizes = append(l.at, address(views[i])), append(l.sizes, views[i].DType.Size())
	}
	lib := dev.Library()
	err := l.pieces(func(p *lineCall) error {
		need, err := lib.SortWorkspace(dev.Info().Index, x.DType, p.shape, k)
		l.need = max(l.need, need)
		return err
	})
	if err != nil {
		return nameMissing(err, op, x.DType, dev)
	}
	if l.need > 0 {
		work, err := dev.Alloc(l.need, s)
		if err != nil {
			return err
		}
		defer work.Free()
		l.workspace, writes = work.Addr(), append(writes, work)
	}
	err = dev.Launch(s, reads, writes, func(ordinal int, stream uint64) error {
		return l.pieces(func(p *lineCall) error { return cuda(p, lib, ordinal, stream) })
	})
	return nameMissing(err, op, x.DType, dev)
}
