package profile_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/profile"
)

// named returns the numbers of the spans by name.
func named(r *profile.Report) map[string]*profile.Region {
	m := map[string]*profile.Region{}
	for i := range r.Spans {
		m[r.Spans[i].Name] = &r.Spans[i]
	}
	return m
}

// TestSpans: spans nest by goroutine and by context.
func TestSpans(t *testing.T) {
	onCPU(t)
	p := start(t, profile.Options{})
	ctx := context.Background()
	outer, endOuter := profile.Span(ctx, "outer")
	_, endFirst := profile.Span(outer, "first")
	endFirst()
	endFirst() // twice does nothing
	_, endSecond := profile.Span(ctx, "second")
	time.Sleep(time.Millisecond)
	var other sync.WaitGroup
	other.Go(func() {
		_, end := profile.Span(outer, "elsewhere")
		defer end()
		_, end2 := profile.Span(ctx, "within elsewhere")
		end2()
		_ = gpk.Eval(gpk.Ones(gpk.Float32, 2))
	})
	other.Go(func() {
		_, end := profile.Span(ctx, "alone")
		end()
		_ = gpk.Eval(gpk.Ones(gpk.Float32, 3))
	})
	other.Wait()
	endSecond()
	endOuter()
	_, _ = profile.Span(ctx, "open")
	r := stop(t, p)
	s := named(r)
	for child, parent := range map[string]string{
		"outer": "", "first": "outer", "second": "outer", "elsewhere": "outer", "within elsewhere": "elsewhere", "alone": "", "open": "",
	} {
		if c := s[child]; c == nil || parent == "" && c.Parent != 0 || parent != "" && c.Parent != s[parent].ID {
			t.Errorf("%s: %+v, want the parent %q", child, c, parent)
		}
	}
	for i, x := range r.Spans {
		if x.ID != i+1 || x.Start < 0 || x.Duration < 0 || x.Start+x.Duration > r.Duration {
			t.Errorf("%+v", x)
		}
	}
	if s["second"].Duration < time.Millisecond || s["outer"].Duration < s["second"].Duration || s["first"].Duration > s["outer"].Duration {
		t.Errorf("%+v", r.Spans)
	}
	if s["open"].Start+s["open"].Duration != r.Duration {
		t.Errorf("%+v does not end with the profile", s["open"])
	}
	if s["elsewhere"].Goroutine == s["outer"].Goroutine {
		t.Error("two goroutines are one")
	}
	for _, o := range r.Operations {
		if want := map[int]int{2: s["elsewhere"].ID, 3: 0}[o.Shape[0]]; o.Span != want {
			t.Errorf("%+v, want span %d", o, want)
		}
	}
	if len(r.Operations) != 2 {
		t.Errorf("%+v", r.Operations)
	}
}

// TestSpansOutOfOrder checks that spans that are closed in any order, in another
// goroutine, after the profile or without a context do no harm and leave no label.
func TestSpansOutOfOrder(t *testing.T) {
	onCPU(t)
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip(err)
	}
	defer trace.Stop()
	p := start(t, profile.Options{})
	ctx := context.Background()
	var list []func()
	for _, name := range []string{"a", "b", "c", "d"} {
		_, end := profile.Span(ctx, name)
		list = append(list, end)
	}
	list[0]()
	_ = gpk.Eval(gpk.Ones(gpk.Float32, 1)) // in d
	var other sync.WaitGroup
	other.Go(list[3])
	other.Wait()
	_ = gpk.Eval(gpk.Ones(gpk.Float32, 2)) // in c
	list[1]()
	list[2]()
	_ = gpk.Eval(gpk.Ones(gpk.Float32, 3)) // in none
	var none context.Context
	_, late := profile.Span(none, "late")
	r := stop(t, p)
	late()
	late()
	s := named(r)
	var got []int
	for _, o := range r.Operations {
		got = append(got, o.Span)
	}
	if want := []int{s["d"].ID, s["c"].ID, 0}; !slices.Equal(got, want) {
		t.Errorf("operations in the spans %v, want %v", got, want)
	}
	if n := labelled(t, "late") + labelled(t, "c"); n != 0 {
		t.Errorf("%d goroutines have labels of closed spans", n)
	}
}

// labelled counts the goroutines whose label "span" is a name.
func labelled(t *testing.T, name string) int {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b.Bytes(), []byte(`"span":"`+name+`"`))
}

// TestSpanLabels: the goroutine has the span's label while the span is open, and the one
// around it afterwards.
func TestSpanLabels(t *testing.T) {
	onCPU(t)
	start(t, profile.Options{})
	ctx, end := profile.Span(context.Background(), "labelled outside")
	if labelled(t, "labelled outside") != 1 {
		t.Error("no label")
	}
	_, end2 := profile.Span(ctx, "labelled inside")
	if labelled(t, "labelled outside") != 0 || labelled(t, "labelled inside") != 1 {
		t.Error("not the inner label")
	}
	end2()
	if labelled(t, "labelled outside") != 1 {
		t.Error("the outer label has not come back")
	}
	end()
	if labelled(t, "labelled outside") != 0 {
		t.Error("a label is left")
	}
}

// TestSpanOff: without a profile a span costs no allocation and returns its context.
func TestSpanOff(t *testing.T) {
	ctx := context.Background()
	if n := devicetest.LeastAllocs(100, func() {
		got, end := profile.Span(ctx, "off")
		end()
		if got != ctx {
			t.Error("another context")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSpanTime: a span takes at most 20 ns without a profile, and 5 us with one.
func TestSpanTime(t *testing.T) {
	ctx := context.Background()
	span := func() {
		_, end := profile.Span(ctx, "timed")
		end()
	}
	devicetest.AtMost(t, "off", 20*time.Nanosecond, func() time.Duration { return devicetest.CallTime(10_000, span) })
	start(t, profile.Options{})
	devicetest.AtMost(t, "on", 5*time.Microsecond, func() time.Duration { return devicetest.CallTime(100, span) })
}

func BenchmarkSpanOff(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, end := profile.Span(ctx, "off")
		end()
	}
}

func BenchmarkSpanOn(b *testing.B) {
	start(b, profile.Options{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, end := profile.Span(ctx, "on")
		end()
	}
}

// BenchmarkOperation measures an operation of 16 elements on the CPU, with and without a
// profile.
func BenchmarkOperation(b *testing.B) {
	onCPU(b)
	x, y, dst := gpk.Zeros(gpk.Float32, 16), gpk.Ones(gpk.Float32, 16), gpk.Zeros(gpk.Float32, 16)
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := gpk.Into(dst, x.Add(y)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("off", run)
	b.Run("on", func(b *testing.B) {
		start(b, profile.Options{})
		run(b)
	})
}
