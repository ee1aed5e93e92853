package otel_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/niltest"
	"github.com/gpk-go/gpk/profile"
	"github.com/gpk-go/gpk/serve/batch"
	"github.com/gpk-go/gpk/serve/monitor"
	"github.com/gpk-go/gpk/serve/otel"
	"github.com/gpk-go/gpk/serve/worker"
)

// TestNil calls everything with nil and zero values.
func TestNil(t *testing.T) {
	meter := noop.Meter{}
	niltest.Run(t, niltest.Package{Functions: map[string]any{
		"Batcher": otel.Batcher, "Worker": otel.Worker, "Monitor": otel.Monitor, "Pool": otel.Pool, "Span": otel.Span, "Trace": otel.Trace,
	}})
	var b *batch.Batcher[int, int]
	var w *worker.Worker[int, int]
	if _, err := otel.Batcher(meter, "", b); err != nil {
		t.Error(err)
	}
	if _, err := otel.Worker(meter, "", w); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"Batcher": func() error { _, err := otel.Batcher(meter, "", nil); return err },
		"Worker":  func() error { _, err := otel.Worker(meter, "", nil); return err },
		"Monitor": func() error { _, err := otel.Monitor(meter, "", nil); return err },
		"Pool":    func() error { _, err := otel.Pool(meter, nil); return err },
		"a Meter": func() error { _, err := otel.Pool(metric.Meter(nil), device.Default()); return err },
		"Trace":   func() error { return otel.Trace(t.Context(), nil, &profile.Report{}) },
	} {
		if err := f(); !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newReading(t) // metrics of zero and nil values
	for _, f := range []func() (metric.Registration, error){
		func() (metric.Registration, error) { return otel.Batcher(r, "b", b) },
		func() (metric.Registration, error) { return otel.Worker(r, "w", w) },
		func() (metric.Registration, error) { return otel.Monitor(r, "m", &monitor.Monitor{}) },
		func() (metric.Registration, error) { return otel.Pool(r, &device.Device{}) },
	} {
		registered(t)(f())
	}
	if got, _ := r.collect(t); got["gpk.batch.queued{gpk.batcher=b}"] != 0 {
		t.Error(got)
	}
	if err := otel.Trace(t.Context(), trace.Tracer(nil), nil); err == nil {
		t.Error("a nil tracer and report are accepted")
	}
	tracer, _ := newTracer(t)
	if err := otel.Trace(t.Context(), tracer, nil); !errors.Is(err, profile.ErrNil) {
		t.Error(err)
	}
}
