package otel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gpk-go/gpk/serve/batch"
)

// Batcher registers the counters of b, a *batch.Batcher: items by outcome, the queue's
// length, batch sizes, and times in seconds. The attribute gpk.batcher is name. A nil meter
// or b is ErrUnsupported; other errors are the meter's.
func Batcher(meter metric.Meter, name string, b interface{ Stats() batch.Stats }) (metric.Registration, error) {
	if err := check(meter, b); err != nil {
		return nil, err
	}
	type stats = batch.Stats
	g := &group[stats]{
		meter: meter, labels: []attribute.KeyValue{attribute.String("gpk.batcher", name)},
		read: func() (stats, bool) { return b.Stats(), true },
	}
	counter(g, "gpk.batch.accepted", "{item}", "Items that entered the queue.", func(s stats) uint64 { return s.Accepted })
	outcome := func(name string, value func(stats) uint64) sample[stats] { return of(value, "gpk.outcome", name) }
	items, err := meter.Int64ObservableCounter("gpk.batch.items", metric.WithUnit("{item}"), metric.WithDescription(
		"Items by outcome: with an output (done), with an error (failed), left by their caller before their batch started (left), "+
			"given up by Close (dropped), refused by a full queue (rejected)."))
	g.whole(items, err,
		outcome("done", func(s stats) uint64 { return s.Done }),
		outcome("failed", func(s stats) uint64 { return s.Failed }),
		outcome("left", func(s stats) uint64 { return s.Left }),
		outcome("dropped", func(s stats) uint64 { return s.Dropped }),
		outcome("rejected", func(s stats) uint64 { return s.Rejected }))
	sum(g, "gpk.batch.queued", "{item}", "Items that wait for their batch to start.", func(s stats) int { return s.Queued })
	sum(g, "gpk.batch.running", "{item}", "Items of the batch that runs.", func(s stats) int { return s.Running })
	bounds := b.Stats()
	g.histogram("gpk.batch.size", "{item}", "Items of the batches that have started.", bounds.Sizes.Bounds, func(s stats) *batch.Histogram { return &s.Sizes })
	g.histogram("gpk.batch.waiting", "s", "Time of an item in the queue.", bounds.Waiting.Bounds, func(s stats) *batch.Histogram { return &s.Waiting })
	g.histogram("gpk.batch.computing", "s", "Time of a batch in the function.", bounds.Computing.Bounds, func(s stats) *batch.Histogram { return &s.Computing })
	return g.register()
}
