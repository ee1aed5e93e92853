package ops

import (
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
)

// Mask is a Bool view whose true elements a function of this file finds. On a GPU it is dense, and CountTrues must have
// written Offsets first; the CPU needs no offsets. With Lead, which only a GPU has, one more true element is before the
// first of the view: it has index 0, and the view begins at index 1.
type Mask struct {
	device.View
	Offsets device.View
	Lead    bool
}

// MaskTiles returns the number of offsets for a mask of n elements.
func MaskTiles(n int) int { return max(1, (n+cutlass.MaskTile-1)/cutlass.MaskTile) }

// CountTrues writes the number of true elements of a mask to total, and that before each tile to offsets, on a GPU. Both
// are Int64 and dense. With lead, each number is larger by one.
func CountTrues(s *device.Stream, offsets, total, mask device.View, lead bool) error {
	dev := s.Device()
	c := cutlass.Trues{Mask: address(mask), N: mask.Layout.Size(), Offsets: address(offsets), Total: address(total), Lead: lead}
	return dev.Launch(s, []*device.Buffer{mask.Buffer}, []*device.Buffer{offsets.Buffer, total.Buffer}, func(ordinal int, stream uint64) error {
		return dev.Library().CountTrues(ordinal, stream, &c)
	})
}

// Trues writes the indices of the true elements of a mask with one axis to dst. dst is Int64, and as long as their
// number. On a GPU it is dense.
func Trues(s *device.Stream, dst device.View, m Mask) error {
	if s.Device().Kind() != device.CPU {
		return m.place(s, []device.View{dst}, nil, nil, cutlass.Trues{Op: cutlass.TrueIndices})
	}
	return onHost(s, "Trues", []device.View{m.View}, []*device.Buffer{dst.Buffer}, func() error {
		n, step := dst.Layout.Size(), dst.Layout.Strides[0]
		if n == 0 || step < 1 {
			return nil
		}
		to := unsafe.Slice((*int64)(pointer(dst)), (n-1)*step+1)
		cpu.Trues(m.Layout.Size(), pointer(m.View), m.Layout.Strides[0], to, step)
		return nil
	})
}

// Select writes the elements of x at which a mask with one axis is true to dst. x is dense and has an element for each of the
// mask's, with Lead one more. dst has one axis, as long as the number of true elements. On a GPU it is dense.
func Select(s *device.Stream, dst device.View, m Mask, x device.View) error {
	if s.Device().Kind() != device.CPU {
		return m.place(s, []device.View{dst}, []device.View{x}, nil, cutlass.Trues{Op: cutlass.TrueElements, Type: x.DType, X: address(x)})
	}
	return onHost(s, "Select", []device.View{m.View, x}, []*device.Buffer{dst.Buffer}, func() error {
		if n := dst.Layout.Size(); n > 0 {
			size := dst.DType.Size()
			cpu.Select(size, m.Layout.Size(), pointer(m.View), m.Layout.Strides[0], pointer(x), pointer(dst), n, dst.Layout.Strides[0]*size)
		}
		return nil
	})
}

// Distinct is Select on a GPU for floating-point numbers. It replaces each zero by the first zero of the array all, and
// each NaN by its first NaN.
func Distinct(s *device.Stream, dst device.View, m Mask, x, all device.View) error {
	firsts, err := s.Device().Alloc(2*int64(dtype.Int64.Size()), s)
	if err != nil {
		return err
	}
	defer firsts.Free()
	return m.place(s, []device.View{dst}, []device.View{x, all}, []*device.Buffer{firsts}, cutlass.Trues{
		Op: cutlass.TrueDistinct, Type: x.DType, X: address(x), All: address(all), Count: all.Layout.Size(), Firsts: firsts.Addr(),
	})
}

// Coordinates writes the indices of the true elements of a dense mask to dst: one dense view for each axis of shape, as
// long as the number of true elements. A GPU accepts at most 8 axes.
func Coordinates(s *device.Stream, dst []device.View, m Mask, shape []int) error {
	if s.Device().Kind() != device.CPU {
		return m.place(s, dst, nil, nil, cutlass.Trues{Op: cutlass.TrueCoordinates, Shape: shape})
	}
	to := make([][]int64, len(dst))
	writes := make([]*device.Buffer, len(dst))
	for i, v := range dst {
		to[i], writes[i] = int64s(v), v.Buffer
	}
	return onHost(s, "Coordinates", []device.View{m.View}, writes, func() error {
		cpu.Coordinates(shape, pointer(m.View), to)
		return nil
	})
}

// place starts a call on a GPU that writes dst and the buffers of more, and reads the mask and the views of reads.
func (m *Mask) place(s *device.Stream, dst, reads []device.View, more []*device.Buffer, c cutlass.Trues) error {
	c.Mask, c.N, c.Offsets, c.Lead = address(m.View), m.Layout.Size(), address(m.Offsets), m.Lead
	from := []*device.Buffer{m.Buffer, m.Offsets.Buffer}
	for _, v := range reads {
		from = append(from, v.Buffer)
	}
	for _, v := range dst {
		c.Dst, more = append(c.Dst, address(v)), append(more, v.Buffer)
	}
	dev := s.Device()
	return dev.Launch(s, from, more, func(ordinal int, stream uint64) error {
		return dev.Library().PlaceTrues(ordinal, stream, &c)
	})
}
