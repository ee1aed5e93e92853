package batch

import (
	"math"
	"testing"
)

func TestSizeFor(t *testing.T) {
	const mb = 1_000_000
	for _, c := range []struct {
		free         int64
		margin       float64
		perItem      int64
		items, limit int
		want         int
	}{
		{1000 * mb, 0.2, 10 * mb, 64, 32, 32},
		{1000 * mb, 0.2, 10 * mb, 5, 32, 5},
		{15 * mb, 0.2, 10 * mb, 64, 32, 1},
		{1000 * mb, 0.2, 10 * mb, 1000, 1000, 80},
		{1000 * mb, 0.2, 10 * mb, 1000, 0, 80},
		{39 * mb, 0, 10 * mb, 64, 32, 3},
		{0, 0.2, 10 * mb, 64, 32, 1},
		{-1, 0.2, 10 * mb, 64, 32, 1},
		{1000 * mb, 1, 10 * mb, 64, 32, 1},
		{1000 * mb, 7, 10 * mb, 64, 32, 1},
		{100 * mb, -1, 10 * mb, 64, 32, 10},
		{1000 * mb, math.NaN(), 10 * mb, 64, 32, 1},
		{1000 * mb, 0.2, 0, 64, 32, 32},
		{1000 * mb, 0.2, -1, 64, 0, 64},
		{1000 * mb, 0.2, 10 * mb, 0, 32, 1},
		{1000 * mb, 0.2, 10 * mb, -3, 32, 1},
		{math.MaxInt64, 0, 1, math.MaxInt, -1, math.MaxInt},
	} {
		if got := SizeFor(c.free, c.margin, c.perItem, c.items, c.limit); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
