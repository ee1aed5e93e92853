package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestAsks has a thousand askers at once, among messages of all priorities and askers that
// give up, so that the order of answers is not that of questions.
func TestAsks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	goroutines, bytes := runtime.NumGoroutine(), devicetest.InUse(t, cpu(t))
	t.Run("", func(t *testing.T) {
		odd := errors.New("odd")
		w := active(t, func(_ *Context, in int) (string, error) {
			if in%10 == 1 {
				return "", fmt.Errorf("%d is %w", in, odd)
			}
			return fmt.Sprint(in), nil
		}, Options{Queue: 50})
		var wg sync.WaitGroup
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(1000) {
			wg.Go(func() {
				out, err := w.Ask(t.Context(), i)
				if i%10 == 1 && (!errors.Is(err, odd) || err.Error() != fmt.Sprintf("%d is odd", i)) || i%10 != 1 && (err != nil || out != fmt.Sprint(i)) {
					t.Errorf("%d was answered %q, %v", i, out, err)
				}
			})
			wg.Go(func() {
				if err := w.Send(t.Context(), 0, uint8(i)); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
				defer cancel()
				if out, err := w.Ask(ctx, i); err == nil && out != fmt.Sprint(i) {
					t.Errorf("%d was answered %q", i, out)
				}
			})
		}
		wg.Wait()
		if err := w.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if n := balance(t, w, 0); n.Handled+n.Failed < 2000 || n.Failed < 100 {
			t.Errorf("%+v", n)
		}
	})
	noGoroutines(t, goroutines)
	if now := cpu(t).Pool().InUse; now != bytes {
		t.Errorf("%d bytes of the device are in use, %d before", now, bytes)
	}
}

// TestRestarts has handlers panic inside and outside of a window.
func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		steps []time.Duration // before each panic
		fails int             // the panic that fails the Worker; -1: none
	}{
		{"none", Options{}, []time.Duration{0}, 0},
		{"negative", Options{Restarts: -1}, []time.Duration{0}, 0},
		{"two", Options{Restarts: 2}, []time.Duration{0, time.Hour, time.Hour}, 2},
		{"inside", Options{Restarts: 2, Within: time.Minute}, []time.Duration{0, 29 * time.Second, 30 * time.Second}, 2},
		{"outside", Options{Restarts: 2, Within: time.Minute}, []time.Duration{0, 30 * time.Second, 30 * time.Second, 30 * time.Second}, -1},
		{"outside, then inside", Options{Restarts: 1, Within: time.Minute}, []time.Duration{0, time.Minute, time.Minute, time.Second}, 3},
	} {
		onFakeTime(t, c.name, func(t *testing.T) {
			var life []string // what the Worker did
			o := c.o
			o.Setup = func(c *Context) error {
				life = append(life, fmt.Sprint("setup ", c.Restarts(), " ", c.Value()))
				c.SetValue(c.Restarts())
				c.Cleanup(func() error { life = append(life, "last"); return nil })
				c.Cleanup(func() error { life = append(life, "first"); return nil })
				return nil
			}
			w := active(t, func(c *Context, in int) (int, error) {
				if c.Value() != c.Restarts() {
					t.Error(c.Value(), c.Restarts())
				}
				if in < 0 {
					panic("negative")
				}
				return in, nil
			}, o)
			var want []string
			for i, step := range c.steps {
				time.Sleep(step)
				var p *PanicError
				if _, err := w.Ask(t.Context(), -1); !errors.As(err, &p) || p.Value != "negative" || p.Worker != t.Name() || !strings.Contains(string(p.Stack), "TestRestarts") {
					t.Error(err)
				}
				want = append(want, fmt.Sprintf("setup %d <nil>", i), "first", "last")
				if i == c.fails {
					break
				}
				if out, err := w.Ask(t.Context(), 7); out != 7 || err != nil || w.State() != Active {
					t.Error(out, err, w.State())
				}
			}
			n, panics := balance(t, w, 0), uint64(len(c.steps))
			if c.fails >= 0 {
				if _, err := w.Ask(t.Context(), 7); !errors.Is(err, ErrNotAccepting) || w.State() != Failed || n.Restarts != panics-1 {
					t.Errorf("%v, %v, %+v", w.State(), err, n)
				}
				synctest.Wait() // a failed Worker frees everything by itself
			} else {
				if err := w.Drain(t.Context()); err != nil || n.Restarts != panics {
					t.Errorf("%v, %+v", err, n)
				}
				want = append(want, fmt.Sprintf("setup %d <nil>", panics), "first", "last")
			}
			if n.Panicked != panics || fmt.Sprint(life) != fmt.Sprint(want) {
				t.Errorf("%d panics, %q, want %q", n.Panicked, life, want)
			}
		})
	}
}

