package ops

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// The functions of this file run on the CPU only, unless their comment says what a GPU does. On a GPU, package
// internal/compose composes the others of other operations.

// OneHot writes one row for each element of indices, Int64. A row is zero except for one, which is 1 in dst's type, at
// the index that the element states. If that index is outside the row, the row is zero. Both views are dense.
func OneHot(s *device.Stream, dst, indices device.View, one Scalar) error {
	return onHost(s, "OneHot", []device.View{indices}, []*device.Buffer{dst.Buffer}, func() error {
		if dst.Layout.Size() > 0 {
			n := dst.Layout.Shape[len(dst.Layout.Shape)-1]
			cpu.OneHot(dst.DType.Size(), n, int64s(indices), unsafe.Pointer(&one), pointer(dst))
		}
		return nil
	})
}

// Repeats writes each index of counts to dst as often as its element says, one after the other. Both are Int64 and dense,
// and dst has as many elements as the counts add up to.
func Repeats(s *device.Stream, dst, counts device.View) error {
	return onHost(s, "Repeats", []device.View{counts}, []*device.Buffer{dst.Buffer}, func() error {
		cpu.Repeats(int64s(counts), int64s(dst))
		return nil
	})
}

// Ranks writes, for each line along the last axis of x, the elements at the given indices of the sorted line to dst,
// which is dense. places ascends.
func Ranks(s *device.Stream, dst, x device.View, places []int) error {
	return onHost(s, "Ranks", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		if err := lineRoom(x.Layout.Shape, x.Layout.NDim()-1, 2*x.DType.Size()); err != nil {
			return err
		}
		return cpu.Ranks(x.DType, x.Layout.Shape, x.Layout.NDim()-1, pointer(x), x.Layout.Strides, places, pointer(dst), dst.Layout.Strides)
	})
}

// ArgSort writes the indices, Int64, that sort the elements of x along an axis, as cpu.ArgSort does. dst has the shape
// of x.
func ArgSort(s *device.Stream, dst, x device.View, axis int, descending bool) error {
	return onHost(s, "ArgSort", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		if err := lineRoom(x.Layout.Shape, axis, 3*8); err != nil { // keys, indices and their scratch
			return err
		}
		return cpu.ArgSort(x.DType, x.Layout.Shape, axis, descending, pointer(x), x.Layout.Strides, pointer(dst), dst.Layout.Strides)
	})
}

// CumProd writes the cumulative products of x along an axis to dst, as cpu.CumProd does. On a GPU both are dense.
func CumProd(s *device.Stream, dst, x device.View, axis int) error {
	if s.Device().Kind() != device.CPU {
		return Scan(s, cutlass.ScanProduct, dst, x, axis)
	}
	return onHost(s, "CumProd", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		return cpu.CumProd(x.DType, dst.DType, x.Layout.Shape, axis, pointer(x), x.Layout.Strides, pointer(dst), dst.Layout.Strides)
	})
}

// CumExtreme writes the largest elements of x along an axis up to each index to dst for op Maximum, and the smallest for
// Minimum, as cpu.CumExtreme does. On a GPU both are dense.
func CumExtreme(s *device.Stream, op expr.Op, dst, x device.View, axis int) error {
	if s.Device().Kind() != device.CPU {
		scan := cutlass.ScanLargest
		if op == expr.Minimum {
			scan = cutlass.ScanSmallest
		}
		return Scan(s, scan, dst, x, axis)
	}
	return onHost(s, "CumExtreme", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		return cpu.CumExtreme(op, x.DType, x.Layout.Shape, axis, pointer(x), x.Layout.Strides, pointer(dst), dst.Layout.Strides)
	})
}

// Unique writes the distinct elements of x, which has one axis, to the first elements of dst, as cpu.Unique does, and
// their number to count, Int64. dst is dense and has the length of x; its other elements are undefined. A GPU has Distinct.
func Unique(s *device.Stream, dst, count, x device.View) error {
	if err := Sort(s, dst, x, 0, false); err != nil {
		return err
	}
	return onHost(s, "Unique", []device.View{x}, []*device.Buffer{dst.Buffer, count.Buffer}, func() error {
		int64s(count)[0] = int64(cpu.Unique(x.DType, x.Layout.Size(), pointer(x), x.Layout.Strides[0], pointer(dst)))
		return nil
	})
}

