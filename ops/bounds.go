package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// ErrNonFinite is the error of an operation that needs finite values.
var ErrNonFinite = errors.New("not finite")

// Finite reports whether all numbers are finite.
func Finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// UniformBounds checks the bounds of uniform numbers of a type, and returns them as the
// parameters of Uniform.
func UniformBounds(dt dtype.DType, lo, hi float64) (p [3]uint64, err error) {
	switch {
	case !dt.Valid(): // the caller reports it
		return p, nil
	case dt == dtype.Bool:
		return p, fmt.Errorf("%w: no uniform numbers of %v; compare uniform floating-point numbers instead", dtype.ErrDType, dt)
	case !Finite(lo, hi):
		return p, fmt.Errorf("%w: the bounds %v and %v are not both finite", ErrNonFinite, lo, hi)
	case dt.IsInteger():
		return integerBounds(dt, lo, hi)
	}
	l, h, below := floatBounds(dt.Real(), lo, hi)
	width := h - l
	if dt.Real() != dtype.Float64 {
		width = float64(float32(h) - float32(l))
	}
	switch {
	case !Finite(l, h):
		return p, fmt.Errorf("%w: %v does not hold the bounds %v and %v", dtype.ErrDType, dt, lo, hi)
	case l >= h:
		return p, fmt.Errorf("%w: %v has no number in [%v, %v)", expr.ErrUnsupported, dt, lo, hi)
	case !Finite(width):
		return p, fmt.Errorf("%w: %v does not hold the width of [%v, %v)", dtype.ErrDType, dt, lo, hi)
	}
	return [3]uint64{math.Float64bits(l), math.Float64bits(width), math.Float64bits(below)}, nil
}

// NormalBounds returns an error if Normal does not accept this mean and standard deviation
// for a type.
func NormalBounds(dt dtype.DType, mean, std float64) error {
	switch {
	case dt.Valid() && !dt.IsFloat():
		return fmt.Errorf("%w: no normal distribution of %v; Cast floating-point numbers instead", dtype.ErrDType, dt)
	case !Finite(mean, std):
		return fmt.Errorf("%w: the mean %v and the standard deviation %v are not both finite", ErrNonFinite, mean, std)
	case dt.Valid() && !Holds(dt, mean, std):
		return fmt.Errorf("%w: %v does not hold mean %v and standard deviation %v", dtype.ErrDType, dt, mean, std)
	case std < 0:
		return fmt.Errorf("%w: a negative standard deviation, %v", expr.ErrUnsupported, std)
	}
	return nil
}

// floatBounds rounds the bounds to a type. below is the greatest number of the type below
// hi.
func floatBounds(dt dtype.DType, lo, hi float64) (l, h, below float64) {
	if t, ok := dt.Half(); ok {
		number := func(bits uint16) float64 { return float64(t.Float32(bits)) }
		b := t.Round(float32(hi))
		return number(t.Round(float32(lo))), number(b), number(nextBelow(b))
	}
	if dt == dtype.Float32 {
		b := float32(hi)
		return float64(float32(lo)), float64(b), float64(math.Nextafter32(b, float32(math.Inf(-1))))
	}
	return lo, hi, math.Nextafter(hi, math.Inf(-1))
}

// Holds reports whether x and y stay finite when they are rounded to a floating-point
// type.
func Holds(dt dtype.DType, x, y float64) bool {
	a, b, _ := floatBounds(dt, x, y)
	return Finite(a, b)
}

// nextBelow returns the bits of the largest half below the half with the given bits.
func nextBelow(bits uint16) uint16 {
	switch {
	case bits&0x7fff == 0:
		return 0x8001
	case bits>>15 == 1:
		return bits + 1
	}
	return bits - 1
}

// integerBounds checks that lo and hi-1 are numbers of the type, and returns lo and hi-lo
// as the parameters of Uniform.
func integerBounds(dt dtype.DType, lo, hi float64) (p [3]uint64, err error) {
	least, greatest := IntegerRange(dt)
	end := float64(greatest) + 1 // 2^63 and 2^64 for the types of 64 bits
	if lo != math.Trunc(lo) || hi != math.Trunc(hi) || lo < float64(least) || hi > end || lo >= end {
		return p, fmt.Errorf("%w: %v does not hold the numbers from %v to %v", dtype.ErrDType, dt, lo, hi)
	}
	if lo >= hi {
		return p, fmt.Errorf("%w: %v has no number in [%v, %v)", expr.ErrUnsupported, dt, lo, hi)
	}
	return [3]uint64{wrapped(lo), wrapped(hi) - wrapped(lo)}, nil
}

// wrapped returns the bits of a whole number from -2^63 to 2^64 as a 64-bit integer; those
// of 2^64 are 0.
func wrapped(x float64) uint64 {
	switch {
	case x < 0:
		return uint64(int64(x))
	case x < 0x1p64:
		return uint64(x)
	}
	return 0
}
