package worker

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/devicetest"
)

func echo(_ *Context, in int) (int, error) { return in, nil }

// TestSpeed: two processors handle 2 million messages a second, and the median of round trips
// is at most 2 us.
func TestSpeed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	ctx := t.Context()
	w := active(t, echo, Options{})
	ask := func() {
		if out, err := w.Ask(ctx, 7); out != 7 || err != nil {
			t.Fatal(out, err)
		}
	}
	devicetest.AtMost(t, "a message", 500*time.Nanosecond, func() time.Duration {
		const messages = 2_000 // so few that a busy machine may leave the processors to them
		begin := time.Now()
		for i := range messages {
			if err := w.Send(ctx, i, Normal); err != nil {
				t.Fatal(err)
			}
		}
		ask() // it waits behind the messages
		return time.Since(begin) / messages
	})
	devicetest.AtMost(t, "the median of round trips", 2*time.Microsecond, func() time.Duration {
		took := make([]time.Duration, 2001)
		for i := range took {
			took[i] = devicetest.CallTime(1, ask)
		}
		slices.Sort(took)
		return took[len(took)/2]
	})
	if n := w.Telemetry().Handled; n < 2_000 {
		t.Errorf("%d messages were handled", n)
	}
}

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
