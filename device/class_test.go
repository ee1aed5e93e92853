package device

import (
	"math/bits"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

func TestClassOf(t *testing.T) {
	rng := testrand.New(t)
	check := func(n int64) {
		c := classOf(n)
		switch {
		case c < n, c%smallest != 0:
			t.Fatalf("%d bytes in a block of %d", n, c)
		case n > 4096 && c-n >= (n+7)/8 && n <= huge, n > huge && (c%huge != 0 || c-n >= huge):
			t.Fatalf("%d bytes waste %d", n, c-n)
		case classOf(c) != c:
			t.Fatalf("a block of %d is not of its own class", c)
		}
	}
	for n := int64(1); n < 20000; n++ {
		check(n)
	}
	for range 100000 {
		check(1 + rng.Int64N(1<<rng.IntN(40)))
	}
	for i := 9; i < 40; i++ {
		if n := int64(1) << i; classOf(n) != n {
			t.Errorf("2^%d is in a block of %d", i, classOf(n))
		}
	}
	classes := map[int]map[int64]bool{}
	for n := int64(4097); n <= 1<<20; n++ {
		c := classOf(n)
		octave := bits.Len64(uint64(c - 1))
		if classes[octave] == nil {
			classes[octave] = map[int64]bool{}
		}
		classes[octave][c] = true
	}
	for octave, set := range classes {
		if len(set) != 8 {
			t.Errorf("up to 2^%d there are %d classes", octave, len(set))
		}
	}
}
