package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// drained activates the Worker, drains it, and returns the messages that its gate has
// received.
func drained(t *testing.T, w *Worker[int, int], g *gate) string {
	t.Helper()
	close(g.open)
	if err := errors.Join(w.Activate(t.Context()), w.Drain(t.Context())); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(g.seen)
}

func TestPriorities(t *testing.T) {
	for _, c := range []struct {
		sent []uint8 // priorities of messages 0, 1, ...
		want string
	}{
		{[]uint8{50, 200, 100}, "[1 2 0]"},
		{[]uint8{0, 63, 64, 159, 160, 223, 224, 255}, "[6 7 4 5 2 3 0 1]"},
		{[]uint8{255, 224, 223, 160, 159, 64, 63, 0}, "[0 1 2 3 4 5 6 7]"},
		{[]uint8{100, 64, 150, 70}, "[0 1 2 3]"},
	} {
		g := newGate()
		w := launched(t, g.handle, Options{})
		for i, p := range c.sent {
			if err := w.Send(t.Context(), i, p); err != nil {
				t.Error(err)
			}
		}
		n := w.Telemetry().Queued
		if n.Total() != len(c.sent) {
			t.Errorf("%+v", n)
		}
		if got := drained(t, w, g); got != c.want {
			t.Errorf("priorities %v: %s, want %s", c.sent, got, c.want)
		}
	}
}

func TestPolicies(t *testing.T) {
	type sent struct {
		priority uint8
		err      error
	}
	for _, c := range []struct {
		name   string
		policy Policy
		sent   []sent
		want   string
		lost   Dropped
	}{
		{"reject", Reject, []sent{{100, nil}, {100, nil}, {200, ErrQueueFull}, {50, ErrQueueFull}}, "[0 1]", Dropped{Rejected: 2}},
		{"drop new", DropNew, []sent{{100, nil}, {100, nil}, {200, nil}, {50, nil}}, "[0 1]", Dropped{New: 2}},
		{"drop oldest", DropOldest, []sent{{100, nil}, {100, nil}, {100, nil}, {100, nil}}, "[2 3]", Dropped{Oldest: 2}},
		{"drop oldest of the lowest", DropOldest, []sent{{200, nil}, {100, nil}, {100, nil}, {255, nil}}, "[3 0]", Dropped{Oldest: 2}},
		{"drop oldest, itself the lowest", DropOldest, []sent{{200, nil}, {100, nil}, {50, nil}, {200, nil}}, "[0 3]", Dropped{New: 1, Oldest: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate()
			w := launched(t, g.handle, Options{Queue: 2, Policy: c.policy})
			for i, s := range c.sent {
				if err := w.Send(t.Context(), i, s.priority); !errors.Is(err, s.err) {
					t.Errorf("message %d: %v", i, err)
				}
			}
			if n := balance(t, w, 0); n.Dropped != c.lost || n.Received != uint64(len(c.sent)) || n.Queued.Total() != 2 {
				t.Errorf("%+v", n)
			}
			if got := drained(t, w, g); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if n := balance(t, w, 0); n.Handled != 2 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestDroppedQuestions checks that an asker learns that its message was dropped.
func TestDroppedQuestions(t *testing.T) {
	for policy, want := range map[Policy]error{Reject: ErrQueueFull, DropNew: ErrDropped, DropOldest: ErrDropped} {
		onFakeTime(t, fmt.Sprint(policy), func(t *testing.T) {
			g := newGate()
			w := launched(t, g.handle, Options{Queue: 1, Policy: policy})
			answers := asked(t, w, 2)
			if err := <-answers; !errors.Is(err, want) {
				t.Error(err)
			}
			if got := drained(t, w, g); len(g.seen) != 1 {
				t.Error(got)
			}
			if err := <-answers; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBlock checks that blocked senders wait, get in by band and in order, and that they
// can give up.
func TestBlock(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		g := newGate()
		w := launched(t, g.handle, Options{Queue: 2})
		begin := time.Now()
		var accepted [6]atomic.Int64 // when, in nanoseconds and at least 1
		count := func() (n int) {
			for i := range accepted {
				if accepted[i].Load() > 0 {
					n++
				}
			}
			return n
		}
		results := make(chan error, 8)
		for i, p := range []uint8{100, 100, 100, 50, 200, 100} {
			go func() {
				err := w.Send(t.Context(), i, p)
				accepted[i].Store(max(int64(time.Since(begin)), 1))
				results <- err
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Send(ctx, 9, 255); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := balance(t, w, 4); n.Dropped != (Dropped{Canceled: 1}) || n.Queued.Total() != 2 || count() != 2 {
			t.Errorf("%+v, %d senders are done", n, count())
		}
		if err := w.Activate(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait() // one message is being handled, and the sender of the highest band is in
		if accepted[4].Load() != int64(time.Second) || count() != 3 {
			t.Errorf("%d senders are done", count())
		}
		close(g.open)
		for range 6 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(g.seen); got != "[0 4 1 2 5 3]" {
			t.Error(got)
		}
		balance(t, w, 0)
	})
}

// TestBlockedAtEnd checks that blocked senders learn that the Worker ends.
func TestBlockedAtEnd(t *testing.T) {
	for name, end := range map[string]func(*Worker[int, int], context.Context) error{
		"Drain": (*Worker[int, int]).Drain, "Terminate": (*Worker[int, int]).Terminate,
	} {
		onFakeTime(t, name, func(t *testing.T) {
			w := active(t, func(c *Context, in int) (int, error) {
				time.Sleep(time.Second)
				return in, nil
			}, Options{Queue: 1})
			results := make(chan error, 3)
			for i := range 3 {
				go func() { results <- w.Send(t.Context(), i, Normal) }()
				synctest.Wait()
			}
			if err := end(w, t.Context()); err != nil {
				t.Error(err)
			}
			refused := 0
			for range 3 {
				if errors.Is(<-results, ErrNotAccepting) {
					refused++
				}
			}
			if refused != 1 {
				t.Error(refused, "senders were refused")
			}
			balance(t, w, 0)
		})
	}
}