// Histogram counts the elements of x, of a real type, in the intervals between edges, Float64, as cpu.Histogram does.
// It writes the counts to dst, Int64. All views are dense.
func Histogram(s *device.Stream, dst, x, edges device.View) error {
	return onHost(s, "Histogram", []device.View{x, edges}, []*device.Buffer{dst.Buffer}, func() error {
		bounds := unsafe.Slice((*float64)(pointer(edges)), edges.Layout.Size())
		cpu.Histogram(x.DType, x.Layout.Size(), pointer(x), bounds, int64s(dst))
		return nil
	})
}

// BinCount writes to element i of dst the number of elements of x that equal i. Both are Int64 and dense. Other elements
// are not counted. It runs on a GPU too.
func BinCount(s *device.Stream, dst, x device.View) error {
	if dev := s.Device(); dev.Kind() != device.CPU {
		c := cutlass.Count{X: address(x), Dst: address(dst), N: dst.Layout.Size(), Count: x.Layout.Size()}
		return dev.Launch(s, []*device.Buffer{x.Buffer}, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
			return dev.Library().Count(ordinal, stream, &c)
		})
	}
	return onHost(s, "BinCount", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		cpu.BinCount(int64s(x), int64s(dst))
		return nil
	})
}

// ScatterAdd copies x, [n, width], to dst, and adds row i of values to the row of dst that index i, Int32 or Int64,
// names. Negative indices count from the end. All views are dense. If values has one row and there are more indices, a
// GPU adds it at each index; the CPU needs one row for each index. cpu.ScatterAdd documents the order of additions on
// the CPU, and cutlass/src/gpk_scatter.h that on a GPU. The error for an index outside the rows is fail(outside). The
// CPU returns it and writes nothing. A GPU attaches it to dst's buffer or waits for it, as in Take.
func ScatterAdd(s *device.Stream, dst, indices, values, x device.View, outside error, fail func(error) error) error {
	n, width, count := x.Layout.Shape[0], x.Layout.Shape[1], indices.Layout.Size()
	if n == 0 { // every index is outside
		if count > 0 {
			return fail(outside)
		}
		return nil
	}
	judge := func(flags [2]int64) error {
		if flags != [2]int64{} {
			return fail(outside)
		}
		return nil
	}
	if s.Device().Kind() != device.CPU {
		return scatterAdd(s, judge, dst, indices, values, x, cutlass.ScatterAdd{
			Type: dst.DType, IndexType: indices.DType, N: n, Count: count, Width: width, Splat: count > 1 && values.Layout.Shape[0] == 1,
			X: address(x), Places: address(indices), Values: address(values), Dst: address(dst),
		})
	}
	return onHost(s, "ScatterAdd", []device.View{indices, values, x}, []*device.Buffer{dst.Buffer}, func() error {
		flags, err := cpu.ScatterAdd(cpu.ScatterCall{
			DType: dst.DType, Index: indices.DType, N: n, Width: width, Count: count,
			Indices: pointer(indices), Values: pointer(values), X: pointer(x), Dst: pointer(dst),
		})
		if err == nil {
			err = judge(flags)
		}
		return err
	})
}

// ScatterExtreme copies x, [n, width], to dst, and compares row i of values with the row of dst that index i, Int32 or
// Int64, names. op is Maximum or Minimum; cpu.ScatterExtreme says what it writes. All views are dense. For an index
// outside the rows nothing is written, and the error is fail(outside).
func ScatterExtreme(s *device.Stream, op expr.Op, dst, indices, values, x device.View, outside error, fail func(error) error) error {
	n, count := x.Layout.Shape[0], indices.Layout.Size()
	return onHost(s, "ScatterExtreme", []device.View{indices, values, x}, []*device.Buffer{dst.Buffer}, func() error {
		if cpu.CheckIndices(indices.DType, []int{count}, n, pointer(indices), unitStride) != [2]int64{} {
			return fail(outside)
		}
		return cpu.ScatterExtreme(op, cpu.ScatterCall{
			DType: dst.DType, Index: indices.DType, N: n, Width: x.Layout.Shape[1], Count: count,
			Indices: pointer(indices), Values: pointer(values), X: pointer(x), Dst: pointer(dst),
		})
	})
}

