package dist

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
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
	// Rank 2 returns while the others call Barrier.
	for rank, err := range errs {
		var re *RankError
		if !errors.As(err, &re) || re.Rank != 2 || !errors.Is(err, gpk.ErrUnsupported) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestJoinFaults has one rank that does not fit, over TCP and over the fake NCCL. Every rank names it, and why.
func TestJoinFaults(t *testing.T) {
	x := func(n int) *gpk.Array { return gpk.Ones(gpk.Float32, n) }
	usual := func(_ context.Context, c *Comm) error { return c.AllReduce(x(2), Sum).Err() }
	// other makes rank 1 call another function than the other ranks.
	other := func(f func(ctx context.Context, c *Comm) error) func(context.Context, *Comm) error {
		return func(ctx context.Context, c *Comm) error {
			if c.Rank() == 1 {
				return f(ctx, c)
			}
			return usual(ctx, c)
		}
	}
	for _, c := range []fault{
		{"world", usual, func(env map[string]string) Option { env["GPK_SIZE"] = "4"; return nil }, ErrWorld, ""},
		{"version", usual, func(map[string]string) Option {
			return func(o *options) error { o.version = "gpk dist 0"; return nil }
		}, ErrVersion, ""},
		{"error", other(func(context.Context, *Comm) error { return errUnlucky }), nil, errUnlucky, "no luck"},
		{"function", other(func(_ context.Context, c *Comm) error { return c.AllGather(x(2), 0).Err() }), nil, gpk.ErrUnsupported, "AllGather(axis 0)"},
		{"operation", other(func(_ context.Context, c *Comm) error { return c.AllReduce(x(2), Max).Err() }), nil, gpk.ErrUnsupported, "AllReduce(Max)"},
		{"shape", other(func(_ context.Context, c *Comm) error { return c.AllReduce(x(3), Sum).Err() }), nil, gpk.ErrShape, "[3]"},
		{"type", other(func(_ context.Context, c *Comm) error { return c.AllReduce(x(2).Cast(gpk.Int32), Sum).Err() }), nil, gpk.ErrDType, "int32"},
		{"canceled", canceled, nil, context.Canceled, ""},
	} {
		t.Run("TCP/"+c.name, c.test)
		t.Run("NCCL/"+c.name, func(t *testing.T) { fakeNCCL(t, every); c.test(t) })
	}
}

var errUnlucky = errors.New("no luck")

// fault is a program in which rank 1 does not fit.
type fault struct {
	name   string
	f      func(ctx context.Context, c *Comm) error
	change func(env map[string]string) Option // changes the environment of rank 1
	want   error
	says   string
}

func (f fault) test(t *testing.T) {
	errs := joined(t, 3, f.f, func(rank int, env map[string]string) []Option {
		if rank != 1 || f.change == nil {
			return nil
		}
		if o := f.change(env); o != nil {
			return []Option{o}
		}
		return nil
	})
	for rank, err := range errs {
		var re *RankError
		known := errors.Is(err, f.want) || f.want == errUnlucky // only the process of the rank knows that error
		if !errors.As(err, &re) || re.Rank != 1 || re.Host == "" || !known || !strings.Contains(err.Error(), f.says) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestJoinMissing has a rank that never comes. The others name it.
func TestJoinMissing(t *testing.T) {
	absent := errors.New("rank 1 stays away")
	errs := joined(t, 3, func(context.Context, *Comm) error { return nil }, func(rank int, _ map[string]string) []Option {
		switch rank {
		case 0:
			// The others have more time, so that rank 0 finds who is missing. It does not linger long for rank 1.
			return []Option{Timeout(3 * time.Second), func(o *options) error { o.linger = 2 * time.Second; return nil }}
		case 1:
			return []Option{func(*options) error { return absent }}
		}
		return nil
	})
	for rank, err := range errs {
		var re *RankError
		if rank != 1 && (!errors.As(err, &re) || re.Rank != 1 || !errors.Is(err, ErrMissing)) || rank == 1 && !errors.Is(err, absent) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestJoinTakenPort has another program listen at the address of rank 0, which names it. The other ranks name rank 0.
func TestJoinTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	errs := joined(t, 3, func(context.Context, *Comm) error { return nil }, func(_ int, env map[string]string) []Option {
		env["GPK_ADDR"] = l.Addr().String()
		return []Option{Timeout(time.Second)}
	})
	for rank, err := range errs {
		var re *RankError
		if !errors.As(err, &re) || re.Rank != 0 || rank == 0 && !strings.Contains(err.Error(), l.Addr().String()) || rank > 0 && !errors.Is(err, ErrMissing) {
			t.Errorf("rank %d: %v", rank, err)
		}
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
