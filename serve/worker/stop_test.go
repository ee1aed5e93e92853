package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slow takes a second for a message, or until its context ends.
func slow(c *Context, in int) (int, error) {
	select {
	case <-time.After(time.Second):
		return in, nil
	case <-c.Context().Done():
		return 0, context.Cause(c.Context())
	}
}

func TestDrain(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, slow, Options{})
		send(t, w, 5)
		begin := time.Now()
		if err := w.Drain(t.Context()); err != nil || time.Since(begin) != 5*time.Second || w.State() != Terminated {
			t.Error(err, time.Since(begin), w.State())
		}
		if n := balance(t, w, 0); n.Handled != 5 {
			t.Errorf("%+v", n)
		}
	})
}

func TestDrainGivesUp(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, slow, Options{})
		answers := asked(t, w, 5)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var e *StopError
		if err := w.Drain(ctx); !errors.As(err, &e) || e.Dropped != 2 || !e.Running || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var handled, canceled, dropped int
		for range 5 {
			switch err := <-answers; {
			case err == nil:
				handled++
			case errors.Is(err, ErrDropped):
				dropped++
			case errors.Is(err, context.DeadlineExceeded):
				canceled++
			default:
				t.Error(err)
			}
		}
		if handled != 2 || dropped != 2 || canceled != 1 {
			t.Error(handled, dropped, canceled)
		}
		synctest.Wait()
		if n := balance(t, w, 0); n.Dropped.Stopped != 2 || w.State() != Terminated {
			t.Errorf("%v %+v", w.State(), n)
		}
	})
}

func TestDrainIdle(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := launched(t, slow, Options{})
		send(t, w, 3)
		var e *StopError
		if err := w.Drain(t.Context()); !errors.As(err, &e) || e.Dropped != 3 || e.Running || !errors.Is(err, errIdle) {
			t.Error(err)
		}
		balance(t, w, 0)
	})
}

func TestDrainFails(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, func(c *Context, in int) (int, error) {
			time.Sleep(time.Second)
			if in == 1 {
				panic("one")
			}
			return in, nil
		}, Options{})
		send(t, w, 4)
		var e *StopError
		if err := w.Drain(t.Context()); !errors.As(err, &e) || e.Dropped != 2 || !errors.As(err, new(*PanicError)) || w.State() != Failed {
			t.Error(err, w.State())
		}
		balance(t, w, 0)
	})
}

func TestTerminate(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, slow, Options{})
		send(t, w, 3)
		synctest.Wait()
		begin := time.Now()
		if err := w.Terminate(t.Context()); err != nil || time.Since(begin) != 0 || w.State() != Terminated {
			t.Error(err, time.Since(begin), w.State())
		}
		if n := balance(t, w, 0); n.Dropped.Stopped != 2 || n.Failed != 1 {
			t.Errorf("%+v", n)
		}
		if err := w.Terminate(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTerminateDeaf(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, func(c *Context, in int) (int, error) {
			time.Sleep(time.Minute)
			return in, c.Context().Err() // asked for after the Worker was terminated
		}, Options{})
		answer := make(chan error, 1)
		go func() {
			_, err := w.Ask(t.Context(), 1)
			answer <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var e *StopError
		if err := w.Terminate(ctx); !errors.As(err, &e) || e.Dropped != 0 || !e.Running || w.State() != Draining {
			t.Error(err, w.State())
		}
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := w.Terminate(t.Context()); err != nil || w.State() != Terminated {
			t.Error(err, w.State())
		}
	})
}

func TestTerminateEnded(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) { // it stops the Worker all the same
		w := active(t, slow, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = w.Terminate(ctx)
		synctest.Wait()
		if w.State() != Terminated {
			t.Error(w.State())
		}
	})
}

func TestDeactivate(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, slow, Options{})
		send(t, w, 3)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := w.Deactivate(ctx); !errors.Is(err, context.DeadlineExceeded) || w.State() != Active {
			t.Error(err, w.State())
		}
		time.Sleep(1499 * time.Millisecond) // the first message is done, and the Worker goes on
		if n := balance(t, w, 1); n.Handled != 1 || w.State() != Active {
			t.Errorf("%v %+v", w.State(), n)
		}
		begin := time.Now()
		if err := w.Deactivate(t.Context()); err != nil || time.Since(begin) != 500*time.Millisecond || w.State() != Idle {
			t.Error(err, time.Since(begin), w.State())
		}
		time.Sleep(time.Hour)
		if n := balance(t, w, 0); n.Handled != 2 || n.Queued.Normal != 1 {
			t.Errorf("%+v", n)
		}
		if err := errors.Join(w.Activate(t.Context()), w.Drain(t.Context())); err != nil {
			t.Error(err)
		}
		if n := balance(t, w, 0); n.Handled != 3 {
			t.Errorf("%+v", n)
		}
	})
}

// TestStopDuringSetup ends a Worker whose Setup waits for its context.
func TestStopDuringSetup(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := launched(t, echo, Options{Setup: func(c *Context) error {
			<-c.Context().Done()
			return context.Cause(c.Context())
		}})
		activated := make(chan error, 2)
		for range 2 {
			go func() { activated <- w.Activate(t.Context()) }()
			synctest.Wait()
		}
		if err := w.Terminate(t.Context()); err != nil || w.State() != Terminated {
			t.Error(err, w.State())
		}
		first, second := <-activated, <-activated // in any order
		if errors.Is(first, errTerminated) == errors.Is(second, errTerminated) || errors.As(first, new(*StateError)) == errors.As(second, new(*StateError)) {
			t.Error(first, second)
		}
	})
}

// TestDrainDuringDeactivate drains a Worker that is freeing its state, and cannot handle the
// waiting messages.
func TestDrainDuringDeactivate(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, func(c *Context, in int) (int, error) {
			c.Cleanup(func() error { time.Sleep(time.Second); return nil })
			return slow(c, in)
		}, Options{})
		send(t, w, 3)
		synctest.Wait() // the first message is being handled
		deactivated := make(chan error, 1)
		go func() { deactivated <- w.Deactivate(t.Context()) }()
		time.Sleep(1500 * time.Millisecond)
		var e *StopError
		if err := w.Drain(t.Context()); !errors.As(err, &e) || e.Dropped != 2 || w.State() != Terminated {
			t.Error(err, w.State())
		}
		if err := <-deactivated; err != nil {
			t.Error(err)
		}
		if n := balance(t, w, 0); n.Handled != 1 {
			t.Errorf("%+v", n)
		}
	})
}
