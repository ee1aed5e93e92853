package bert

import (
	"math/rand/v2"
	"testing"
)

// TestBatches cuts texts of random lengths, and long ones among many short ones: a batch holds no
// more tokens than its limit, unless it is one text, and could not hold the next text too.
func TestBatches(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	e := &Encoder{batchTokens: 100}
	for range 200 {
		ids := make([][]int32, 1+rng.IntN(150))
		for i := range ids {
			n := 1 + rng.IntN(3)
			if rng.IntN(10) == 0 {
				n = 1 + rng.IntN(150)
			}
			ids[i] = make([]int32, n)
		}
		for first := 0; first < len(ids); {
			end := e.batchEnd(ids, first)
			if end <= first || end > len(ids) {
				t.Fatalf("a batch of texts %d to %d of %d", first, end, len(ids))
			}
			total := 0
			for _, text := range ids[first:end] {
				total += len(text)
			}
			if end-first > 1 && total > e.batchTokens || end < len(ids) && total+len(ids[end]) <= e.batchTokens {
				t.Fatalf("a batch of %d texts and %d tokens", end-first, total)
			}
			first = end
		}
	}
}

// TestClasses rounds shapes up, and pads packed texts. The padding is at most an eighth of the
// tokens, or less than 8, consists of short texts, and does not change the texts.
func TestClasses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 500 {
		texts := make([][]int32, 1+rng.IntN(40))
		for i := range texts {
			texts[i] = make([]int32, 1+rng.IntN(60))
			for j := range texts[i] {
				texts[i][j] = 1 + rng.Int32N(1000)
			}
		}
		p := newPacked(texts)
		c := classOf(&p)
		if more := c.tokens - p.tokens; more < 0 || more >= 8 && 8*more > p.tokens || c.texts <= p.texts || c.texts > 2*(p.texts+p.tokens/(8*padding)+1) {
			t.Fatalf("%d tokens and %d texts become %v", p.tokens, p.texts, c)
		}
		if again := classOf(&packed{tokens: c.tokens, texts: p.texts}); again.tokens != c.tokens {
			t.Fatalf("%v is rounded up again, to %v", c, again)
		}
		data := make([]int32, 2*c.tokens+c.texts+1)
		for i := range data {
			data[i] = -99
		}
		c.pad(data, &p)
		padded := packed{tokens: c.tokens, texts: c.texts, data: data}
		ids, places, offsets := padded.parts()
		if offsets[0] != 0 || int(offsets[c.texts]) != c.tokens {
			t.Fatalf("offsets %v of %v", offsets, c)
		}
		for i := range c.texts {
			from, to := offsets[i], offsets[i+1]
			if to < from || i >= p.texts && to-from > padding {
				t.Fatalf("text %d of %d is the rows %d to %d", i, p.texts, from, to)
			}
			for j := from; j < to; j++ {
				id, place := int32(0), int32(0)
				if i < p.texts {
					id, place = texts[i][j-from], j-from
				}
				if ids[j] != id || places[j] != place {
					t.Fatalf("token %d of text %d is %d at %d, want %d at %d", j-from, i, ids[j], places[j], id, place)
				}
			}
		}
	}
}
