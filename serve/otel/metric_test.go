package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/serve/internal/servetest"
	"github.com/gpk-go/gpk/serve/monitor"
	"github.com/gpk-go/gpk/serve/otel"
)

// reading is a meter with its registered instruments.
type reading struct {
	metric.Meter
	reader *sdk.ManualReader
}

func newReading(t *testing.T) reading {
	t.Helper()
	r := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(r))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return reading{provider.Meter("test"), r}
}

// collect returns the values by "name{key=value,…}", and the kind and unit by name.
func (r reading) collect(t *testing.T) (values map[string]float64, kinds map[string]string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values, kinds = map[string]float64{}, map[string]string{}
	encoder := attribute.DefaultEncoder()
	put := func(name string, set attribute.Set, v float64) {
		key := name + "{" + set.Encoded(encoder) + "}"
		if _, ok := values[key]; ok {
			t.Errorf("%s was reported twice", key)
		}
		values[key] = v
	}
	kind := func(monotonic bool) string {
		if monotonic {
			return "counter"
		}
		return "sum"
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Description == "" {
				t.Errorf("%s has no description", m.Name)
			}
			what := "gauge"
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				what = kind(d.IsMonotonic)
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				what = kind(d.IsMonotonic)
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, d)
			}
			kinds[m.Name] = what + " " + m.Unit
		}
	}
	return values, kinds
}

// expect compares some of the values.
func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s is %v (there: %v), want %v", k, g, ok, v)
		}
	}
	if t.Failed() {
		t.Logf("%v", got)
	}
}