// TestSetupFails has Setup fail in Activate, and after a panic.
func TestSetupFails(t *testing.T) {
	broken := errors.New("broken")
	for name, fail := range map[string]func() error{"error": func() error { return broken }, "panic": func() error { panic(broken) }} {
		onFakeTime(t, name, func(t *testing.T) {
			sound, freed := false, 0
			w := launched(t, func(_ *Context, in int) (int, error) { panic(in) }, Options{Restarts: 9, Setup: func(c *Context) error {
				c.Cleanup(func() error { freed++; return nil })
				if sound {
					return nil
				}
				return fail()
			}})
			if err := w.Activate(t.Context()); !errors.Is(err, broken) || w.State() != Idle || freed != 1 {
				t.Error(err, w.State(), freed)
			}
			sound = true
			if err := w.Activate(t.Context()); err != nil || w.State() != Active {
				t.Error(err, w.State())
			}
			sound = false
			if _, err := w.Ask(t.Context(), 1); !errors.As(err, new(*PanicError)) {
				t.Error(err)
			}
			synctest.Wait()
			if err := w.Send(t.Context(), 1, Normal); !errors.Is(err, ErrNotAccepting) || !errors.Is(err, broken) || w.State() != Failed || freed != 3 {
				t.Error(err, w.State(), freed)
			}
		})
	}
}

// TestGoexit has the Worker's functions end its goroutine.
func TestGoexit(t *testing.T) {
	onFakeTime(t, "handler", func(t *testing.T) {
		w := active(t, func(_ *Context, in int) (int, error) { runtime.Goexit(); return in, nil }, Options{Restarts: 9})
		if _, err := w.Ask(t.Context(), 1); !errors.As(err, new(*PanicError)) || w.State() != Failed {
			t.Error(err, w.State())
		}
		if n := balance(t, w, 0); n.Panicked != 1 || n.Restarts != 0 {
			t.Errorf("%+v", n)
		}
	})
	onFakeTime(t, "setup", func(t *testing.T) {
		w := launched(t, echo, Options{Setup: func(*Context) error { runtime.Goexit(); return nil }})
		if err := w.Activate(t.Context()); !errors.As(err, new(*PanicError)) || w.State() != Failed {
			t.Error(err, w.State())
		}
	})
	onFakeTime(t, "cleanup", func(t *testing.T) {
		w := launched(t, echo, Options{Setup: func(c *Context) error {
			c.Cleanup(func() error { runtime.Goexit(); return nil })
			return nil
		}})
		if err := errors.Join(w.Activate(t.Context()), w.Drain(t.Context())); err != nil || w.State() != Terminated {
			t.Error(err, w.State())
		}
	})
}

// TestCleanupErrors checks which calls return the error of a failed cleanup.
func TestCleanupErrors(t *testing.T) {
	broken := errors.New("broken")
	onFakeTime(t, "", func(t *testing.T) {
		w := launched(t, echo, Options{Setup: func(c *Context) error {
			c.Cleanup(func() error { return broken })
			return nil
		}})
		if err := errors.Join(w.Activate(t.Context())); err != nil {
			t.Error(err)
		}
		if err := w.Deactivate(t.Context()); !errors.Is(err, broken) || w.State() != Idle {
			t.Error(err, w.State())
		}
		if err := errors.Join(w.Activate(t.Context())); err != nil {
			t.Error(err)
		}
		if err := w.Drain(t.Context()); !errors.Is(err, broken) || w.State() != Terminated {
			t.Error(err, w.State())
		}
	})
}

type key struct{}

