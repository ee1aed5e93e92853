package bert_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/nn/bert"
)

// randomTexts returns n texts of up to most tokens.
func randomTexts(rng *rand.Rand, n, most int) [][]int32 {
	texts := make([][]int32, n)
	for i := range texts {
		texts[i] = make([]int32, 1+rng.IntN(most))
		for j := range texts[i] {
			texts[i][j] = int32(rng.IntN(tinyWords))
		}
	}
	return texts
}

// embedded returns the embeddings of texts.
func embedded(t *testing.T, e *bert.Encoder, texts [][]int32) []float32 {
	t.Helper()
	a, err := e.EmbedTokens(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Free()
	got, err := gpk.ToSlice[float32](a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestGraphs embeds the same texts with graphs and without: the bits are the same, in every type, with
// either pooling, from several goroutines, and while graphs are dropped for want of room.
func TestGraphs(t *testing.T) {
	rng := seeded(t)
	for name, pooling := range map[string]string{"mean": `{"pooling_mode_mean_tokens": true}`, "cls": `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`} {
		m := newTiny(t, rng, "")
		m.write(t, "1_Pooling/config.json", pooling)
		for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
			plain, err := bert.Load(m.dir, bert.WithDType(dt))
			if err != nil {
				t.Fatal(err)
			}
			e, err := bert.Load(m.dir, bert.WithDType(dt))
			if err != nil {
				t.Fatal(err)
			}
			const most, goroutines = 3, 4
			e.UseGraphs(most, 1<<30)
			plain.SetLimits(200, 5)
			e.SetLimits(200, 5)
			var inputs [][][]int32
			var want [][]float32
			for _, n := range []int{1, 2, 3, 7, 30, 90} { // texts of one batch, and of several
				inputs = append(inputs, randomTexts(rng, n, tinyPositions))
				want = append(want, embedded(t, plain, inputs[len(inputs)-1]))
			}
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range 3 {
						for i, texts := range inputs {
							a, err := e.EmbedTokens(context.Background(), texts)
							if err != nil {
								t.Error(err)
								return
							}
							got, err := gpk.ToSlice[float32](a)
							a.Free()
							if err != nil || !slices.Equal(got, want[i]) {
								t.Errorf("%s, %v: %d texts with graphs and without differ (%v)", name, dt, len(texts), err)
							}
						}
					}
				})
			}
			wg.Wait()
			// While one is made, those of the other goroutines are in use and stay.
			if n, on := e.Graphs(); n == 0 || n > most+goroutines-1 || !on {
				t.Errorf("%s, %v: %d graphs, %v", name, dt, n, on)
			}
			e.Close()
			if n, on := e.Graphs(); n != 0 || on {
				t.Errorf("%s, %v: %d graphs of an encoder that was closed, %v", name, dt, n, on)
			}
			plain.Close()
		}
	}
}

// TestGraphMemory closes encoders with graphs and without: no byte of the device is left in use.
func TestGraphMemory(t *testing.T) {
	rng := seeded(t)
	m := newTiny(t, rng, "")
	cpu := devicetest.CPU(t)
	texts := randomTexts(rng, 9, tinyPositions)
	before := devicetest.InUse(t, cpu)
	for range 2 {
		e, err := bert.Load(m.dir, bert.WithDevice(cpu))
		if err != nil {
			t.Fatal(err)
		}
		e.UseGraphs(8, 1<<30)
		for range 3 {
			embedded(t, e, texts)
			embedded(t, e, texts[:4])
		}
		if n, _ := e.Graphs(); n != 2 {
			t.Errorf("%d graphs of two classes", n)
		}
		e.Close()
		if now := cpu.Pool().InUse; now > before {
			t.Errorf("%d bytes in use after Close, %d before", now, before)
		}
	}
}
