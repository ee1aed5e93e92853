package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/golden"
	"github.com/gpk-go/gpk/nn/bert"
)

// embedTexts holds the texts, one a line, that the peer embeds too. Each has 4 to 60 words.
//
//go:embed peers/embed_texts.txt
var embedTexts string

// embedCases embed texts by the model of -model. The batches are the same as in the
// peer's program: texts sorted by length.
func embedCases(o options, gpu bool) ([]benchCase, error) {
	types, batches, where := []string{"bf16"}, []int{1, 32, 256}, "cuda"
	if !gpu {
		types, batches, where = []string{"fp32"}, []int{32}, "cpu"
	}
	var cs []benchCase
	for _, p := range o.precisionsOr(types...) {
		if !slices.Contains([]string{"fp32", "tf32", "fp16", "bf16"}, p.name) {
			return nil, fmt.Errorf("-dtypes: suite embed has fp32, tf32, fp16 and bf16, not %s", p.name)
		}
		for _, batch := range batches {
			for _, input := range []string{"tokens", "text"} {
				cs = append(cs, benchCase{
					name: fmt.Sprintf("Embed/model=minilm-l6/device=%s/input=%s/dtype=%s/batch=%d", where, input, p.name, batch),
					run:  func(r *runner) ([]result, error) { return embedRounds(r, o.model, p, input == "text", batch) },
				})
			}
		}
	}
	return cs, nil
}

// embedRounds loads the model, checks it, and times rounds over all texts.
func embedRounds(r *runner, dir string, p precision, fromText bool, batch int) ([]result, error) {
	opts := []bert.Option{bert.WithDevice(r.dev), bert.WithDType(p.dtype)}
	bound := 0.9999
	switch p.name {
	case "fp32":
		opts, bound = append(opts, bert.WithPrecision(gpk.FullPrecision)), 0.999999
	case "bf16":
		bound = 0.999
	}
	e, err := bert.Load(dir, opts...)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	texts, ids, err := embedInput(e, r.gpu && batch > 1)
	if err != nil {
		return nil, err
	}
	round := func() error { return embedTokenized(e, ids, batch) }
	if fromText {
		round = func() error { return embedFromText(e, texts, batch) }
	}
	if err := round(); err != nil { // compiles, packs, warms up
		return nil, err
	}
	var out []result
	for range r.count {
		var laps []float64
		for range 3 {
			began := time.Now()
			if err := round(); err != nil {
				return out, err
			}
			if err := r.dev.Synchronize(context.Background()); err != nil {
				return out, err
			}
			laps = append(laps, time.Since(began).Seconds()/float64(len(texts)))
		}
		cosine, err := embedCheck(e, texts, batch)
		if err != nil {
			return out, err
		}
		if !(cosine >= bound) {
			return out, fmt.Errorf("wrong result: the cosine with the golden embedding is %v", cosine)
		}
		s := median(laps)
		out = append(out, result{Iterations: 3 * len(texts), Metrics: []metric{{s * 1e9, "ns/op"}, {1 / s, "sentences/s"}}})
	}
	return out, nil
}

// embedInput returns the texts, sorted by length, and their tokens: all of them, or the
// first 512, as the peer does.
func embedInput(e *bert.Encoder, all bool) (texts []string, ids [][]int32, err error) {
	for s := bufio.NewScanner(strings.NewReader(embedTexts)); s.Scan() && (all || len(texts) < 512); {
		texts = append(texts, s.Text())
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, t := range texts {
		tokens, err := e.Tokenize(t)
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, tokens)
	}
	return texts, ids, nil
}

func embedTokenized(e *bert.Encoder, ids [][]int32, batch int) error {
	for part := range slices.Chunk(ids, batch) {
		a, err := e.EmbedTokens(context.Background(), part)
		if err != nil {
			return err
		}
		a.Free()
	}
	return nil
}

func embedFromText(e *bert.Encoder, texts []string, batch int) error {
	for part := range slices.Chunk(texts, batch) {
		if _, err := e.Embed(context.Background(), part); err != nil {
			return err
		}
	}
	return nil
}

// embedCheck embeds golden texts in a batch with others, and returns the least cosine.
func embedCheck(e *bert.Encoder, others []string, batch int) (float64, error) {
	cases, err := golden.MiniLM()
	if err != nil {
		return 0, err
	}
	var texts []string
	for _, c := range cases {
		texts = append(texts, c.Text)
	}
	rows, err := e.Embed(context.Background(), append(texts, others[:batch-1]...))
	if err != nil {
		return 0, err
	}
	least := math.Inf(1)
	for i, c := range cases {
		cosine, _ := golden.Compare(rows[i], c.Embedding)
		least = min(least, cosine)
	}
	return least, nil
}
