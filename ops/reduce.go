package ops

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// NeedsElements reports whether a reduction of nothing has no meaning.
func NeedsElements(op expr.Op) bool {
	return op == expr.Max || op == expr.Min || op == expr.ArgMax || op == expr.ArgMin
}

// neutral is what a reduction of nothing gives, in the result's type.
func neutral(op expr.Op, dt dtype.DType) Scalar {
	switch op {
	case expr.Prod, expr.All:
		return one(dt)
	case expr.Mean, expr.Var:
		return nan(dt)
	}
	return Scalar{}
}

// one is 1 in a type.
func one(dt dtype.DType) Scalar {
	switch dt {
	case dtype.Float32, dtype.Complex64:
		return Scalar{uint64(math.Float32bits(1))}
	case dtype.Float64, dtype.Complex128:
		return Scalar{math.Float64bits(1)}
	case dtype.Float16:
		return Scalar{0x3c00}
	case dtype.BFloat16:
		return Scalar{0x3f80}
	}
	return Scalar{1}
}

// nan is NaN in a floating-point or complex type.
func nan(dt dtype.DType) Scalar {
	const quiet32, quiet64 = 0x7fc00000, 0x7ff8 << 48
	switch dt {
	case dtype.Float32:
		return Scalar{quiet32}
	case dtype.Complex64:
		return Scalar{quiet32 | quiet32<<32}
	case dtype.Float16:
		return Scalar{0x7e00}
	case dtype.BFloat16:
		return Scalar{0x7fc0}
	}
	return Scalar{quiet64, quiet64}
}
