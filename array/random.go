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

// RNG makes arrays of random numbers, by Philox4x32-10. The numbers depend only on the seed
// and on the preceding calls: they have the same bits on every device, for any number of
// threads and any shape. A call takes the next blocks of the sequence, each of four numbers
// (two for float64 and integers), so that no two calls return the same ones. An RNG is safe
// for use by many goroutines; their order decides which of them gets which numbers.
type RNG struct {
	seed uint64
	next atomic.Uint64 // block
}

// NewRNG returns the sequence of a seed, from its beginning.
func NewRNG(seed uint64) *RNG { return &RNG{seed: seed} }

// Uniform returns numbers of [lo, hi), each equally likely, on the default device: lo + u
// (hi - lo) with u of 24 bits (53 for float64), rounded to the type and never hi. For
// integer types the numbers are lo, lo+1, … hi-1. For complex types both parts are such
// numbers. Bounds that the type cannot hold, and Bool, are ErrDType. Bounds that are not
// finite are ErrNonFinite. An interval that contains no number of the type is
// ErrUnsupported.
func (r *RNG) Uniform(dt dtype.DType, lo, hi float64, shape ...int) *Array {
	where := here()
	p, err := ops.UniformBounds(dt, lo, hi)
	return r.draw("Uniform", where, dt, shape, err, func(s *device.Stream, dst device.View, block uint64) error {
		return ops.Uniform(s, dst, r.seed, block, p)
	})
}

// Normal returns numbers of the normal distribution with a mean and a standard deviation,
// on the default device: up to 6.3 deviations from the mean, 8.5 for float64. Types other
// than real floats, and a mean or deviation that the type cannot hold, are ErrDType. A
// parameter that is not finite is ErrNonFinite, and a negative deviation ErrUnsupported.
func (r *RNG) Normal(dt dtype.DType, mean, std float64, shape ...int) *Array {
	where := here()
	err := ops.NormalBounds(dt, mean, std)
	return r.draw("Normal", where, dt, shape, err, func(s *device.Stream, dst device.View, block uint64) error {
		return ops.Normal(s, dst, r.seed, block, mean, std)
	})
}

// Blocks takes n blocks of the sequence for a program's own generator. It returns the seed
// and the number of the first block. A nil RNG is ErrUnsupported.
func (r *RNG) Blocks(n uint64) (seed, first uint64, err error) {
	if r == nil {
		return 0, 0, fmt.Errorf("%w: a nil RNG", expr.ErrUnsupported)
	}
	return r.seed, r.next.Add(n) - n, nil
}

// draw takes the blocks of the sequence for an array and returns the array, which fill
// computes. If err is not nil, it takes no blocks and returns an array that carries err.
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
