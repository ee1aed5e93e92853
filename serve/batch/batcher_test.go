package batch

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
)

// recorder is a function for a Batcher that notes the batches it gets.
type recorder struct {
	mu      sync.Mutex
	batches [][]int
}

// double returns twice each item.
func (r *recorder) double(_ context.Context, in []int) ([]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, append([]int{}, in...))
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = 2 * v
	}
	return out, nil
}

func (r *recorder) sizes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var n []int
	for _, b := range r.batches {
		n = append(n, len(b))
	}
	return n
}

// callers calls Do in n goroutines with their numbers, and returns their results.
func callers[Out any](ctx context.Context, b *Batcher[int, Out], n int) (outs []Out, errs []error) {
	outs, errs = make([]Out, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { outs[i], errs[i] = b.Do(ctx, i) })
	}
	wg.Wait()
	return outs, errs
}

func TestLaunches(t *testing.T) {
	for _, c := range []struct {
		callers int
		o       Options
		want    string
		took    time.Duration
	}{
		{250, Options{MaxItems: 100, Linger: 10 * time.Millisecond}, "[100 100 50]", 10 * time.Millisecond},
		{200, Options{MaxItems: 100, Linger: 10 * time.Millisecond}, "[100 100]", 0},
		{1, Options{MaxItems: 100, Linger: 10 * time.Millisecond}, "[1]", 10 * time.Millisecond},
		{3, Options{MaxItems: 1, Linger: time.Hour}, "[1 1 1]", 0},
		{128, Options{Linger: time.Second}, "[64 64]", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var r recorder
			b := New(r.double, c.o)
			begin := time.Now()
			outs, errs := callers(t.Context(), b, c.callers)
			if took := time.Since(begin); took != c.took {
				t.Errorf("%d callers, %+v: took %v, want %v", c.callers, c.o, took, c.took)
			}
			for i := range outs {
				if outs[i] != 2*i || errs[i] != nil {
					t.Errorf("caller %d got %d, %v", i, outs[i], errs[i])
				}
			}
			if got := fmt.Sprint(r.sizes()); got != c.want {
				t.Errorf("%d callers, %+v: batches of %s, want %s", c.callers, c.o, got, c.want)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOrder checks that f gets items in the order of their arrival, and that without a
// linger a batch holds the items that arrived while the previous one ran.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		b := New(func(ctx context.Context, in []int) ([]int, error) {
			time.Sleep(10 * time.Millisecond)
			return r.double(ctx, in)
		}, Options{MaxItems: 4})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if out, err := b.Do(t.Context(), i); out != 2*i || err != nil {
					t.Errorf("%d: %d, %v", i, out, err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if got := fmt.Sprint(r.batches); got != "[[0] [1 2 3 4] [5 6 7 8] [9]]" {
			t.Error(got)
		}
	})
}

func TestFunctionErrors(t *testing.T) {
	broken := errors.New("broken")
	odd := func(n int) (outs []int, errs Errors) {
		for i := range n {
			outs, errs = append(outs, i), append(errs, nil)
			if i%2 == 1 {
				errs[i] = fmt.Errorf("odd: %w", broken)
			}
		}
		return outs, errs
	}
	for _, c := range []struct {
		name string
		f    func(context.Context, []int) ([]int, error)
		want error
		odd  bool // only the odd items fail
	}{
		{"whole", func(context.Context, []int) ([]int, error) { return nil, broken }, broken, false},
		{"items", func(_ context.Context, in []int) ([]int, error) { return odd(len(in)) }, broken, true},
		{"items wrapped", func(_ context.Context, in []int) ([]int, error) {
			outs, errs := odd(len(in))
			return outs, fmt.Errorf("some: %w", errs)
		}, broken, true},
		{"few errors", func(_ context.Context, in []int) ([]int, error) { return in, Errors{broken} }, ErrOutputs, false},
		{"errors without outputs", func(_ context.Context, in []int) ([]int, error) { return nil, make(Errors, len(in)) }, ErrOutputs, false},
		{"none", func(context.Context, []int) ([]int, error) { return nil, nil }, ErrOutputs, false},
		{"few", func(_ context.Context, in []int) ([]int, error) { return in[1:], nil }, ErrOutputs, false},
		{"many", func(_ context.Context, in []int) ([]int, error) { return append(in, 1), nil }, ErrOutputs, false},
		{"panic", func(context.Context, []int) ([]int, error) { panic(broken) }, broken, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			b := New(func(ctx context.Context, in []int) ([]int, error) {
				if calls++; calls == 1 {
					return c.f(ctx, in)
				}
				return in, nil
			}, Options{MaxItems: 6, Linger: time.Second})
			_, errs := callers(t.Context(), b, 6)
			failed := 0
			for _, err := range errs {
				if err != nil {
					failed++
					if !errors.Is(err, c.want) {
						t.Errorf("%s: %v, want %v", c.name, err, c.want)
					}
				}
			}
			if want := map[bool]int{false: 6, true: 3}[c.odd]; failed != want {
				t.Errorf("%s: %d items failed, want %d", c.name, failed, want)
			}
			if out, err := b.Do(t.Context(), 7); out != 7 || err != nil {
				t.Errorf("%s: after it: %d, %v", c.name, out, err)
			}
		})
	}
}

