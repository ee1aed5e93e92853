package otel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gpk-go/gpk/serve/worker"
)

// Worker registers the counters of w, a *worker.Worker: messages by outcome, the queue's
// length by band, the state, and the median and 99th percentile of waiting and handling in
// seconds. The attribute gpk.worker is name. A nil meter or w is ErrUnsupported; other
// errors are the meter's.
func Worker(meter metric.Meter, name string, w interface {
	Telemetry() worker.Telemetry
	State() worker.State
},
) (metric.Registration, error) {
	if err := check(meter, w); err != nil {
		return nil, err
	}
	type stats struct {
		worker.Telemetry
		state worker.State
	}
	g := &group[stats]{
		meter: meter, labels: []attribute.KeyValue{attribute.String("gpk.worker", name)},
		read: func() (stats, bool) { return stats{w.Telemetry(), w.State()}, true },
	}
	counter(g, "gpk.worker.received", "{message}", "Messages of Send and Ask.", func(s stats) uint64 { return s.Received })
	outcome := func(name string, value func(stats) uint64) sample[stats] { return of(value, "gpk.outcome", name) }
	messages, err := meter.Int64ObservableCounter("gpk.worker.messages", metric.WithUnit("{message}"), metric.WithDescription("Messages by outcome."))
	g.whole(messages, err,
		outcome("handled", func(s stats) uint64 { return s.Handled }),
		outcome("failed", func(s stats) uint64 { return s.Failed }),
		outcome("panicked", func(s stats) uint64 { return s.Panicked }),
		outcome("rejected", func(s stats) uint64 { return s.Dropped.Rejected }),
		outcome("dropped_oldest", func(s stats) uint64 { return s.Dropped.Oldest }),
		outcome("dropped_new", func(s stats) uint64 { return s.Dropped.New }),
		outcome("canceled", func(s stats) uint64 { return s.Dropped.Canceled }),
		outcome("stopped", func(s stats) uint64 { return s.Dropped.Stopped }))
	counter(g, "gpk.worker.restarts", "{restart}", "Restarts after a panic.", func(s stats) uint64 { return s.Restarts })
	band := func(name string, value func(stats) int) sample[stats] { return of(value, "gpk.band", name) }
	queued, err := meter.Int64ObservableUpDownCounter("gpk.worker.queued", metric.WithUnit("{message}"), metric.WithDescription("Messages that wait, by band of priority."))
	g.whole(queued, err,
		band("low", func(s stats) int { return s.Queued.Low }),
		band("normal", func(s stats) int { return s.Queued.Normal }),
		band("high", func(s stats) int { return s.Queued.High }),
		band("system", func(s stats) int { return s.Queued.System }))
	var states []sample[stats]
	for _, state := range []worker.State{worker.Created, worker.Idle, worker.Active, worker.Draining, worker.Terminated, worker.Failed} {
		states = append(states, of(func(s stats) int {
			if s.state == state {
				return 1
			}
			return 0
		}, "gpk.state", state.String()))
	}
	state, err := meter.Int64ObservableUpDownCounter("gpk.worker.state", metric.WithDescription("1 for the state that the worker is in."))
	g.whole(state, err, states...)
	times := func(name, help string, of func(stats) worker.Times) {
		i, err := meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(help))
		g.real(i, err, func(s stats) float64 { return of(s).Median.Seconds() }, attribute.String("gpk.quantile", "0.5"))
		g.real(i, nil, func(s stats) float64 { return of(s).P99.Seconds() }, attribute.String("gpk.quantile", "0.99"))
	}
	times("gpk.worker.waiting", "Time of a message in the queue.", func(s stats) worker.Times { return s.Waiting })
	times("gpk.worker.handling", "Time of a message in the handler.", func(s stats) worker.Times { return s.Handling })
	return g.register()
}
