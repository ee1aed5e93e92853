package bert_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gpk-go/gpk/nn/bert"
)

// BenchmarkEmbedTokens measures mostly the host's time, because the model is tiny.
func BenchmarkEmbedTokens(b *testing.B) {
	for _, graphs := range []bool{false, true} {
		b.Run(fmt.Sprintf("graphs=%v", graphs), func(b *testing.B) {
			m := newTiny(b, seeded(b), "")
			e, err := bert.Load(m.dir)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			if graphs {
				e.UseGraphs(8, 1<<30)
			}
			texts := [][]int32{{1, 3, 4, 2}}
			b.ReportAllocs()
			for b.Loop() {
				a, err := e.EmbedTokens(context.Background(), texts)
				if err != nil {
					b.Fatal(err)
				}
				a.Free()
			}
		})
	}
}