// TestPanicError checks the error of callers after a panic, and that a function which
// ends its goroutine does not leave a caller waiting.
func TestPanicError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(func(_ context.Context, in []int) ([]int, error) {
			switch in[0] {
			case 0:
				panic("seven")
			case 1:
				runtime.Goexit()
			}
			return in, nil
		}, Options{MaxItems: 1})
		var p *PanicError
		if _, err := b.Do(t.Context(), 0); !errors.As(err, &p) || p.Value != "seven" || !strings.Contains(string(p.Stack), "TestPanicError") {
			t.Errorf("%v, stack %s", err, p.Stack)
		}
		if _, err := b.Do(t.Context(), 1); !errors.As(err, &p) || p.Value != nil {
			t.Error(err)
		}
		if out, err := b.Do(t.Context(), 2); out != 2 || err != nil {
			t.Error(out, err)
		}
	})
}

// TestLeaveEarly checks that a caller whose context ends before its batch starts is left
// out of it, and that the linger counts from the first item that stayed.
func TestLeaveEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		b := New(r.double, Options{MaxItems: 3, Linger: 10 * time.Millisecond, MaxQueue: 2})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Do(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 4*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		})
		time.Sleep(2 * time.Millisecond)
		wg.Go(func() {
			if out, err := b.Do(t.Context(), 2); out != 4 || err != nil || time.Since(begin) != 12*time.Millisecond {
				t.Errorf("%d, %v after %v", out, err, time.Since(begin))
			}
		})
		synctest.Wait()
		if _, err := b.Do(t.Context(), 3); !errors.Is(err, ErrQueueFull) {
			t.Error(err)
		}
		time.Sleep(3 * time.Millisecond) // the first one has left, and with it its place
		wg.Go(func() {
			if _, err := b.Do(t.Context(), 4); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if got := fmt.Sprint(r.batches); got != "[[2 4]]" {
			t.Error(got)
		}
		// Alone in the queue: no batch at all.
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := b.Do(ctx, 5); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := b.Do(ctx, 6); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if len(r.batches) != 1 {
			t.Error(r.batches)
		}
	})
}

// TestLeaveRunning checks that the function's context ends when the last caller has left.
func TestLeaveRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		begin := time.Now()
		b := New(func(ctx context.Context, in []int) ([]int, error) {
			<-ctx.Done()
			ended = time.Since(begin)
			return nil, ctx.Err()
		}, Options{MaxItems: 2, Linger: time.Second})
		var wg sync.WaitGroup
		for i := range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Minute)
			defer cancel()
			wg.Go(func() {
				if _, err := b.Do(ctx, i); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if ended != 2*time.Minute {
			t.Error(ended)
		}
	})
}

// TestCrowd runs many callers in real time, some of which leave, and counts goroutines.
func TestCrowd(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	before := runtime.NumGoroutine()
	b := New(func(_ context.Context, in []int) ([]int, error) {
		errs := make(Errors, len(in))
		for i, v := range in {
			if v%7 == 0 {
				errs[i] = fmt.Errorf("item %d", v)
			}
		}
		return in, errs
	}, Options{MaxItems: 16, Linger: 100 * time.Microsecond})
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for i := range 2000 {
		patience := time.Duration(rand.New(rand.NewPCG(seed, uint64(i))).IntN(3000)) * time.Microsecond
		if i%100 == 1 {
			patience = time.Hour // some are answered, however busy the machine is
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out, err := b.Do(ctx, i)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				return
			case i%7 == 0 && (err == nil || err.Error() != fmt.Sprint("item ", i)), i%7 != 0 && (err != nil || out != i):
				t.Errorf("caller %d: %d, %v", i, out, err)
			}
			mu.Lock()
			answered++
			mu.Unlock()
		})
	}
	wg.Wait()
	if answered == 0 {
		t.Error("no caller was answered")
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestNothing calls methods of nothing, and with nothing.
func TestNothing(t *testing.T) {
	var missing *Batcher[int, int]
	for name, b := range map[string]*Batcher[int, int]{"nil": missing, "zero": {}, "no function": New[int, int](nil, Options{})} {
		if _, err := b.Do(t.Context(), 1); !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Close(t.Context()); !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var r recorder
	b := New(r.double, Options{MaxItems: -1, Linger: -1, MaxQueue: -1})
	//nolint:staticcheck // a nil context is what is tested
	if _, err := b.Do(nil, 1); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
	//nolint:staticcheck // a nil context is what is tested
	if err := b.Close(nil); !errors.Is(err, gpk.ErrUnsupported) {
		t.Error(err)
	}
	if out, err := b.Do(t.Context(), 1); out != 2 || err != nil {
		t.Error(out, err)
	}
	for _, err := range []error{Errors{}, (*PanicError)(nil), (*CloseError)(nil)} {
		if err.Error() == "" || errors.Unwrap(err) != nil {
			t.Errorf("%#v", err)
		}
	}
}
