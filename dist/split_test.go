package dist

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// narrow is an engine whose colors and keys are 32-bit, as those of MPI are.
type narrow struct {
	relay
	ranks int
}

func (n narrow) split(_ context.Context, color, key int) (mover, error) {
	if color < -1 || color >= n.ranks || color >= 0 && (key < 0 || key >= n.ranks) {
		return nil, fmt.Errorf("color %d and key %d of %d ranks", color, key, n.ranks)
	}
	return n.relay, nil
}

// TestSplitWide splits with colors and keys of all bits of an int. The engine is given small ones.
func TestSplitWide(t *testing.T) {
	const ranks = 4
	local(t, ranks, func(ctx context.Context, c *Comm) error {
		c.move = narrow{relay{c.r.node}, ranks}
		color := []int{math.MaxInt, math.MinInt, math.MaxInt - 1, math.MaxInt}[c.Rank()]
		s, err := c.Split(ctx, color, math.MinInt+4-c.Rank())
		if err != nil || c.Rank() == 1 {
			if err == nil && s != nil {
				err = fmt.Errorf("color %d has a Comm", color)
			}
			return err
		}
		if want := map[int][2]int{0: {1, 2}, 2: {0, 1}, 3: {0, 2}}[c.Rank()]; s.Rank() != want[0] || s.Size() != want[1] {
			return fmt.Errorf("color %d: rank %d of %d, want %v", color, s.Rank(), s.Size(), want)
		}
		return s.Barrier(ctx)
	})
}
