package profile

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"

	"github.com/gpk-go/gpk/internal/goroutine"
)

// span is an opened region. The profile's mutex guards it.
type span struct {
	profile    *Profile
	id, parent int
	name       string
	goroutine  uint64
	begin, end time.Time
	closed     bool
	labels     labels
	region     *trace.Region // nil if runtime/trace is not active
}

// labels sets the labels of a goroutine for CPU profiles of runtime/pprof.
type labels func()

// spanKey is the key of a context's span.
type spanKey struct{}

// nothing is the close function of a span that is not recorded.
var nothing = func() {}

// Span opens a named region in the calling goroutine, until the function that it returns is
// called, in the same goroutine. Operations and copies that the goroutine starts meanwhile
// belong to its innermost open span. An array is computed when it is needed, so an
// operation belongs to the span that is open when it starts, not when its line runs.
//
// The new context carries the span: it is the parent of spans that are opened with this
// context, also in other goroutines. Span also opens a region of runtime/trace, and sets
// its name as the label "span" of the goroutine in CPU profiles of runtime/pprof.
//
// While no profile is running, Span returns ctx and a function that does nothing. Closing a
// span twice does nothing, and spans need not be closed in order.
func Span(ctx context.Context, name string) (context.Context, func()) {
	p := running.Load()
	if p == nil {
		return ctx, nothing
	}
	return p.open(ctx, name)
}

func (p *Profile) open(ctx context.Context, name string) (context.Context, func()) {
	if ctx == nil {
		ctx = context.Background()
	}
	outside := ctx
	s := &span{profile: p, name: name, goroutine: goroutine.ID()}
	ctx = context.WithValue(pprof.WithLabels(ctx, pprof.Labels("span", name)), spanKey{}, s)
	inside := ctx
	s.labels = func() { pprof.SetGoroutineLabels(inside) }
	p.mu.Lock()
	if !p.take() {
		p.mu.Unlock()
		return outside, nothing
	}
	p.spans = append(p.spans, s)
	s.id = len(p.spans)
	g := p.goroutine(s.goroutine)
	s.parent = g.span()
	if within, ok := outside.Value(spanKey{}).(*span); ok && within.profile == p {
		s.parent = within.id
	}
	if len(g.spans) == 0 {
		g.outside = func() { pprof.SetGoroutineLabels(outside) }
	}
	g.spans = append(g.spans, s)
	s.begin = time.Now()
	p.mu.Unlock()
	s.labels()
	if trace.IsEnabled() {
		s.region = trace.StartRegion(ctx, name)
	}
	return ctx, s.close
}

// close ends the span.
func (s *span) close() {
	p, id := s.profile, goroutine.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.closed {
		return
	}
	s.closed, s.end = true, time.Now()
	g := p.goroutines[s.goroutine]
	if g == nil || id != s.goroutine {
		return // another goroutine must not change regions and labels; the next close in the span's goroutine does
	}
	// Regions of runtime/trace must end in reverse order.
	for n := len(g.spans); n > 0 && g.spans[n-1].closed; n = len(g.spans) {
		if r := g.spans[n-1].region; r != nil {
			r.End()
		}
		g.spans = slices.Delete(g.spans, n-1, n)
	}
	if t := g.innermost(); t != nil {
		t.labels()
	} else {
		g.outside()
	}
	p.leave(id, g)
}

// innermost returns the open span that was opened last, or nil. mu is held.
func (g *goroutineState) innermost() *span {
	if g == nil {
		return nil
	}
	for _, s := range slices.Backward(g.spans) {
		if !s.closed {
			return s
		}
	}
	return nil
}

// span returns the ID of the innermost span, or 0. mu is held.
func (g *goroutineState) span() int {
	if s := g.innermost(); s != nil {
		return s.id
	}
	return 0
}
