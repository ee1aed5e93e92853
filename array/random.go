package array

import (
	"fmt"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// RNG makes arrays of random numbers, by Philox4x32-10. They are a function of the seed
// and of the calls before: the same bits on every device, for any number of threads and
// any shape. A call takes the next blocks of the sequence, each of four numbers (of
// float64 and integers two), so that no two calls give the same ones. An RNG is safe for
// use by many goroutines; their order decides which of them gets which numbers.
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
	p, err := ops.UniformBounds(dt, lo, hi)
	return r.draw("Uniform", where, dt, shape, err, func(s *device.Stream, dst device.View, block uint64) error {
		return ops.Uniform(s, dst, r.seed, block, p)
	})
}

// Normal returns numbers of the normal distribution with that mean and standard
// deviation, on the default device: up to 6.3 deviations away, of float64 8.5. Types
// other than real floats, and a mean or deviation that the type does not hold, are ErrDType;
// what is not finite is ErrNonFinite, and a negative deviation ErrUnsupported.
func (r *RNG) Normal(dt dtype.DType, mean, std float64, shape ...int) *Array {
	where := here()
	err := ops.NormalBounds(dt, mean, std)
	return r.draw("Normal", where, dt, shape, err, func(s *device.Stream, dst device.View, block uint64) error {
		return ops.Normal(s, dst, r.seed, block, mean, std)
	})
}

// Blocks takes n blocks of the sequence for a program's own generator, and returns its seed
// and the number of the first of them. A nil RNG is ErrUnsupported.
func (r *RNG) Blocks(n uint64) (seed, first uint64, err error) {
	if r == nil {
		return 0, 0, fmt.Errorf("%w: a nil RNG", expr.ErrUnsupported)
	}
	return r.seed, r.next.Add(n) - n, nil
}

// draw takes the blocks of the sequence for an array and returns the array, which fill
// computes. If err is not nil, it takes none and returns the array of err.
func (r *RNG) draw(name string, where site, dt dtype.DType, shape []int, err error, fill func(s *device.Stream, dst device.View, block uint64) error) *Array {
	if r == nil {
		err = fmt.Errorf("%w: a nil RNG", expr.ErrUnsupported)
	}
	n := 0
	if err == nil && dt.Valid() {
		n, err = layout.Size(shape)
	}
	var first uint64
	if err == nil && dt.Valid() {
		blocks := ops.RandomBlocks(dt, n)
		first = r.next.Add(blocks) - blocks
	}
	return source(name, where, dt, shape, err, false, func(s *device.Stream, dst device.View) error { return fill(s, dst, first) })
}
