package ops

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
)

// The functions of this file but ScatterAdd run on the CPU alone: package internal/compose composes
// other operations on a GPU.

// Trues writes the indices of the true elements of x to dst. x is Bool with one axis. dst
// is Int64, and as long as their number.
func Trues(s *device.Stream, dst, x device.View) error {
	return onHost(s, "Trues", dst, []device.View{x}, func() error {
		n, step := dst.Layout.Size(), dst.Layout.Strides[0]
		if n == 0 || step < 1 {
			return nil
		}
		to := unsafe.Slice((*int64)(pointer(dst)), (n-1)*step+1)
		cpu.Trues(x.Layout.Size(), pointer(x), x.Layout.Strides[0], to, step)
		return nil
	})
}

// Put writes element i of x to index places[i] of dst, one after the other, so that the
// last of equal indices counts. dst has one axis; x and places, Int64, are dense.
func Put(s *device.Stream, dst, places, x device.View) error {
	return onHost(s, "Put", dst, []device.View{places, x}, func() error {
		size := dst.DType.Size()
		cpu.Put(size, int64s(places), pointer(x), pointer(dst), dst.Layout.Size(), dst.Layout.Strides[0]*size)
		return nil
	})
}

// ScatterAdd writes x, [n, width], to dst, and adds row i of values to the row that index i says. All
// views are dense. The CPU adds as cpu.ScatterAdd does: indices is Int32 or Int64, and if an index lies
// outside, nothing is written and the error is outside. On a GPU indices is Int64 from 0, and what lies
// outside adds nothing; cutlass/src/gpk_scatter.h describes the order.
func ScatterAdd(s *device.Stream, dst, indices, values, x device.View, outside error) error {
	n := x.Layout.Shape[0]
	width, count := x.Layout.Size()/n, indices.Layout.Size()
	if s.Device().Kind() != device.CPU {
		return scatterAdd(s, dst, indices, values, x, cutlass.ScatterAdd{
			Type: dst.DType, N: n, Count: count, Width: width, X: address(x), Places: address(indices), Values: address(values), Dst: address(dst),
		})
	}
	return onHost(s, "ScatterAdd", dst, []device.View{indices, values, x}, func() error {
		flags, err := cpu.ScatterAdd(cpu.ScatterCall{
			DType: dst.DType, Index: indices.DType, N: n, Width: width, Count: count,
			Indices: pointer(indices), Values: pointer(values), X: pointer(x), Dst: pointer(dst),
		})
		if err == nil && flags != [2]int64{} {
			err = outside
		}
		return err
	})
}

func scatterAdd(s *device.Stream, dst, indices, values, x device.View, c cutlass.ScatterAdd) error {
	dev := s.Device()
	lib := dev.Library()
	need, err := lib.ScatterAddWorkspace(dev.Info().Index, &c)
	if err != nil {
		return nameMissing(err, expr.Add, c.Type, dev)
	}
	writes := []*device.Buffer{dst.Buffer}
	if need > 0 {
		work, err := dev.Alloc(need, s)
		if err != nil {
			return err
		}
		defer work.Free()
		c.Workspace, c.WorkspaceBytes = work.Addr(), need
		writes = append(writes, work)
	}
	return dev.Launch(s, []*device.Buffer{indices.Buffer, values.Buffer, x.Buffer}, writes, func(ordinal int, stream uint64) error {
		return lib.ScatterAdd(ordinal, stream, &c)
	})
}

// int64s returns the elements of a dense view.
func int64s(v device.View) []int64 {
	return unsafe.Slice((*int64)(pointer(v)), v.Layout.Size())
}

func onHost(s *device.Stream, name string, dst device.View, reads []device.View, f func() error) error {
	dev := s.Device()
	if dev.Kind() != device.CPU {
		return fmt.Errorf("%w: no kernel of %s on %v", expr.ErrUnsupported, name, dev)
	}
	buffers := make([]*device.Buffer, len(reads))
	for i, v := range reads {
		buffers[i] = v.Buffer
	}
	return dev.Launch(s, buffers, []*device.Buffer{dst.Buffer}, func(int, uint64) error { return f() })
}
