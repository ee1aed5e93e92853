package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpk-go/gpk/serve/batch"
)

// Batcher returns a collector of the counters of b, a *batch.Batcher: items by outcome,
// the queue's length, and histograms of batch sizes and of times in seconds. The label
// batcher is name; two Batchers of one registry need two names.
func Batcher(name string, b interface{ Stats() batch.Stats }) prometheus.Collector {
	type stats = batch.Stats
	c := &collector[stats]{
		labels: prometheus.Labels{"batcher": name},
		read:   func() (stats, bool) { return b.Stats(), true },
	}
	c.counter("gpk_batch_accepted_items_total", "Items that entered the queue.", func(s stats) uint64 { return s.Accepted })
	c.labelled("gpk_batch_items_total", "Items by outcome: with an output (done), with an error (failed), "+
		"left by their caller before their batch started (left), given up by Close (dropped), refused by a full queue (rejected).",
		prometheus.CounterValue, "outcome", []sample[stats]{
			{"done", func(s stats) float64 { return float64(s.Done) }},
			{"failed", func(s stats) float64 { return float64(s.Failed) }},
			{"left", func(s stats) float64 { return float64(s.Left) }},
			{"dropped", func(s stats) float64 { return float64(s.Dropped) }},
			{"rejected", func(s stats) float64 { return float64(s.Rejected) }},
		})
	c.gauge("gpk_batch_queued_items", "Items that wait for their batch to start.", func(s stats) float64 { return float64(s.Queued) })
	c.gauge("gpk_batch_running_items", "Items of the batch that runs.", func(s stats) float64 { return float64(s.Running) })
	c.histogram("gpk_batch_size", "Items of the batches that have started.", func(s stats) *batch.Histogram { return &s.Sizes })
	c.histogram("gpk_batch_waiting_seconds", "Time of an item in the queue.", func(s stats) *batch.Histogram { return &s.Waiting })
	c.histogram("gpk_batch_computing_seconds", "Time of a batch in the function.", func(s stats) *batch.Histogram { return &s.Computing })
	return c
}