// TestMessageContext checks which parts of the sender's context a handler gets.
func TestMessageContext(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		values := make(chan any, 3)
		w := launched(t, func(c *Context, in int) (int, error) {
			ctx := c.Context()
			values <- ctx.Value(key{})
			if ctx != c.Context() || c.Name() != t.Name() || c.Stream() == nil {
				t.Error("the Context changes")
			}
			if in == 2 {
				<-ctx.Done()
			}
			return in, ctx.Err()
		}, Options{})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "sent"))
		if err := w.Send(ctx, 1, Normal); err != nil {
			t.Error(err)
		}
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		begin := time.Now()
		if _, err := w.Ask(ctx, 3); !errors.Is(err, context.Canceled) || time.Since(begin) != time.Second { // the Worker is idle
			t.Error(err)
		}
		if err := w.Activate(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel = context.WithTimeout(context.WithValue(t.Context(), key{}, "asked"), time.Second)
		defer cancel()
		if _, err := w.Ask(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if n := balance(t, w, 0); n.Handled != 1 || n.Failed != 1 || n.Dropped != (Dropped{Canceled: 1}) {
			t.Errorf("%+v", n)
		}
		if a, b := <-values, <-values; a != "sent" || b != "asked" || len(values) != 0 {
			t.Error(a, b)
		}
	})
}

// TestTimes checks the times of Telemetry on fake time.
func TestTimes(t *testing.T) {
	onFakeTime(t, "", func(t *testing.T) {
		w := active(t, func(_ *Context, in int) (int, error) {
			time.Sleep(time.Duration(in) * time.Millisecond)
			return in, nil
		}, Options{})
		for range 98 {
			if err := w.Send(t.Context(), 10, Normal); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			if err := w.Send(t.Context(), 1000, Low); err != nil {
				t.Error(err)
			}
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		n := w.Telemetry()
		for _, c := range []struct {
			name      string
			got, want time.Duration
		}{
			{"handling", n.Handling.Median, 10 * time.Millisecond},
			{"handling at 99 %", n.Handling.P99, time.Second},
			{"waiting", n.Waiting.Median, 490 * time.Millisecond},
			{"waiting at 99 %", n.Waiting.P99, 980 * time.Millisecond},
		} {
			if off := max(c.got-c.want, c.want-c.got); off > c.want/16 {
				t.Errorf("%s took %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}

// TestNothing calls methods of nothing, and with nothing.
func TestNothing(t *testing.T) {
	var missing *Worker[int, int]
	for name, w := range map[string]*Worker[int, int]{"nil": missing, "zero": {}, "no handler": New[int, int]("", nil, Options{})} {
		_, err := w.Ask(t.Context(), 1)
		for _, err := range []error{
			err, w.Launch(t.Context()), w.Activate(t.Context()), w.Deactivate(t.Context()),
			w.Drain(t.Context()), w.Terminate(t.Context()), w.Send(t.Context(), 1, 1),
		} {
			if !errors.Is(err, gpk.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if w.State() != Created || w.Telemetry() != (Telemetry{}) {
			t.Error(name, w.State(), w.Telemetry())
		}
	}
	w := active(t, echo, Options{})
	//nolint:staticcheck // a nil context is what is tested
	for _, err := range []error{w.Launch(nil), w.Activate(nil), w.Deactivate(nil), w.Drain(nil), w.Terminate(nil), w.Send(nil, 1, 1)} {
		if !errors.Is(err, gpk.ErrUnsupported) {
			t.Error(err)
		}
	}
	for _, c := range []*Context{nil, {}} {
		c.SetValue(1)
		c.Cleanup(func() error { return nil })
		if c.Name() != "" || c.Stream() != nil || c.Restarts() != 0 || c.Value() != nil || c.Scope() != nil || c.Context() == nil || c.Hold(nil).Err() == nil {
			t.Error("a Context that is no Worker's")
		}
	}
	for _, err := range []error{(*StateError)(nil), (*PanicError)(nil), (*StopError)(nil)} {
		if err.Error() == "" || errors.Unwrap(err) != nil {
			t.Errorf("%#v", err)
		}
	}
	if State(99).String() != "State(99)" {
		t.Error(State(99))
	}
}
