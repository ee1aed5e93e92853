// Package testrand makes the random numbers of tests.
package testrand

import (
	"math/rand/v2"
	"testing"
)

// New returns a generator with a random seed, and logs the seed.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
