package main

import (
	"context"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn/bert"
)

// embedder is the part of a model that the server uses. Tests replace it by one that
// computes nothing.
type embedder interface {
	Tokenize(text string) ([]int32, error)
	// Embed returns a vector of Size numbers for each text.
	Embed(ctx context.Context, texts [][]int32) ([][]float32, error)
	Size() int
	MaxTokens() int
	Vocabulary() int
}

// model is a bert.Encoder whose Embed takes token ids.
type model struct{ *bert.Encoder }

func (m *model) Embed(ctx context.Context, texts [][]int32) ([][]float32, error) {
	x, err := m.EmbedTokens(ctx, texts)
	if err != nil {
		return nil, err
	}
	defer x.Free()
	all, err := gpk.ToSlice[float32](x)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(all, m.Size())), nil
}
