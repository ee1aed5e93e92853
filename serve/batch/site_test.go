package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpk-go/gpk"
)

// TestSite checks that errors of Do and Close are errors.Is as documented, and name the method and the line that called it.
func TestSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(err, is error, method string, line int) {
			t.Helper()
			var oe *gpk.OpError
			if want := fmt.Sprint("batch/site_test.go:", line); !errors.Is(err, is) || !errors.As(err, &oe) || oe.Op != "batch."+method || oe.Site != want {
				t.Errorf("%v, want %v of batch.%s at %s", err, is, method, want)
			}
		}
		here := func() int {
			_, _, line, _ := runtime.Caller(1)
			return line
		}
		double := func(_ context.Context, in []int) ([]int, error) {
			time.Sleep(time.Second)
			return in, nil
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()

		none := (*Batcher[int, int])(nil)
		_, err := none.Do(t.Context(), 1)
		check(err, gpk.ErrUnsupported, "Do", here()-1)
		check(none.Close(t.Context()), gpk.ErrUnsupported, "Close", here())

		b := New(double, Options{MaxQueue: 1, Linger: time.Hour})
		_, err = b.Do(ended, 1)
		check(err, context.Canceled, "Do", here()-1)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := b.Do(t.Context(), 1)
			check(err, ErrClosed, "Do", here()-1) // Close removes the item
		}()
		synctest.Wait()
		_, err = b.Do(t.Context(), 2)
		check(err, ErrQueueFull, "Do", here()-1)
		if err := b.Close(ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-done
		_, err = b.Do(t.Context(), 3)
		check(err, ErrClosed, "Do", here()-1)

		b = New(double, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = b.Do(ctx, 1) // leaves while the batch runs
		check(err, context.DeadlineExceeded, "Do", here()-1)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
