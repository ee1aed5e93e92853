package otel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/profile"
	"github.com/gpk-go/gpk/serve/otel"
)

func newTracer(t *testing.T) (trace.Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	e := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(e))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p.Tracer("test"), e
}

// byName returns the spans that were exported.
func byName(t *testing.T, e *tracetest.InMemoryExporter) map[string]tracetest.SpanStub {
	t.Helper()
	out := map[string]tracetest.SpanStub{}
	for _, s := range e.GetSpans() {
		if _, ok := out[s.Name]; ok {
			t.Errorf("two spans are called %s", s.Name)
		}
		out[s.Name] = s
	}
	return out
}

func attributes(s tracetest.SpanStub) map[string]any {
	out := map[string]any{}
	for _, a := range s.Attributes {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}

// TestTrace: the regions of a report are spans, with the times and parents that they had.
func TestTrace(t *testing.T) {
	tracer, exported := newTracer(t)
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	took := func(d time.Duration) *time.Duration { return &d }
	r := &profile.Report{
		Started: began,
		Spans: []profile.Region{ // in any order
			{ID: 3, Parent: 2, Name: "inner", Goroutine: 8, Start: 3 * time.Second, Duration: time.Second},
			{ID: 1, Name: "other", Goroutine: 7, Start: time.Second, Duration: time.Second},
			{ID: 2, Name: "outer", Goroutine: 7, Start: 2 * time.Second, Duration: 4 * time.Second},
			{ID: 4, Parent: 9, Name: "orphan", Goroutine: 7},
			{ID: 5, Parent: 5, Name: "own parent", Goroutine: 7},
		},
		Operations: []profile.Operation{
			{Span: 2, Time: took(time.Second)}, {Span: 3, Time: took(2 * time.Second)}, {Span: 3}, {Span: 77, Time: took(time.Hour)}, {},
		},
		Transfers: []profile.Transfer{{Span: 3, Time: took(500 * time.Millisecond)}, {Span: 1}},
	}
	ctx, root := tracer.Start(t.Context(), "request")
	if err := otel.Trace(ctx, tracer, r); err != nil {
		t.Fatal(err)
	}
	root.End()
	spans := byName(t, exported)
	if len(spans) != 6 {
		t.Fatalf("%d spans, want 6", len(spans))
	}
	for name, want := range map[string]struct {
		parent                string
		begin, end            time.Duration
		goroutine, ops, moved int64
		device                any
	}{
		"other":      {"request", time.Second, 2 * time.Second, 7, 0, 1, nil},
		"outer":      {"request", 2 * time.Second, 6 * time.Second, 7, 3, 1, 3.5},
		"inner":      {"outer", 3 * time.Second, 4 * time.Second, 8, 2, 1, 2.5},
		"orphan":     {"request", 0, 0, 7, 0, 0, nil},
		"own parent": {"request", 0, 0, 7, 0, 0, nil},
	} {
		s := spans[name]
		if s.Parent.SpanID() != spans[want.parent].SpanContext.SpanID() || s.SpanContext.TraceID() != root.SpanContext().TraceID() {
			t.Errorf("%s is not below %s", name, want.parent)
		}
		if !s.StartTime.Equal(began.Add(want.begin)) || !s.EndTime.Equal(began.Add(want.end)) {
			t.Errorf("%s is from %v to %v, want %v to %v", name, s.StartTime.Sub(began), s.EndTime.Sub(began), want.begin, want.end)
		}
		a := attributes(s)
		if a["gpk.goroutine"] != want.goroutine || a["gpk.operations"] != want.ops || a["gpk.transfers"] != want.moved || a["gpk.device_time"] != want.device {
			t.Errorf("%s has %v, want %+v", name, a, want)
		}
	}
}

// TestTraceOfProfile exports the report of a profile, and opens spans of both kinds.
func TestTraceOfProfile(t *testing.T) {
	tracer, exported := newTracer(t)
	p, err := profile.Start(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.Stop() }()
	ctx, end := profile.Span(t.Context(), "outer")
	inside, done := otel.Span(ctx, tracer, "live")
	err = gpk.Eval(gpk.Ones(gpk.Float32, 8).Exp())
	if trace.SpanFromContext(inside) == nil || !trace.SpanContextFromContext(inside).IsValid() {
		t.Error("the context of Span carries no span")
	}
	done()
	done()
	end()
	r, stopped := p.Stop()
	if err := errors.Join(err, stopped); err != nil {
		t.Fatal(err)
	}
	if live := byName(t, exported); len(live) != 1 || live["live"].Name == "" {
		t.Fatalf("live spans: %v", live)
	}
	exported.Reset()
	if err := otel.Trace(t.Context(), tracer, r); err != nil {
		t.Fatal(err)
	}
	spans := byName(t, exported)
	if len(spans) != 2 || spans["live"].Parent.SpanID() != spans["outer"].SpanContext.SpanID() {
		t.Errorf("%v", spans)
	}
	if n := attributes(spans["outer"])["gpk.operations"]; n != int64(len(r.Operations)) || n == int64(0) {
		t.Errorf("%v operations in the span, %d in the report", n, len(r.Operations))
	}
}

// TestSpanWithoutProfile: the span of the tracer is there without a profile.
func TestSpanWithoutProfile(t *testing.T) {
	tracer, exported := newTracer(t)
	_, end := otel.Span(t.Context(), tracer, "alone")
	end()
	if spans := exported.GetSpans(); len(spans) != 1 || spans[0].Name != "alone" {
		t.Errorf("%v", spans)
	}
}
