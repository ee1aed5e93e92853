// Package golden has values that others have computed, for tests and benchmarks to agree
// with.
package golden

import (
	_ "embed"
	"encoding/json"
	"math"
	"sync"
)

// Text is a text with its tokens and embedding.
type Text struct {
	Text      string    `json:"text"`
	TokenIDs  []int32   `json:"token_ids"`
	Embedding []float64 `json:"embedding"`
}

//go:embed minilm.json
var minilm []byte

// MiniLM returns texts with the embeddings that all-MiniLM-L6-v2 computes for them, by a
// forward pass in float64: the mean of the tokens' vectors, divided by its length.
var MiniLM = sync.OnceValues(func() ([]Text, error) {
	var f struct {
		Cases []Text `json:"cases"`
	}
	err := json.Unmarshal(minilm, &f)
	return f.Cases, err
})

// Compare returns the cosine of the angle between an embedding and a golden one, and their
// largest difference.
func Compare(got []float32, want []float64) (cosine, largest float64) {
	if len(got) != len(want) {
		return math.NaN(), math.Inf(1)
	}
	var ab, aa, bb float64
	for i, b := range want {
		a := float64(got[i])
		ab, aa, bb = ab+a*b, aa+a*a, bb+b*b
		largest = max(largest, math.Abs(a-b))
	}
	return ab / math.Sqrt(aa*bb), largest
}
