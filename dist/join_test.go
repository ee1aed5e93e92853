package dist

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/porttest"
)

// lingering has rank 0 wait longer for ranks that come when the group has failed: tests share the
// machine.
func lingering(o *options) error { o.linger = 20 * time.Second; return nil }

// joined runs f in n ranks that Join over TCP, each with an environment of its own, and returns
// the errors of Join or Run.
func joined(t *testing.T, n int, f func(ctx context.Context, c *Comm) error, change func(rank int, env map[string]string) []Option) []error {
	t.Helper()
	d := cpu(t, 1)[0]
	address := porttest.FreeAddress(t)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		env := map[string]string{"GPK_RANK": strconv.Itoa(rank), "GPK_SIZE": strconv.Itoa(n), "GPK_ADDR": address, "GPK_TOKEN": t.Name()}
		opts := []Option{OnDevice(d), Timeout(20 * time.Second), Silence(10 * time.Second), lingering}
		if change != nil {
			opts = append(opts, change(rank, env)...)
		}
		wg.Go(func() {
			g, err := Join(t.Context(), append(opts, Environment(func(k string) string { return env[k] }))...)
			if err != nil {
				errs[rank] = err
				return
			}
			defer g.Close()
			errs[rank] = g.Run(t.Context(), f)
		})
	}
	wg.Wait()
	return errs
}

// TestJoin runs every collective function over TCP.
func TestJoin(t *testing.T) {
	const p = 3
	r := random(t)
	for i, typ := range types {
		xs := make([]tensor, p)
		for k := range xs {
			xs[k] = seen(t, i, build([]int{p, 2 * p}, func([]int) complex128 { return complex(float64(r.IntN(3)), 0) }))
		}
		errs := joined(t, p, func(_ context.Context, c *Comm) error { return compareAll(c, i, xs, 1, 1, 2) }, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%v: %v", typ.dt, err)
		}
	}
}

// TestJoinLong exchanges arrays that take several frames, and messages.
func TestJoinLong(t *testing.T) {
	errs := joined(t, 3, func(ctx context.Context, c *Comm) error {
		x := gpk.Ones(gpk.Float32, 1<<20).Mul(c.Rank() + 1)
		if lo, err := gpk.Item[float32](c.AllReduce(x, Sum).Min()); err != nil || lo != 6 {
			return fmt.Errorf("%v, %w", lo, err)
		}
		if c.Rank() == 2 {
			return c.Send(ctx, x, 0)
		}
		if c.Rank() == 0 {
			into := gpk.Zeros(gpk.Float32, 1<<20)
			if err := c.Recv(ctx, into, 2); err != nil {
				return err
			}
			if lo, err := gpk.Item[float32](into.Min()); err != nil || lo != 3 {
				return fmt.Errorf("%v, %w", lo, err)
			}
		}
		return c.Barrier(ctx)
	}, nil)
	// Rank 2 returns where the others call Barrier.
	for rank, err := range errs {
		var re *RankError
		if !errors.As(err, &re) || re.Rank != 2 || !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestJoinFaults has one rank that does not fit. Every rank names it, and why.
func TestJoinFaults(t *testing.T) {
	cause := errors.New("no luck")
	nothing := func(context.Context, *Comm) error { return nil }
	for name, test := range map[string]struct {
		f      func(ctx context.Context, c *Comm) error
		change func(rank int, env map[string]string) []Option
		want   error
		says   string
	}{
		"world": {nothing, func(rank int, env map[string]string) []Option {
			if rank == 1 {
				env["GPK_SIZE"] = "4"
			}
			return nil
		}, ErrWorld, ""},
		"version": {nothing, func(rank int, _ map[string]string) []Option {
			if rank == 1 {
				return []Option{func(o *options) error { o.version = "gpk dist 0"; return nil }}
			}
			return nil
		}, ErrVersion, ""},
		"error": {func(_ context.Context, c *Comm) error {
			if c.Rank() == 1 {
				return cause
			}
			return c.AllReduce(gpk.Ones(gpk.Float32, 2), Sum).Err()
		}, nil, nil, "no luck"},
		"shape": {func(_ context.Context, c *Comm) error {
			return c.AllReduce(gpk.Ones(gpk.Float32, 2+c.Rank()%2), Sum).Err()
		}, nil, gpk.ErrShape, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for rank, err := range joined(t, 3, test.f, test.change) {
				var re *RankError
				if !errors.As(err, &re) || re.Rank != 1 || re.Host == "" || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

// TestAlone joins without a launcher.
func TestAlone(t *testing.T) {
	cpu(t, 1)
	g, err := Join(t.Context(), Environment(func(string) string { return "" }))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if g.Size() != 1 {
		t.Errorf("%d ranks", g.Size())
	}
	err = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
		got, err := gpk.Item[float32](c.AllReduce(gpk.Full(gpk.Float32, 3), Sum))
		if err == nil && got != 3 {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
