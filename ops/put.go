package ops

import (
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cpu"
)

// PutAlong copies x to dst, which is dense. Then it writes each element of values to the element of dst whose index
// along an axis comes from indices, and whose other indices are those of the element of values, as NumPy's
// put_along_axis. Negative indices count from the end. If indices are equal, the last one counts. indices and values
// have the shape of dst along all other axes. On a GPU all views are dense, or values has one element and any shape with
// strides of 0. The error for an index outside the axis is fail(outside). The CPU returns it and writes nothing. A GPU
// attaches it to dst's buffer or waits for it, as in Take.
func PutAlong(s *device.Stream, dst, x, indices, values device.View, axis int, outside error, fail func(error) error) error {
	if s.Device().Kind() != device.CPU {
		return putAlong(s, dst, x, indices, values, axis, outside, fail)
	}
	return onHost(s, "PutAlongAxis", []device.View{x, indices, values}, []*device.Buffer{dst.Buffer}, func() error {
		shape, n := indices.Layout.Shape, dst.Layout.Shape[axis]
		if cpu.CheckIndices(indices.DType, shape, n, pointer(indices), indices.Layout.Strides) != [2]int64{} {
			return fail(outside)
		}
		if err := cpu.Cast(x.DType, x.DType, x.Layout.Shape, pointer(x), x.Layout.Strides, pointer(dst), dst.Layout.Strides); err != nil {
			return err
		}
		cpu.PutAlong(dst.DType.Size(), indices.DType, shape, axis, n, pointer(indices), indices.Layout.Strides, pointer(values), values.Layout.Strides, pointer(dst), dst.Layout.Strides)
		return nil
	})
}

// putAlong is PutAlong on a GPU. Its workspace holds, for each element of dst, the number of the value that is written
// there.
func putAlong(s *device.Stream, dst, x, indices, values device.View, axis int, outside error, fail func(error) error) error {
	c := cutlass.PutAlong{
		Bytes: x.DType.Size(), IndexType: indices.DType, X: address(x), Indices: address(indices), Values: address(values), Dst: address(dst),
		Outer: 1, N: dst.Layout.Shape[axis], Count: indices.Layout.Shape[axis], Inner: 1, Splat: !values.Layout.IsDense(),
	}
	for d, m := range dst.Layout.Shape {
		switch {
		case d < axis:
			c.Outer *= m
		case d > axis:
			c.Inner *= m
		}
	}
	each := 4
	if max(dst.Layout.Size(), indices.Layout.Size()) >= math.MaxInt32 {
		each = 8
	}
	judge := func(flags [2]int64) error {
		if flags != [2]int64{} {
			return fail(outside)
		}
		return nil
	}
	i := indexed{name: "PutAlongAxis", length: c.N, workspace: int64(each * dst.Layout.Size()), judge: judge}
	return i.start(s, dst, x, indices, values, func(ordinal int, stream, flags, workspace uint64) error {
		c.Flags, c.Workspace, c.WorkspaceBytes = flags, workspace, i.workspace
		return s.Device().Library().PutAlong(ordinal, stream, &c)
	})
}
