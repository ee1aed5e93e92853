package ops

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
)

// RandomBlocks returns the number of Philox blocks for n elements of a type. A block gives
// four numbers of float32 or a 16-bit type, or two float64 or integers. A complex element
// takes two numbers.
func RandomBlocks(dt dtype.DType, n int) uint64 {
	dt, n = realParts(dt, n)
	per := 2
	if dt == dtype.Float32 || dt.IsHalf() {
		per = 4
	}
	return uint64((n + per - 1) / per)
}

// realParts returns the type and the number of the real numbers in n elements.
func realParts(dt dtype.DType, n int) (dtype.DType, int) {
	if dt.IsComplex() {
		return dt.Real(), 2 * n
	}
	return dt, n
}

// Uniform fills dst, which is dense, with uniform random numbers, from Philox block number
// block on. The numbers depend only on seed and block, and are the same on every device. p
// comes from UniformBounds.
func Uniform(s *device.Stream, dst device.View, seed, block uint64, p [3]uint64) error {
	return random(s, "Uniform", dst, func(dt dtype.DType, n int) error {
		return cpu.Uniform(dt, n, seed, block, p, pointer(dst))
	}, func(lib *cutlass.Library, ordinal int, stream uint64, dt dtype.DType, n int) error {
		return lib.Uniform(ordinal, stream, dt, n, seed, block, p, address(dst))
	})
}

// Normal fills dst with random numbers of the normal distribution, from
// the same blocks as Uniform.
func Normal(s *device.Stream, dst device.View, seed, block uint64, mean, std float64) error {
	return random(s, "Normal", dst, func(dt dtype.DType, n int) error {
		return cpu.Normal(dt, n, seed, block, mean, std, pointer(dst))
	}, func(lib *cutlass.Library, ordinal int, stream uint64, dt dtype.DType, n int) error {
		return lib.Normal(ordinal, stream, dt, n, seed, block, mean, std, address(dst))
	})
}

func random(s *device.Stream, name string, dst device.View, host func(dt dtype.DType, n int) error,
	cuda func(lib *cutlass.Library, ordinal int, stream uint64, dt dtype.DType, n int) error,
) error {
	if !dst.Layout.IsDense() {
		return fmt.Errorf("%w: %s into a strided destination", expr.ErrUnsupported, name)
	}
	dt, n := realParts(dst.DType, dst.Layout.Size())
	if n == 0 {
		return nil
	}
	dev := s.Device()
	return dev.Launch(s, nil, []*device.Buffer{dst.Buffer}, func(ordinal int, stream uint64) error {
		if dev.Kind() == device.CPU {
			return host(dt, n)
		}
		return cuda(dev.Library(), ordinal, stream, dt, n)
	})
}