// scatterAdd is ScatterAdd on a GPU. judge examines the flags of the kernel.
func scatterAdd(s *device.Stream, judge func([2]int64) error, dst, indices, values, x device.View, c cutlass.ScatterAdd) error {
	dev := s.Device()
	need, err := dev.Library().ScatterAddWorkspace(dev.Info().Index, &c)
	if err != nil {
		return nameMissing(err, expr.Add, c.Type, dev)
	}
	i := indexed{name: "ScatterAdd", length: c.N, workspace: need, judge: judge}
	return i.start(s, dst, x, indices, values, func(ordinal int, stream, flags, workspace uint64) error {
		c.Flags, c.Workspace, c.WorkspaceBytes = flags, workspace, need
		return dev.Library().ScatterAdd(ordinal, stream, &c)
	})
}

// indexed is a call of a GPU's kernel that writes at indices, and records those outside an axis of the given length in
// two int64, the flags. judge converts the flags to an error.
type indexed struct {
	name      string
	length    int
	workspace int64 // bytes
	judge     func([2]int64) error
}

// start starts the call. The error for an index outside the axis is attached to dst's buffer if that has no contents
// yet. Otherwise start waits for a check of the indices first, and writes only if all are valid.
func (c *indexed) start(s *device.Stream, dst, x, indices, values device.View, launch func(ordinal int, stream, flags, workspace uint64) error) error {
	dev := s.Device()
	if s.Capturing() {
		return fmt.Errorf("%w: %s in a captured sequence: its indices are checked only when it runs", expr.ErrUnsupported, c.name)
	}
	fresh := deviceapi.Fresh(dst.Buffer)
	if !fresh {
		t := &takeCall{x: x, indices: indices, length: c.length}
		failure, _, err := t.checkOnly().launch(s, c.judge)
		if err == nil {
			err = failure.Wait()
		}
		if err != nil {
			return err
		}
	}
	failure, flags, err := dev.NewDeferredError(s, c.judge)
	if err != nil {
		return err
	}
	writes := []*device.Buffer{dst.Buffer, flags}
	var workspace uint64
	if c.workspace > 0 {
		work, err := dev.Alloc(c.workspace, s)
		if err != nil {
			flags.Free()
			return err
		}
		defer work.Free()
		workspace, writes = work.Addr(), append(writes, work)
	}
	err = dev.Launch(s, []*device.Buffer{indices.Buffer, values.Buffer, x.Buffer}, writes, func(ordinal int, stream uint64) error {
		if err := dev.Library().Fill(ordinal, stream, dtype.Int64, []int{2}, 0, 0, flags.Addr(), unitStride); err != nil {
			return err
		}
		return launch(ordinal, stream, flags.Addr(), workspace)
	})
	switch {
	case err != nil:
		flags.Free()
	case fresh:
		dst.Buffer.State().Attach(failure)
	default:
		flags.Free() // the indices are already checked
	}
	return err
}

// int64s returns the elements of a dense view.
func int64s(v device.View) []int64 {
	return unsafe.Slice((*int64)(pointer(v)), v.Layout.Size())
}

func onHost(s *device.Stream, name string, reads []device.View, writes []*device.Buffer, f func() error) error {
	dev := s.Device()
	if dev.Kind() != device.CPU {
		return fmt.Errorf("%w: no kernel of %s on %v", expr.ErrUnsupported, name, dev)
	}
	buffers := make([]*device.Buffer, len(reads))
	for i, v := range reads {
		buffers[i] = v.Buffer
	}
	return dev.Launch(s, buffers, writes, func(int, uint64) error { return f() })
}
