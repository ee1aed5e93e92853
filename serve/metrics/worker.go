package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpk-go/gpk/serve/worker"
)

// Worker returns a collector of the counters of w, a *worker.Worker: messages by outcome,
// the queue's length by band, the state, and the median and 99th percentile of waiting
// and handling in seconds. The label worker is name; two Workers of one registry need two
// names.
func Worker(name string, w interface {
	Telemetry() worker.Telemetry
	State() worker.State
},
) prometheus.Collector {
	type stats struct {
		worker.Telemetry
		state worker.State
	}
	c := &collector[stats]{
		labels: prometheus.Labels{"worker": name},
		read:   func() (stats, bool) { return stats{w.Telemetry(), w.State()}, true },
	}
	c.counter("gpk_worker_received_messages_total", "Messages of Send and Ask.", func(s stats) uint64 { return s.Received })
	c.labelled("gpk_worker_messages_total", "Messages by outcome.", prometheus.CounterValue, "outcome", []sample[stats]{
		{"handled", func(s stats) float64 { return float64(s.Handled) }},
		{"failed", func(s stats) float64 { return float64(s.Failed) }},
		{"panicked", func(s stats) float64 { return float64(s.Panicked) }},
		{"rejected", func(s stats) float64 { return float64(s.Dropped.Rejected) }},
		{"dropped_oldest", func(s stats) float64 { return float64(s.Dropped.Oldest) }},
		{"dropped_new", func(s stats) float64 { return float64(s.Dropped.New) }},
		{"canceled", func(s stats) float64 { return float64(s.Dropped.Canceled) }},
		{"stopped", func(s stats) float64 { return float64(s.Dropped.Stopped) }},
	})
	c.counter("gpk_worker_restarts_total", "Restarts after a panic.", func(s stats) uint64 { return s.Restarts })
	c.labelled("gpk_worker_queued_messages", "Messages that wait, by band of priority.", prometheus.GaugeValue, "band", []sample[stats]{
		{"low", func(s stats) float64 { return float64(s.Queued.Low) }},
		{"normal", func(s stats) float64 { return float64(s.Queued.Normal) }},
		{"high", func(s stats) float64 { return float64(s.Queued.High) }},
		{"system", func(s stats) float64 { return float64(s.Queued.System) }},
	})
	var states []sample[stats]
	for _, state := range []worker.State{worker.Created, worker.Idle, worker.Active, worker.Draining, worker.Terminated, worker.Failed} {
		states = append(states, sample[stats]{state.String(), func(s stats) float64 {
			if s.state == state {
				return 1
			}
			return 0
		}})
	}
	c.labelled("gpk_worker_state", "1 for the state that the worker is in.", prometheus.GaugeValue, "state", states)
	times := func(name, help string, of func(stats) worker.Times) {
		quantile := func(q string, d func(worker.Times) time.Duration) sample[stats] {
			return sample[stats]{q, func(s stats) float64 { return d(of(s)).Seconds() }}
		}
		c.labelled(name, help, prometheus.GaugeValue, "quantile", []sample[stats]{
			quantile("0.5", func(t worker.Times) time.Duration { return t.Median }),
			quantile("0.99", func(t worker.Times) time.Duration { return t.P99 }),
		})
	}
	times("gpk_worker_waiting_seconds", "Time of a message in the queue.", func(s stats) worker.Times { return s.Waiting })
	times("gpk_worker_handling_seconds", "Time of a message in the handler.", func(s stats) worker.Times { return s.Handling })
	return c
}
