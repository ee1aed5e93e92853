package bert_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/nn/bert"
)

// onRanks runs f on n ranks on the CPU, each with an encoder of the model.
func onRanks(t *testing.T, m *tiny, n int, f func(ctx context.Context, c *dist.Comm, e *bert.Encoder) error) error {
	t.Helper()
	cpu := devicetest.CPU(t)
	g, err := dist.Local(slices.Repeat([]*device.Device{cpu}, n)...)
	if err != nil {
		t.Fatal(err)
	}
	err = g.Run(t.Context(), func(ctx context.Context, c *dist.Comm) error {
		e, err := bert.Load(m.dir, bert.WithDevice(c.Device()))
		if err != nil {
			return err
		}
		defer e.Close()
		e.SetLimits(20, 3)
		return f(ctx, c, e)
	})
	return errors.Join(err, g.Close())
}

// words returns texts of up to seven words.
func words(rng *rand.Rand, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		for range rng.IntN(8) {
			texts[i] += string(rune('a'+rng.IntN(6))) + " "
		}
	}
	return texts
}

// identical returns an error that names the first embeddings with different bits.
func identical(got, want [][]float32) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d embeddings of %d texts", len(got), len(want))
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("text %d: %d features, not %d", i, len(got[i]), len(want[i]))
		}
		for j := range got[i] {
			if math.Float32bits(got[i][j]) != math.Float32bits(want[i][j]) {
				return fmt.Errorf("text %d, feature %d is %v, not %v", i, j, got[i][j], want[i][j])
			}
		}
	}
	return nil
}

// TestEmbedRanks checks that the bits and the order are those of one rank, for different numbers of texts,
// ranks, windows and batches, and that no goroutine is left.
func TestEmbedRanks(t *testing.T) {
	rng := seeded(t)
	m := newTiny(t, rng, "")
	before := runtime.NumGoroutine()
	for _, n := range []int{1, 2, 4} {
		for _, count := range []int{0, 1, 2, 5, 12, 13, 40} {
			texts := words(rng, count)
			err := onRanks(t, m, n, func(ctx context.Context, c *dist.Comm, e *bert.Encoder) error {
				want, err := e.Embed(ctx, texts)
				if err != nil {
					return err
				}
				got, err := e.EmbedRanks(ctx, c, texts)
				if err != nil {
					return err
				}
				return identical(got, want)
			})
			if err != nil {
				t.Fatalf("%d texts, %d ranks: %v", count, n, err)
			}
		}
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestEmbedRanksErrors checks that all ranks get the error of one rank, with its number, and can continue.
func TestEmbedRanksErrors(t *testing.T) {
	rng := seeded(t)
	m := newTiny(t, rng, "")
	texts := words(rng, 17)
	wrong := slices.Clone(texts)
	wrong[13] = "\xff" // in the second round of 12 texts: rank 1 tokenizes text 13
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := onRanks(t, m, 4, func(ctx context.Context, c *dist.Comm, e *bert.Encoder) error {
		want, err := e.Embed(ctx, texts)
		if err != nil {
			return err
		}
		for i, k := range []struct {
			rank  int
			ctx   context.Context
			texts []string
			batch int // tokens
			is    error
			say   string
		}{
			{1, ctx, wrong, 20, nil, "text 13"},
			{2, ended, texts, 20, context.Canceled, ""},
			{3, ctx, texts[:16], 20, gpk.ErrShape, "16 texts, but rank 0 has 17"},
			{3, ctx, nil, 20, gpk.ErrShape, "0 texts"},
			{2, ctx, texts, 21, gpk.ErrShape, "21 tokens in a batch"},
		} {
			here, in := ctx, texts
			if c.Rank() == k.rank {
				here, in = k.ctx, k.texts
				e.SetLimits(k.batch, 3)
			}
			rows, err := e.EmbedRanks(here, c, in)
			e.SetLimits(20, 3)
			of, ok := errors.AsType[*dist.RankError](err)
			if rows != nil || !ok || of.Rank != k.rank || !strings.Contains(err.Error(), k.say) || k.is != nil && !errors.Is(err, k.is) {
				return fmt.Errorf("%d: rank %d: %v", i, c.Rank(), err)
			}
			if text, ok := errors.AsType[*bert.TextError](err); i == 0 && c.Rank() == 1 && (!ok || text.Index != 13) {
				return fmt.Errorf("%d: %v", i, err)
			}
			got, err := e.EmbedRanks(ctx, c, texts)
			if err == nil {
				err = identical(got, want)
			}
			if err != nil {
				return fmt.Errorf("%d: afterwards: %w", i, err)
			}
		}
		if _, err := e.EmbedRanks(ctx, nil, texts); !errors.Is(err, gpk.ErrUnsupported) {
			return fmt.Errorf("a nil Comm: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEmbedRanksLost checks that the others, which wait for a rank that returns, get an error that names it.
func TestEmbedRanksLost(t *testing.T) {
	m := newTiny(t, seeded(t), "")
	why := errors.New("no more")
	err := onRanks(t, m, 3, func(ctx context.Context, c *dist.Comm, e *bert.Encoder) error {
		if c.Rank() == 1 {
			return why
		}
		_, err := e.EmbedRanks(ctx, c, []string{"a", "b"})
		return err
	})
	if of, ok := errors.AsType[*dist.RankError](err); !ok || of.Rank != 1 || !errors.Is(err, why) {
		t.Error(err)
	}
}