// registered fails the test if a registration did not succeed.
func registered(t *testing.T) func(metric.Registration, error) metric.Registration {
	return func(r metric.Registration, err error) metric.Registration {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func TestBatcher(t *testing.T) {
	r := newReading(t)
	registration := registered(t)(otel.Batcher(r, "a", servetest.Counts))
	registered(t)(otel.Batcher(r, "b", servetest.Stats{Done: 8}))
	got, kinds := r.collect(t)
	expect(t, got, map[string]float64{
		"gpk.batch.accepted{gpk.batcher=a}":                     21,
		"gpk.batch.items{gpk.batcher=a,gpk.outcome=done}":       5,
		"gpk.batch.items{gpk.batcher=a,gpk.outcome=failed}":     1,
		"gpk.batch.items{gpk.batcher=a,gpk.outcome=left}":       3,
		"gpk.batch.items{gpk.batcher=a,gpk.outcome=dropped}":    4,
		"gpk.batch.items{gpk.batcher=a,gpk.outcome=rejected}":   2,
		"gpk.batch.items{gpk.batcher=b,gpk.outcome=done}":       8,
		"gpk.batch.queued{gpk.batcher=a}":                       7,
		"gpk.batch.running{gpk.batcher=a}":                      1,
		"gpk.batch.size.bucket{gpk.batcher=a,gpk.le=1}":         1,
		"gpk.batch.size.bucket{gpk.batcher=a,gpk.le=2}":         1,
		"gpk.batch.size.bucket{gpk.batcher=a,gpk.le=4}":         3,
		"gpk.batch.size.bucket{gpk.batcher=a,gpk.le=+Inf}":      3,
		"gpk.batch.size.sum{gpk.batcher=a}":                     9,
		"gpk.batch.waiting.bucket{gpk.batcher=a,gpk.le=0.5}":    4,
		"gpk.batch.waiting.bucket{gpk.batcher=a,gpk.le=1}":      7,
		"gpk.batch.waiting.bucket{gpk.batcher=a,gpk.le=+Inf}":   9,
		"gpk.batch.waiting.sum{gpk.batcher=a}":                  12.5,
		"gpk.batch.computing.bucket{gpk.batcher=a,gpk.le=0.25}": 1,
		"gpk.batch.computing.bucket{gpk.batcher=a,gpk.le=+Inf}": 2,
		"gpk.batch.computing.bucket{gpk.batcher=b,gpk.le=+Inf}": 0,
	})
	for name, want := range map[string]string{
		"gpk.batch.items": "counter {item}", "gpk.batch.queued": "sum {item}", "gpk.batch.waiting.sum": "counter s", "gpk.batch.size.bucket": "counter ",
	} {
		if kinds[name] != want {
			t.Errorf("%s is a %q, want %q", name, kinds[name], want)
		}
	}
	if err := registration.Unregister(); err != nil {
		t.Error(err)
	}
	got, _ = r.collect(t)
	for k := range got {
		if strings.Contains(k, "gpk.batcher=a") {
			t.Errorf("%s is reported after Unregister", k)
		}
	}
	expect(t, got, map[string]float64{"gpk.batch.items{gpk.batcher=b,gpk.outcome=done}": 8})
}

// TestBatcherOfBatch reads a Batcher that has run.
func TestBatcherOfBatch(t *testing.T) {
	b := servetest.NewBatcher()
	r := newReading(t)
	registered(t)(otel.Batcher(r, "x", b))
	servetest.RunBatcher(t, b)
	got, _ := r.collect(t)
	expect(t, got, map[string]float64{
		"gpk.batch.items{gpk.batcher=x,gpk.outcome=done}":       3,
		"gpk.batch.size.bucket{gpk.batcher=x,gpk.le=1}":         3,
		"gpk.batch.size.bucket{gpk.batcher=x,gpk.le=8}":         3,
		"gpk.batch.computing.bucket{gpk.batcher=x,gpk.le=+Inf}": 3,
	})
}

func TestWorker(t *testing.T) {
	w := servetest.NewWorker(t)
	r := newReading(t)
	registered(t)(otel.Worker(r, "w", w))
	got, _ := r.collect(t)
	expect(t, got, map[string]float64{"gpk.worker.state{gpk.state=created,gpk.worker=w}": 1})
	servetest.RunWorker(t, w)
	got, kinds := r.collect(t)
	expect(t, got, map[string]float64{
		"gpk.worker.received{gpk.worker=w}":                         3,
		"gpk.worker.messages{gpk.outcome=handled,gpk.worker=w}":     2,
		"gpk.worker.messages{gpk.outcome=failed,gpk.worker=w}":      1,
		"gpk.worker.messages{gpk.outcome=stopped,gpk.worker=w}":     0,
		"gpk.worker.restarts{gpk.worker=w}":                         0,
		"gpk.worker.queued{gpk.band=normal,gpk.worker=w}":           0,
		"gpk.worker.state{gpk.state=created,gpk.worker=w}":          0,
		"gpk.worker.state{gpk.state=terminated,gpk.worker=w}":       1,
		"gpk.worker.handling{gpk.quantile=0.5,gpk.worker=w}":        w.Telemetry().Handling.Median.Seconds(),
		"gpk.worker.waiting{gpk.quantile=0.99,gpk.worker=w}":        w.Telemetry().Waiting.P99.Seconds(),
		"gpk.worker.messages{gpk.outcome=dropped_new,gpk.worker=w}": 0,
	})
	if kinds["gpk.worker.handling"] != "gauge s" {
		t.Errorf("gpk.worker.handling is a %q", kinds["gpk.worker.handling"])
	}
}

func TestMonitor(t *testing.T) {
	m := monitor.New(nil, monitor.Options{Source: servetest.Source{Total: 1000, Free: 300, InUse: 500, Cached: 50}})
	defer m.Close()
	r := newReading(t)
	registered(t)(otel.Monitor(r, "gpu", m))
	if got, _ := r.collect(t); len(got) > 0 {
		t.Errorf("before the first snapshot: %v", got)
	}
	m.Snapshot()
	got, kinds := r.collect(t)
	expect(t, got, map[string]float64{
		"gpk.memory.total{gpk.monitor=gpu}":    1000,
		"gpk.memory.free{gpk.monitor=gpu}":     300,
		"gpk.memory.in_use{gpk.monitor=gpu}":   500,
		"gpk.memory.cached{gpk.monitor=gpu}":   50,
		"gpk.memory.pressure{gpk.monitor=gpu}": 1,
	})
	if kinds["gpk.memory.free"] != "sum By" || kinds["gpk.memory.pressure"] != "gauge " {
		t.Errorf("%v", kinds)
	}
}

func TestPool(t *testing.T) {
	d := devicetest.NewFake(device.Info{Name: "test", Kind: device.CPU, TotalMemory: 1 << 30}, device.Capabilities{})
	buf, err := d.Alloc(1<<20, d.DefaultStream())
	if err != nil {
		t.Fatal(err)
	}
	defer buf.Free()
	r := newReading(t)
	registered(t)(otel.Pool(r, d))
	got, kinds := r.collect(t)
	now, key := d.Pool(), fmt.Sprintf("{gpk.device=%s}", d)
	if now.InUse < 1<<20 {
		t.Fatalf("%+v", now)
	}
	expect(t, got, map[string]float64{
		"gpk.pool.in_use" + key: float64(now.InUse), "gpk.pool.peak" + key: float64(now.Peak), "gpk.pool.limit" + key: float64(now.Limit),
		"gpk.pool.allocations" + key: float64(now.Allocs), "gpk.pool.trims" + key: 0,
	})
	if len(got) != 10 {
		t.Errorf("%d metrics, PoolStats has 10 fields: %v", len(got), got)
	}
	if kinds["gpk.pool.allocations"] != "counter {block}" || kinds["gpk.pool.in_use"] != "sum By" || kinds["gpk.pool.peak"] != "gauge By" {
		t.Errorf("%v", kinds)
	}
}

// TestRefused checks that an instrument that the meter refuses is an error, and that
// nothing is registered.
func TestRefused(t *testing.T) {
	cause := errors.New("no more instruments")
	for name, register := range map[string]func(metric.Meter) (metric.Registration, error){
		"Batcher": func(m metric.Meter) (metric.Registration, error) { return otel.Batcher(m, "b", servetest.Stats{}) },
		"Monitor": func(m metric.Meter) (metric.Registration, error) {
			return otel.Monitor(m, "m", monitor.New(nil, monitor.Options{Source: servetest.Source{}}))
		},
		"Pool": func(m metric.Meter) (metric.Registration, error) { return otel.Pool(m, device.Default()) },
	} {
		r := newReading(t)
		if _, err := register(refusing{r, cause}); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := r.collect(t); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// refusing makes no UpDownCounter.
type refusing struct {
	metric.Meter
	err error
}

func (r refusing) Int64ObservableUpDownCounter(name string, o ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	i, _ := r.Meter.Int64ObservableUpDownCounter(name, o...)
	return i, r.err
}
