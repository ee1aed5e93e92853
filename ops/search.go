package ops

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
)

// Search writes, for each element of values, its index in the sorted list, Int64, as cpu.Search does. All views are dense.
// The CPU has no kernel for half types.
func Search(s *device.Stream, dst, list, values device.View, right bool) error {
	if dev := s.Device(); dev.Kind() != device.CPU {
		c := cutlass.Search{
			Type: list.DType, List: address(list), Values: address(values), Dst: address(dst), N: list.Layout.Size(), Count: values.Layout.Size(), Right: right,
		}
		return dev.Launch(s, []*device.Buffer{list.Buffer, values.Buffer}, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
			return dev.Library().Search(ordinal, stream, &c)
		})
	}
	return searches(s, "SearchSorted", cpu.Search, dst, list, values, right)
}

// IsIn writes whether each element of values is in the sorted list, Bool, as cpu.IsIn does. All views are dense, and the
// list is not empty.
func IsIn(s *device.Stream, dst, list, values device.View) error {
	return searches(s, "IsIn", cpu.IsIn, dst, list, values, false)
}

func searches(s *device.Stream, name string, run func(dt dtype.DType, c cpu.SearchCall) bool, dst, list, values device.View, right bool) error {
	return onHost(s, name, []device.View{list, values}, []*device.Buffer{dst.Buffer}, func() error {
		c := cpu.SearchCall{
			List: pointer(list), Values: pointer(values), N: list.Layout.Size(), Count: values.Layout.Size(),
			Right: right, Dst: pointer(dst),
		}
		if c.Count > 0 && !run(list.DType, c) {
			return fmt.Errorf("%w: %s of %v", expr.ErrUnsupported, name, list.DType)
		}
		return nil
	})
}

// Interp writes the linear interpolation of the function that has the values y at the ascending places x, as cpu.Interp
// does. All views are dense, and x is not empty. Only the CPU has a kernel.
func Interp(s *device.Stream, dst, x, y, values device.View) error {
	return onHost(s, "Interp", []device.View{x, y, values}, []*device.Buffer{dst.Buffer}, func() error {
		c := cpu.InterpCall{
			X: pointer(x), Y: pointer(y), N: x.Layout.Size(), Values: pointer(values), Count: values.Layout.Size(), Dst: pointer(dst),
		}
		if c.Count == 0 {
			return nil
		}
		return cpu.Interp(values.DType, c)
	})
}
