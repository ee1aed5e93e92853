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

// Except for ScatterAdd, the functions of this file run on the CPU only. On a GPU, package internal/compose composes
// them of other operations.

// Trues writes the indices of the true elements of x to dst. x is Bool with one axis. dst
// is Int64, and as long as their number.
func Trues(s *device.Stream, dst, x device.View) error {
	return onHost(s, "Trues", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		n, step := dst.Layout.Size(), dst.Layout.Strides[0]
		if n == 0 || step < 1 {
			return nil
		}
		to := unsafe.Slice((*int64)(pointer(dst)), (n-1)*step+1)
		cpu.Trues(x.Layout.Size(), pointer(x), x.Layout.Strides[0], to, step)
		return nil
	})
}

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

// Select writes the elements of x at which mask is true to dst. mask is Bool with one axis; x is dense and has as many
// elements. dst has one axis, as long as the number of true elements.
func Select(s *device.Stream, dst, mask, x device.View) error {
	return onHost(s, "Select", []device.View{mask, x}, []*device.Buffer{dst.Buffer}, func() error {
		if n := dst.Layout.Size(); n > 0 {
			size := dst.DType.Size()
			cpu.Select(size, mask.Layout.Size(), pointer(mask), mask.Layout.Strides[0], pointer(x), pointer(dst), n, dst.Layout.Strides[0]*size)
		}
		return nil
	})
}

// Coordinates writes the indices of the true elements of mask to dst: one dense view for each axis, as long as the
// number of true elements. mask is Bool and dense.
func Coordinates(s *device.Stream, dst []device.View, mask device.View, shape []int) error {
	to := make([][]int64, len(dst))
	writes := make([]*device.Buffer, len(dst))
	for i, v := range dst {
		to[i], writes[i] = int64s(v), v.Buffer
	}
	return onHost(s, "Coordinates", []device.View{mask}, writes, func() error {
		cpu.Coordinates(shape, pointer(mask), to)
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
// their number to count, Int64. dst is dense and has the length of x; its other elements are undefined.
func Unique(s *device.Stream, dst, count, x device.View) error {
	if err := Sort(s, dst, x, 0, false); err != nil {
		return err
	}
	return onHost(s, "Unique", []device.View{x}, []*device.Buffer{dst.Buffer, count.Buffer}, func() error {
		int64s(count)[0] = int64(cpu.Unique(x.DType, x.Layout.Size(), pointer(x), x.Layout.Strides[0], pointer(dst)))
		return nil
	})
}

// PutAlong copies x to dst, which is dense. Then it writes each element of values to the element of dst whose index
// along an axis comes from indices, and whose other indices are those of the element of values, as NumPy's
// put_along_axis. Negative indices count from the end. If indices are equal, the last one counts. indices and values
// have the shape of dst along all other axes. For an index outside the axis nothing is written, and the error is
// fail(outside).
func PutAlong(s *device.Stream, dst, x, indices, values device.View, axis int, outside error, fail func(error) error) error {
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

// Histogram counts the elements of x, of a real type, in the intervals between edges, Float64, as cpu.Histogram does.
// It writes the counts to dst, Int64. All views are dense.
func Histogram(s *device.Stream, dst, x, edges device.View) error {
	return onHost(s, "Histogram", []device.View{x, edges}, []*device.Buffer{dst.Buffer}, func() error {
		bounds := unsafe.Slice((*float64)(pointer(edges)), edges.Layout.Size())
		cpu.Histogram(x.DType, x.Layout.Size(), pointer(x), bounds, int64s(dst))
		return nil
	})
}

// BinCount writes to element i of dst the number of elements of x that equal i. Both are Int64 and dense. Other elements are not counted.
func BinCount(s *device.Stream, dst, x device.View) error {
	if s.Device().Kind() != device.CPU {
		return counted(s, dst, x, (*cutlass.Library).Count)
	}
	return onHost(s, "BinCount", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		cpu.BinCount(int64s(x), int64s(dst))
		return nil
	})
}

// Last writes to element i of dst the index of the last element of x that equals i, or -1. Both are Int64 and dense.
func Last(s *device.Stream, dst, x device.View) error {
	if s.Device().Kind() != device.CPU {
		return counted(s, dst, x, (*cutlass.Library).Last)
	}
	return onHost(s, "PutAlongAxis", []device.View{x}, []*device.Buffer{dst.Buffer}, func() error {
		last := int64s(dst)
		for i := range last {
			last[i] = -1
		}
		for i, v := range int64s(x) {
			if uint64(v) < uint64(len(last)) {
				last[v] = int64(i)
			}
		}
		return nil
	})
}

func counted(s *device.Stream, dst, x device.View, call func(*cutlass.Library, int, uint64, *cutlass.Count) error) error {
	lib, c := s.Device().Library(), cutlass.Count{X: address(x), Dst: address(dst), N: dst.Layout.Size(), Count: x.Layout.Size()}
	return s.Device().Launch(s, []*device.Buffer{x.Buffer}, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
		return call(lib, ordinal, stream, &c)
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
	if s.Capturing() {
		return fmt.Errorf("%w: ScatterAdd in a captured sequence: its indices are checked only when it runs", expr.ErrUnsupported)
	}
	lib := dev.Library()
	need, err := lib.ScatterAddWorkspace(dev.Info().Index, &c)
	if err != nil {
		return nameMissing(err, expr.Add, c.Type, dev)
	}
	fresh := deviceapi.Fresh(dst.Buffer)
	if !fresh { // check the indices first, and write only if all are valid
		t := &takeCall{x: x, indices: indices, length: c.N}
		failure, _, err := t.checkOnly().launch(s, judge)
		if err == nil {
			err = failure.Wait()
		}
		if err != nil {
			return err
		}
	}
	failure, flags, err := dev.NewDeferredError(s, judge)
	if err != nil {
		return err
	}
	writes := []*device.Buffer{dst.Buffer, flags}
	c.Flags = flags.Addr()
	if need > 0 {
		work, err := dev.Alloc(need, s)
		if err != nil {
			flags.Free()
			return err
		}
		defer work.Free()
		c.Workspace, c.WorkspaceBytes = work.Addr(), need
		writes = append(writes, work)
	}
	err = dev.Launch(s, []*device.Buffer{indices.Buffer, values.Buffer, x.Buffer}, writes, func(ordinal int, stream uint64) error {
		if err := lib.Fill(ordinal, stream, dtype.Int64, []int{2}, 0, 0, flags.Addr(), unitStride); err != nil {
			return err
		}
		return lib.ScatterAdd(ordinal, stream, &c)
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
