package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		b := New(func(ctx context.Context, in []int) ([]int, error) {
			time.Sleep(time.Second)
			return r.double(ctx, in)
		}, Options{MaxItems: 2, Linger: time.Hour})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if out, err := b.Do(t.Context(), i); out != 2*i || err != nil {
					t.Errorf("%d, %v", out, err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		for range 2 {
			wg.Go(func() {
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begin); took != 3*time.Second { // three batches of a second each, without lingering
			t.Errorf("closing took %v", took)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := b.Do(t.Context(), 9); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if got := fmt.Sprint(r.sizes()); got != "[2 2 1]" {
			t.Error(got)
		}
	})
}

// TestCloseGivesUp has Close's context end while a batch runs and items wait.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled := false
		b := New(func(ctx context.Context, in []int) ([]int, error) {
			<-ctx.Done()
			canceled = true
			time.Sleep(time.Second)
			return in, nil
		}, Options{MaxItems: 2, Linger: time.Hour})
		results := make(chan error, 5)
		for i := range 5 {
			go func() {
				_, err := b.Do(t.Context(), i)
				results <- err
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var e *CloseError
		if err := b.Close(ctx); !errors.As(err, &e) || e.Dropped != 3 || e.Running != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := b.Close(t.Context()); err != nil { // waits for the batch that runs
			t.Error(err)
		}
		dropped := 0
		for range 5 {
			if err := <-results; errors.Is(err, ErrClosed) {
				dropped++
			} else if err != nil {
				t.Error(err)
			}
		}
		if dropped != 3 || !canceled {
			t.Errorf("%d items were dropped, the batch was canceled: %v", dropped, canceled)
		}
	})
}
