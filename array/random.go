package array

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// RNG makes arrays of random numbers, by Philox4x32-10. They are a function of
// the seed and of the calls before: the same bits on every device, whatever the
// number of threads and the shape that the elements are laid out in. A call takes
// the next blocks of the sequence, each of four numbers (of float64 and integers
// two), so that two calls never give the same ones. An RNG is safe for use by many
// goroutines; which of them gets which numbers is then up to their order.
type RNG struct {
	seed uint64
	next atomic.Uint64 // block
}

// NewRNG returns the sequence of a seed, from its beginning.
func NewRNG(seed uint64) *RNG { return &RNG{seed: seed} }

// Uniform returns numbers of [lo, hi), each equally likely, on the default
// device: lo + u (hi - lo) with u of 24 bits, for float64 of 53, rounded to the
// type and never hi. Of integer types they are lo, lo+1, … hi-1. Of complex types
// both parts are such numbers. Bounds that the type does not hold, and Bool, are
// ErrDType; bounds that are not finite are ErrNonFinite, and ones with nothing
// between them ErrUnsupported.
func (r *RNG) Uniform(dt dtype.DType, lo, hi float64, shape ...int) *Array {
	where := here()
	p, err := uniformBounds(dt, lo, hi)
	return r.draw("Uniform", where, dt, shape, err, func(block uint64) func(s *device.Stream, dst device.View) error {
		return func(s *device.Stream, dst device.View) error { return ops.Uniform(s, dst, r.seed, block, p) }
	})
}

// Normal returns numbers of the normal distribution with that mean and standard
// deviation, on the default device: of float32 and the halves up to 6.3 standard
// deviations away, of float64 8.5. Other types, and a mean or deviation that the type does
// not hold, are ErrDType; what is not finite is ErrNonFinite, a negative deviation
// ErrUnsupported.
func (r *RNG) Normal(dt dtype.DType, mean, std float64, shape ...int) *Array {
	where := here()
	var err error
	switch {
	case dt.Valid() && !dt.IsFloat():
		err = fmt.Errorf("%w: no normal distribution of %v; Cast one of floats", dtype.ErrDType, dt)
	case !finite(mean, std):
		err = fmt.Errorf("%w: mean %v and standard deviation %v", ErrNonFinite, mean, std)
	case dt.Valid() && !holds(dt, mean, std):
		err = fmt.Errorf("%w: %v does not hold mean %v and standard deviation %v", dtype.ErrDType, dt, mean, std)
	case std < 0:
		err = fmt.Errorf("%w: a negative standard deviation, %v", expr.ErrUnsupported, std)
	}
	return r.draw("Normal", where, dt, shape, err, func(block uint64) func(s *device.Stream, dst device.View) error {
		return func(s *device.Stream, dst device.View) error { return ops.Normal(s, dst, r.seed, block, mean, std) }
	})
}

// draw takes the blocks for an array and makes it, unless there is an error.
func (r *RNG) draw(name string, where site, dt dtype.DType, shape []int, err error, from func(block uint64) func(s *device.Stream, dst device.View) error) *Array {
	if r == nil {
		err = fmt.Errorf("%w: a nil RNG", expr.ErrUnsupported)
	}
	n := 0
	if err == nil && dt.Valid() {
		n, err = layout.Size(shape)
	}
	if err != nil {
		return failedArray(newSource(name, where, dt, shape).fail(err))
	}
	var first uint64
	if dt.Valid() {
		blocks := ops.RandomBlocks(dt, n)
		first = r.next.Add(blocks) - blocks
	}
	a := source(name, where, dt, shape, false, from(first))
	return a
}

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// uniformBounds turns the bounds into what ops.Uniform takes.
func uniformBounds(dt dtype.DType, lo, hi float64) (p [3]uint64, err error) {
	switch {
	case !dt.Valid(): // said elsewhere
		return p, nil
	case dt == dtype.Bool:
		return p, fmt.Errorf("%w: no uniform numbers of %v; compare ones of floats", dtype.ErrDType, dt)
	case !finite(lo, hi):
		return p, fmt.Errorf("%w: the bounds %v and %v", ErrNonFinite, lo, hi)
	case dt.IsInteger():
		return integerBounds(dt, lo, hi)
	}
	l, h, below := floatBounds(dt.Real(), lo, hi)
	width := h - l
	if dt.Real() != dtype.Float64 {
		width = float64(float32(h) - float32(l))
	}
	switch {
	case !finite(l, h):
		return p, fmt.Errorf("%w: %v does not hold the bounds %v and %v", dtype.ErrDType, dt, lo, hi)
	case l >= h:
		return p, fmt.Errorf("%w: %v has no number in [%v, %v)", expr.ErrUnsupported, dt, lo, hi)
	case !finite(width):
		return p, fmt.Errorf("%w: %v does not hold the width of [%v, %v)", dtype.ErrDType, dt, lo, hi)
	}
	return [3]uint64{math.Float64bits(l), math.Float64bits(width), math.Float64bits(below)}, nil
}

// floatBounds rounds bounds to a type; below is the greatest number below hi.
func floatBounds(dt dtype.DType, lo, hi float64) (l, h, below float64) {
	switch dt {
	case dtype.Float16:
		f := func(x float64) float16.Float16 { return float16.Fromfloat32(float32(x)) }
		b := f(hi)
		return float64(f(lo).Float32()), float64(b.Float32()), float64(float16.Frombits(before(b.Bits())).Float32())
	case dtype.BFloat16:
		f := func(x float64) bfloat16.BFloat16 { return bfloat16.FromFloat32(float32(x)) }
		b := f(hi)
		return float64(f(lo).Float32()), float64(b.Float32()), float64(bfloat16.FromBits(before(b.Bits())).Float32())
	case dtype.Float32:
		b := float32(hi)
		return float64(float32(lo)), float64(b), float64(math.Nextafter32(b, float32(math.Inf(-1))))
	}
	return lo, hi, math.Nextafter(hi, math.Inf(-1))
}

// holds reports whether numbers rounded to a floating-point type are finite.
func holds(dt dtype.DType, x, y float64) bool {
	a, b, _ := floatBounds(dt, x, y)
	return finite(a, b)
}

// before is the next number below that of a half's bits.
func before(bits uint16) uint16 {
	switch {
	case bits&0x7fff == 0:
		return 0x8001
	case bits>>15 == 1:
		return bits + 1
	}
	return bits - 1
}

// integerBounds checks that lo and hi-1 are numbers of the type. hi may be one
// beyond.
func integerBounds(dt dtype.DType, lo, hi float64) (p [3]uint64, err error) {
	r := integerRange[dt]
	if lo != math.Trunc(lo) || hi != math.Trunc(hi) || lo < float64(r[0]) || hi > float64(r[1])+1 || lo >= 0x1p63 {
		return p, fmt.Errorf("%w: %v does not hold the numbers from %v to %v", dtype.ErrDType, dt, lo, hi)
	}
	if lo >= hi {
		return p, fmt.Errorf("%w: %v has no number in [%v, %v)", expr.ErrUnsupported, dt, lo, hi)
	}
	end := uint64(1 << 63) // also of hi = 2^63
	if hi < 0x1p63 {
		end = uint64(int64(hi))
	}
	return [3]uint64{uint64(int64(lo)), end - uint64(int64(lo))}, nil
}
