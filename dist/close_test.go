package dist

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
)

// TestClosed uses a Comm after Run and Close. Every function returns the error of a closed
// group.
func TestClosed(t *testing.T) {
	g, err := Local(cpu(t, 2)...)
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]*Comm, 2)
	err = g.Run(t.Context(), func(_ context.Context, c *Comm) error { kept[c.Rank()] = c; return nil })
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	x := gpk.Ones(gpk.Float32, 2)
	for i, c := range kept {
		_, split := c.Split(t.Context(), 0, 0)
		for name, err := range map[string]error{
			"AllReduce": c.AllReduce(x, Sum).Err(), "Barrier": c.Barrier(t.Context()), "Split": split,
			"Send": c.Send(t.Context(), x, 1-i), "Recv": c.Recv(t.Context(), x, 1-i),
		} {
			if !errors.Is(err, gpk.ErrUnsupported) {
				t.Errorf("%s of rank %d: %v", name, i, err)
			}
		}
	}
}

// TestCloseInside closes the group in the function that Run calls, whose error Run returns.
func TestCloseInside(t *testing.T) {
	cause := errors.New("no luck")
	for _, ranks := range []int{1, 3} {
		g, err := Local(cpu(t, ranks)...)
		if err != nil {
			t.Fatal(err)
		}
		err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
			if c.Rank() > 0 {
				return c.Recv(ctx, gpk.Ones(gpk.Float32, 1), 0)
			}
			return errors.Join(g.Close(), cause)
		})
		var re *RankError
		if !errors.As(err, &re) || re.Rank != 0 || !errors.Is(err, cause) {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// TestCloseWakes closes the group while its ranks wait. They return, and Run with them.
func TestCloseWakes(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, c *Comm) error{
		"Recv":    func(ctx context.Context, c *Comm) error { return c.Recv(ctx, gpk.Ones(gpk.Float32, 1), 1-c.Rank()) },
		"context": func(ctx context.Context, _ *Comm) error { <-ctx.Done(); return context.Cause(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Local(cpu(t, 2)...)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("nothing wakes"))
			defer cancel()
			started := make(chan bool, 2)
			closed := make(chan error, 1)
			go func() {
				<-started
				<-started
				closed <- g.Close()
			}()
			err = g.Run(ctx, func(ctx context.Context, c *Comm) error {
				started <- true
				if err := wait(ctx, c); !errors.Is(err, gpk.ErrUnsupported) {
					return fmt.Errorf("rank %d: %w", c.Rank(), err)
				}
				return nil
			})
			if !errors.Is(err, gpk.ErrUnsupported) || ctx.Err() != nil {
				t.Errorf("Run: %v", err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	}
}
