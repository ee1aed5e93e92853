package otel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/batch"
)

// group is a set of instruments that report values of type S, which read returns.
type group[S any] struct {
	meter       metric.Meter
	labels      []attribute.KeyValue // labels of all instruments
	read        func() (S, bool)     // false if there is nothing to report yet
	instruments []metric.Observable
	report      []func(o metric.Observer, s S)
	errs        []error
}

// check returns the reason why nothing can be registered, or nil. source is the object to report on.
func check(meter metric.Meter, source any) error {
	switch {
	case meter == nil:
		return fmt.Errorf("otel: %w: a nil Meter", gpk.ErrUnsupported)
	case source == nil:
		return fmt.Errorf("otel: %w: nothing to report, the source is nil", gpk.ErrUnsupported)
	}
	return nil
}

// register registers a callback by which the meter reads the instruments at each collection.
func (g *group[S]) register() (metric.Registration, error) {
	if err := errors.Join(g.errs...); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	r, err := g.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if s, ok := g.read(); ok {
			for _, f := range g.report {
				f(o, s)
			}
		}
		return nil
	}, g.instruments...)
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return r, nil
}

// with returns an option that adds the attributes of the group, and those in more, to an observation.
func (g *group[S]) with(more ...attribute.KeyValue) metric.ObserveOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, g.labels...)...))
}

// whole adds an instrument of integers, with a value for each attribute of samples.
func (g *group[S]) whole(i metric.Int64Observable, err error, samples ...sample[S]) {
	g.instruments, g.errs = append(g.instruments, i), append(g.errs, err)
	for _, s := range samples {
		with := g.with(s.attributes...)
		g.report = append(g.report, func(o metric.Observer, now S) { o.ObserveInt64(i, s.value(now), with) })
	}
}

// real adds an instrument of floats; see whole.
func (g *group[S]) real(i metric.Float64Observable, err error, value func(S) float64, attributes ...attribute.KeyValue) {
	g.instruments, g.errs = append(g.instruments, i), append(g.errs, err)
	with := g.with(attributes...)
	g.report = append(g.report, func(o metric.Observer, now S) { o.ObserveFloat64(i, value(now), with) })
}

// sample is one value of an instrument, with the attributes that distinguish it from the others.
type sample[S any] struct {
	value      func(S) int64
	attributes []attribute.KeyValue
}

// of returns a sample with one attribute, or with none if key is "".
func of[S any, N int | int64 | uint64](value func(S) N, key, name string) sample[S] {
	s := sample[S]{value: func(now S) int64 { return clip(value(now)) }}
	if key != "" {
		s.attributes = []attribute.KeyValue{attribute.String(key, name)}
	}
	return s
}

// clip returns n, or the largest int64 for counters beyond it.
func clip[N int | int64 | uint64](n N) int64 {
	if uint64(n) > math.MaxInt64 && n > 0 {
		return math.MaxInt64
	}
	return int64(n)
}

// counter adds an instrument for a number that only grows.
func counter[S any, N uint64 | int64](g *group[S], name, unit, help string, value func(S) N) {
	i, err := g.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
	g.whole(i, err, of(value, "", ""))
}

// sum adds an instrument for a number that grows and shrinks, and whose sum over processes is meaningful.
func sum[S any, N int | int64](g *group[S], name, unit, help string, value func(S) N) {
	i, err := g.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
	g.whole(i, err, of(value, "", ""))
}

// gauge adds an instrument for a number whose sum over processes has no meaning.
func gauge[S any, N int | int64](g *group[S], name, unit, help string, value func(S) N) {
	i, err := g.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(help))
	g.whole(i, err, of(value, "", ""))
}

// histogram adds instruments for a histogram that value returns. The API has no observable
// histogram, so there are two counters, as in Prometheus. name.sum is the sum of the values.
// name.bucket is the number of values up to the attribute gpk.le; for +Inf it is the number of
// all values.
func (g *group[S]) histogram(name, unit, help string, bounds []float64, value func(S) *batch.Histogram) {
	i, err := g.meter.Float64ObservableCounter(name+".sum", metric.WithUnit(unit), metric.WithDescription(help+" The sum."))
	g.real(i, err, func(s S) float64 { return value(s).Sum })
	buckets, err := g.meter.Int64ObservableCounter(name+".bucket", metric.WithDescription(help+" The number up to gpk.le."))
	var samples []sample[S]
	for b := range len(bounds) + 1 {
		le := "+Inf"
		if b < len(bounds) {
			le = strconv.FormatFloat(bounds[b], 'g', -1, 64)
		}
		samples = append(samples, of(func(s S) (n uint64) {
			h := value(s)
			for _, c := range h.Counts[:min(b+1, len(h.Counts))] {
				n += c
			}
			return n
		}, "gpk.le", le))
	}
	g.whole(buckets, err, samples...)
}
