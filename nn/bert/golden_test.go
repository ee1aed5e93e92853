package bert_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/golden"
	"github.com/gpk-go/gpk/nn/bert"
)

// minilm returns the folder of the model, which GPK_MINILM names.
func minilm(t *testing.T) string {
	dir := os.Getenv("GPK_MINILM")
	if dir == "" {
		t.Skip("NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
	}
	return dir
}

// TestGolden compares tokens and embeddings of the published model with those of a forward
// pass in float64, in each type, and in another order among other texts.
func TestGolden(t *testing.T) {
	dir := minilm(t)
	want, err := golden.MiniLM()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range want {
		texts = append(texts, c.Text)
	}
	for _, c := range []struct {
		name    string
		opts    []bert.Option
		cosine  float64 // at least
		largest float64 // difference of a component, 0 for any
	}{
		{"FullPrecision", []bert.Option{bert.WithPrecision(gpk.FullPrecision)}, 0.999999, 2e-5},
		{"TF32", []bert.Option{bert.WithPrecision(gpk.TF32)}, 0.9999, 0},
		{"Float16", []bert.Option{bert.WithDType(gpk.Float16)}, 0.9999, 0},
		{"BFloat16", []bert.Option{bert.WithDType(gpk.BFloat16)}, 0.999, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := bert.Load(dir, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			for i, c := range want {
				if ids, err := e.Tokenize(c.Text); err != nil || !slices.Equal(ids, c.TokenIDs) {
					t.Errorf("the tokens of text %d are %v (%v), want %v", i, ids, err, c.TokenIDs)
				}
			}
			order := rand.Perm(len(texts))
			mixed := []string{"something else"}
			for _, i := range order {
				mixed = append(mixed, texts[i], "and more")
			}
			alone, err := e.Embed(context.Background(), texts)
			if err != nil {
				t.Fatal(err)
			}
			among, err := e.Embed(context.Background(), mixed)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range want {
				at := 1 + 2*slices.Index(order, i)
				for _, got := range [][]float32{alone[i], among[at]} {
					cosine, largest := golden.Compare(got, want.Embedding)
					t.Logf("text %d: cosine %.9f, largest difference %.3g", i, cosine, largest)
					if !(cosine >= c.cosine) || c.largest > 0 && largest > c.largest {
						t.Errorf("text %d, order %v: cosine %.9f, largest difference %.3g", i, order, cosine, largest)
					}
				}
			}
		})
	}
}
