package otel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/profile"
)

// Span opens a region of the running profile, as profile.Span does, and a span of tracer with
// the same name. The new context carries both. The returned function ends both, and must be
// called in the goroutine that called Span. Without a running profile, Span still opens the
// span of tracer. With a nil tracer it opens only the region.
func Span(ctx context.Context, tracer trace.Tracer, name string) (context.Context, func()) {
	if ctx == nil {
		ctx = context.Background()
	}
	if tracer == nil {
		return profile.Span(ctx, name)
	}
	ctx, span := tracer.Start(ctx, name)
	ctx, end := profile.Span(ctx, name)
	return ctx, func() {
		end()
		span.End()
	}
}

// Trace writes the regions of a report to tracer, as spans with the times and parents that
// they had; regions without a parent are below the span that ctx carries. Regions that Span
// has opened are already spans: Trace would write them a second time.
//
// The attributes of a span are gpk.goroutine, the goroutine; gpk.operations and
// gpk.transfers, the number of events started within it or a span below it; and
// gpk.device_time, the seconds that these took on their devices, if any of them was measured.
// A nil report is profile.ErrNil, and a nil tracer ErrUnsupported.
func Trace(ctx context.Context, tracer trace.Tracer, r *profile.Report) error {
	switch {
	case tracer == nil:
		return fmt.Errorf("otel: %w: a nil Tracer", gpk.ErrUnsupported)
	case r == nil:
		return fmt.Errorf("otel: %w", profile.ErrNil)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	regions := slices.SortedFunc(slices.Values(r.Spans), func(a, b profile.Region) int { return cmp.Compare(a.ID, b.ID) })
	figures := eventsOf(r, regions)
	contexts := make(map[int]context.Context, len(regions))
	for _, s := range regions {
		parent, ok := contexts[s.Parent]
		if !ok || s.Parent >= s.ID { // a parent starts before its children
			parent = ctx
		}
		begin := r.Started.Add(s.Start)
		inside, span := tracer.Start(parent, s.Name, trace.WithTimestamp(begin), trace.WithAttributes(figures[s.ID].attributes(s.Goroutine)...))
		contexts[s.ID] = inside
		span.End(trace.WithTimestamp(begin.Add(s.Duration)))
	}
	return nil
}

// events sums the events within a region.
type events struct {
	operations, transfers int64
	device                time.Duration
	measured              bool
}

// eventsOf sums the events of each region and of its descendants. regions are in the order of
// their IDs.
func eventsOf(r *profile.Report, regions []profile.Region) map[int]*events {
	of := make(map[int]*events, len(regions))
	for _, s := range regions {
		of[s.ID] = &events{}
	}
	for i := range r.Operations {
		if e := of[r.Operations[i].Span]; e != nil {
			e.add(events{operations: 1}, r.Operations[i].Time)
		}
	}
	for i := range r.Transfers {
		if e := of[r.Transfers[i].Span]; e != nil {
			e.add(events{transfers: 1}, r.Transfers[i].Time)
		}
	}
	for _, s := range slices.Backward(regions) {
		if e, p := of[s.ID], of[s.Parent]; p != nil && s.Parent < s.ID {
			var took *time.Duration
			if e.measured {
				took = &e.device
			}
			p.add(events{operations: e.operations, transfers: e.transfers}, took)
		}
	}
	return of
}

func (e *events) add(x events, took *time.Duration) {
	e.operations += x.operations
	e.transfers += x.transfers
	if took != nil {
		e.device, e.measured = e.device+*took, true
	}
}

func (e *events) attributes(goroutine uint64) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.Int64("gpk.goroutine", clip(goroutine)),
		attribute.Int64("gpk.operations", e.operations), attribute.Int64("gpk.transfers", e.transfers),
	}
	if e.measured {
		out = append(out, attribute.Float64("gpk.device_time", e.device.Seconds()))
	}
	return out
}
