package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestAttentionSpans compares sequences whose keys are cut into spans with the formula in
// float64, and the bits of a sequence alone with those in a batch and on other numbers of
// threads: few blocks share their spans, many do not.
func TestAttentionSpans(t *testing.T) {
	withVariants(t, func(t *testing.T) {
		rng := testrand.New(t)
		for _, c := range []struct{ kv, group, n, m, dim int }{
			{2, 4, 1, 256, 128},
			{1, 4, 1, 2500, 64},
			{2, 1, 1, 300, 33},
			{1, 8, 1, 513, 32},
			{1, 2, 3, 700, 80},
			{1, 1, 64, 390, 24},
		} {
			for _, masked := range []bool{false, true} {
				a, _ := attentionOf(rng, 9, c.kv, c.group, c.n, c.m, c.dim)
				if count, length := a.spans(); count < 2 || (count-1)*length >= c.m || count*length < c.m {
					t.Fatalf("%v: %d spans of %d", c, count, length)
				}
				a.Causal = masked
				if masked {
					hideSpans(rng, a)
				}
				testSpans(t, fmt.Sprint(c, masked), a)
			}
		}
	})
}

// hideSpans gives a a mask that hides most keys of each sequence: whole spans of some, all
// keys of the first query of sequence 1.
func hideSpans(rng *rand.Rand, a *Attention) {
	mask := make([]bool, a.Batch*a.Queries*a.Keys)
	for row := range a.Batch * a.Queries {
		from := rng.IntN(a.Keys)
		for j := from; j < min(from+140, a.Keys) && row != a.Queries; j++ {
			mask[row*a.Keys+j] = rng.IntN(3) > 0
		}
	}
	a.MaskType = dtype.Bool
	a.Mask = HeadRows{Data: at0(mask), Batch: a.Queries * a.Keys, Row: a.Keys, Step: 1}
}

func testSpans(t *testing.T, what string, a *Attention) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	size := a.Heads * a.Queries * a.Dim
	var first []float32
	for _, threads := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(threads)
		for _, batch := range []int{9, 1} {
			out := poisoned32(9 * size)
			one := *a
			one.Batch, one.Out.Data = batch, at0(out)
			one.Run()
			if first == nil {
				first = out
			}
			sameFloats(t, fmt.Sprintf("%s: %d threads, batch %d", what, threads, batch), out[:batch*size], first[:batch*size])
		}
	}
	r := &attention[float32]{Attention: a, load: lineLoader(a.Type), size: a.Type.Size()}
	want := make([]float32, a.Dim)
	for i := range a.Batch * a.Heads * a.Queries {
		head := i / a.Queries % a.Heads
		b := attentionBlock{batch: i / a.Queries / a.Heads, queries: a.Queries, keys: a.Keys, head: head, heads: 1, kv: head * a.KVHeads / a.Heads, rows: a.Queries}
		r.computeExact(&b, i%a.Queries, want)
		for d, w := range want {
			if got := first[i*a.Dim+d]; !(math.Abs(float64(got-w)) < 4e-6) {
				t.Fatalf("%s: row %d, element %d is %v, want %v", what, i, d, got, w)
			}
		}
	}
}
