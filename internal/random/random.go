// Package random has RNG, whose methods make arrays of random numbers. internal/gen writes them from
// package internal/compose, which computes the numbers. Users import package gpk, which re-exports RNG.
package random

import (
	"fmt"
	"sync/atomic"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/expr"
)

// Array is array.Array, under the name that the generated methods use.
type Array = array.Array

// RNG makes arrays of random numbers, by Philox4x32-10. The numbers depend only on the seed and on the
// preceding calls: they have the same bits on every device, for any number of threads and any shape. A
// call uses the next blocks of the sequence, each of four numbers (two for float64 and integers), so no
// two calls use the same block. An RNG is safe for use by many goroutines; the numbers that each gets
// depend on the order of their calls.
type RNG struct {
	seed uint64
	next atomic.Uint64 // block
}

// NewRNG returns the sequence of a seed, from its beginning.
func NewRNG(seed uint64) *RNG { return &RNG{seed: seed} }

// Blocks reserves n blocks of the sequence for a generator of the program. It returns the seed and the
// number of the first block. A nil RNG is ErrUnsupported.
func (r *RNG) Blocks(n uint64) (seed, first uint64, err error) {
	if r == nil {
		return 0, 0, fmt.Errorf("%w: a nil RNG", expr.ErrUnsupported)
	}
	return r.seed, r.next.Add(n) - n, nil
}
