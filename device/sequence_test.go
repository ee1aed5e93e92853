package device

import (
	"context"
	"testing"
	"time"
)

// TestSequence waits for pieces of work of a stream. An event is recorded for a piece once, on the first wait for it,
// and never in a capture.
func TestSequence(t *testing.T) {
	d, b := gpu(t, 0)
	s, other := stream(t, d, "a"), stream(t, d, "b")
	buf := alloc(t, d, 8, s)
	ctx := t.Context()
	for range 3 {
		run(t, s, nil, []*Buffer{buf})
	}
	n := s.sequence()
	if got := b.count("record a"); got != 0 || n != 3 {
		t.Errorf("%d pieces of work, and %d events before anybody waits", n, got)
	}
	b.pending = true
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	is(t, s.waitSequence(short, n), context.DeadlineExceeded)
	b.pending = false
	for range 2 {
		is(t, s.waitSequence(ctx, n), nil)
	}
	is(t, other.follow(s, n), nil)
	if records, waits := b.count("record a"), b.count("wait b"); records != 1 || waits != 0 {
		t.Errorf("%d events, and %d waits of a stream for work that is done", records, waits)
	}
	run(t, s, nil, []*Buffer{buf})
	for range 2 {
		is(t, other.follow(s, s.sequence()), nil)
	}
	if records, waits := b.count("record a"), b.count("wait b"); records != 2 || waits != 1 {
		t.Errorf("%d events, and %d waits of a stream for another", records, waits)
	}
	run(t, s, nil, []*Buffer{buf})
	n = s.sequence()
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	b.take()
	is(t, s.waitSequence(ctx, n), nil)
	is(t, other.follow(s, n), nil)
	if got := b.count("record a"); got != 0 {
		t.Errorf("%d events in a capture", got)
	}
	if _, err := s.EndCapture(); err != nil {
		t.Fatal(err)
	}
	run(t, s, nil, []*Buffer{buf})
	n = s.sequence()
	is(t, s.Close(), nil)
	is(t, s.waitSequence(ctx, n), nil)
	is(t, other.follow(s, n), nil)
	is(t, s.follow(other, 1), ErrDevice)
	is(t, (*Stream)(nil).waitSequence(ctx, 1), ErrDevice)
	is(t, (*Stream)(nil).follow(other, 1), ErrDevice)
	if n := (*Stream)(nil).sequence(); n != 0 {
		t.Errorf("%d pieces of work on no stream", n)
	}
}
