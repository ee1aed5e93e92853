package worker

import (
	"slices"
	"testing"
	"time"
)

func echo(_ *Context, in int) (int, error) { return in, nil }

// BenchmarkSend times messages from Send to the handler's end, all of them together.
func BenchmarkSend(b *testing.B) {
	w := active(b, echo, Options{})
	ctx := b.Context()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.Send(ctx, i, Normal); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Drain(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkAsk times round trips one by one.
func BenchmarkAsk(b *testing.B) {
	w := active(b, echo, Options{})
	ctx := b.Context()
	b.ReportAllocs()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		if out, err := w.Ask(ctx, i); out != i || err != nil {
			b.Fatal(out, err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}
