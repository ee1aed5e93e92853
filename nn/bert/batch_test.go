package bert

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBatches cuts texts of random lengths, and a long one among many short ones: neither
// a batch's tokens nor the rows of its means may exceed their limits.
func TestBatches(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	e := &Encoder{batchTokens: 100}
	for round := range 200 {
		lengths := make([]int, 1+rng.IntN(150))
		for i := range lengths {
			lengths[i] = 1 + rng.IntN(3)
			if rng.IntN(10) == 0 || round == 0 && i == 0 {
				lengths[i] = 1 + rng.IntN(150)
			}
		}
		slices.Sort(lengths)
		ids, order := make([][]int32, len(lengths)), make([]int, len(lengths))
		for i, n := range lengths {
			ids[i], order[i] = make([]int32, n), i
		}
		for first := 0; first < len(order); {
			end := e.batchEnd(ids, order, first)
			if end <= first || end > len(order) {
				t.Fatalf("a batch of texts %d to %d of %d", first, end, len(order))
			}
			total := 0
			for _, n := range lengths[first:end] {
				total += n
			}
			if rows := (end - first) * lengths[end-1]; end-first > 1 && (total > e.batchTokens || rows > 2*e.batchTokens) {
				t.Fatalf("a batch of %d tokens and %d rows: %v", total, rows, lengths[first:end])
			}
			first = end
		}
	}
}
