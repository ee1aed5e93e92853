package dist

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
)

// TestDisagreement has one rank call something else than the others. All of them get an error that
// names that rank, both calls and the cause, and go on.
func TestDisagreement(t *testing.T) {
	x := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	usual := func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3), Sum) }
	for name, test := range map[string]struct {
		other func(c *Comm) *gpk.Array
		is    error
		says  string
	}{
		"shape":     {func(c *Comm) *gpk.Array { return c.AllReduce(x(3, 2), Sum) }, gpk.ErrShape, "[3 2] float32"},
		"type":      {func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3).Cast(gpk.Float64), Sum) }, gpk.ErrDType, "[2 3] float64"},
		"op":        {func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3), Max) }, gpk.ErrUnsupported, "AllReduce(Max)"},
		"function":  {func(c *Comm) *gpk.Array { return c.AllGather(x(2, 3), 1) }, gpk.ErrUnsupported, "AllGather(axis 1)"},
		"axis":      {func(c *Comm) *gpk.Array { return c.AllGather(x(2, 3), 7) }, gpk.ErrShape, "axis 7 of an array with 2 axes"},
		"its array": {func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3).MatMul(x(2, 3)), Sum) }, gpk.ErrShape, "MatMul"},
		"no type":   {func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3).Gt(0), Sum) }, gpk.ErrDType, "Sum of bool"},
		"no op":     {func(c *Comm) *gpk.Array { return c.AllReduce(x(2, 3), Op(99)) }, gpk.ErrUnsupported, "Op(99)"},
		"no array":  {func(c *Comm) *gpk.Array { return c.AllReduce(nil, Sum) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			local(t, 3, func(_ context.Context, c *Comm) error {
				call := usual
				if c.Rank() == 1 {
					call = test.other
				}
				err := call(c).Err()
				var re *RankError
				if !errors.As(err, &re) || re.Rank != 1 || re.Host == "" || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
					return fmt.Errorf("the error is %v", err)
				}
				var oe *gpk.OpError
				if !errors.As(err, &oe) || !strings.Contains(oe.Site, "errors_test.go") {
					return fmt.Errorf("%v does not name the line", err)
				}
				sum, err := gpk.ToSlice[float32](usual(c))
				if err != nil || sum[5] != 3 {
					return fmt.Errorf("afterwards: %v, %v", sum, err)
				}
				return nil
			})
		})
	}
}

// TestMessageErrors sends messages that the receiver does not expect.
func TestMessageErrors(t *testing.T) {
	local(t, 2, func(ctx context.Context, c *Comm) error {
		bad := gpk.Ones(gpk.Float32, 2).MatMul(gpk.Ones(gpk.Float32, 3))
		for _, send := range []*gpk.Array{gpk.Ones(gpk.Float32, 3), gpk.Ones(gpk.Int32, 2), bad} {
			if c.Rank() == 0 {
				if err := c.Send(ctx, send, 1); !errors.Is(err, send.Err()) {
					return fmt.Errorf("Send: %w", err)
				}
				continue
			}
			into := gpk.Zeros(gpk.Float32, 2)
			err := c.Recv(ctx, into, 0)
			var re *RankError
			want := gpk.ErrShape
			if send.DType() == gpk.Int32 {
				want = gpk.ErrDType
			}
			if !errors.Is(err, want) || !errors.As(err, &re) || re.Rank != 0 {
				return fmt.Errorf("Recv: %w", err)
			}
		}
		if err := c.Send(ctx, bad, 5); !errors.Is(err, gpk.ErrShape) {
			return fmt.Errorf("to rank 5: %w", err)
		}
		if err := c.Send(ctx, bad, c.Rank()); !errors.Is(err, gpk.ErrUnsupported) {
			return fmt.Errorf("to itself: %w", err)
		}
		return nil
	})
}

// TestFirstError has one rank return an error while the others wait for it in every function that
// waits.
func TestFirstError(t *testing.T) {
	cause := errors.New("no luck")
	for name, wait := range map[string]func(ctx context.Context, c *Comm) error{
		"AllReduce": func(_ context.Context, c *Comm) error { return c.AllReduce(gpk.Ones(gpk.Float32, 3), Sum).Err() },
		"Barrier":   func(ctx context.Context, c *Comm) error { return c.Barrier(ctx) },
		"Recv":      func(ctx context.Context, c *Comm) error { return c.Recv(ctx, gpk.Ones(gpk.Float32, 3), 2) },
		"Split":     func(ctx context.Context, c *Comm) error { _, err := c.Split(ctx, 0, 0); return err },
		"context":   func(ctx context.Context, _ *Comm) error { <-ctx.Done(); return context.Cause(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Local(cpu(t, 3)...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			run := func(ctx context.Context, c *Comm) error {
				if c.Rank() == 2 {
					return cause
				}
				err := wait(ctx, c)
				var re *RankError
				if !errors.As(err, &re) || re.Rank != 2 || !errors.Is(err, cause) {
					t.Errorf("rank %d: %v", c.Rank(), err)
				}
				return err
			}
			var re *RankError
			if err := g.Run(t.Context(), run); !errors.As(err, &re) || re.Rank != 2 || !errors.Is(err, cause) {
				t.Error(err)
			}
			if err := g.Run(t.Context(), run); !errors.Is(err, cause) {
				t.Errorf("a group that has failed runs: %v", err)
			}
		})
	}
}

// TestCancel cancels the context of one call, and that of Run, while ranks wait.
func TestCancel(t *testing.T) {
	g, err := Local(cpu(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		if c.Rank() == 1 {
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			return c.Recv(short, gpk.Ones(gpk.Float32, 1), 0)
		}
		return c.Barrier(ctx)
	})
	var re *RankError
	if !errors.As(err, &re) || re.Rank != 1 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one call: %v", err)
	}

	g, err = Local(cpu(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	err = g.Run(ctx, func(_ context.Context, c *Comm) error {
		if c.Rank() == 1 {
			cancel()
			return ctx.Err()
		}
		return c.AllReduce(gpk.Ones(gpk.Float32, 1), Sum).Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

// TestTooLarge gives every function an array, broadcast from one element, that no machine holds.
// All ranks get ErrOutOfMemory, and go on.
func TestTooLarge(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("NOT RUN: no size that an int of 32 bits holds exceeds the memory of a 64-bit machine")
	}
	usual := gpk.Ones(gpk.Float32, 2)
	for _, bits := range []int{40, 50, 58} {
		huge := func() *gpk.Array { return gpk.Ones(gpk.Float32, 1).BroadcastTo(1 << bits) }
		for name, f := range map[string]func(c *Comm, x *gpk.Array) *gpk.Array{
			"AllReduce":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllReduce(x, Sum) },
			"AllGather":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllGather(x, 0) },
			"ReduceScatter": func(c *Comm, x *gpk.Array) *gpk.Array { return c.ReduceScatter(x, Sum, 0) },
			"Broadcast":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.Broadcast(x, 0) },
			"AllToAll":      func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllToAll(x, 0) },
		} {
			local(t, 2, func(_ context.Context, c *Comm) error {
				x := usual
				if c.Rank() == 1 {
					x = huge()
				}
				var re *RankError
				if err := f(c, x).Err(); !errors.Is(err, gpk.ErrOutOfMemory) || !errors.As(err, &re) || re.Rank != 1 {
					return fmt.Errorf("%s of 2^%d elements: %w", name, bits, err)
				}
				return c.AllReduce(usual, Sum).Err()
			})
		}
		local(t, 2, func(ctx context.Context, c *Comm) error {
			var err error
			if c.Rank() == 1 {
				err = c.Send(ctx, huge(), 0)
			} else {
				err = c.Recv(ctx, gpk.Zeros(gpk.Float32, 2), 1)
			}
			if !errors.Is(err, gpk.ErrOutOfMemory) {
				return fmt.Errorf("a message of 2^%d elements: %w", bits, err)
			}
			return nil
		})
	}
}

// TestTooLargeHeading receives a heading that announces more bytes than the machine has. The group
// fails, since the payload cannot be received.
func TestTooLargeHeading(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("NOT RUN: no size that an int of 32 bits holds exceeds the memory of a 64-bit machine")
	}
	const bits = strconv.IntSize - 6
	g, err := Local(cpu(t, 2)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		if c.Rank() == 1 {
			_, err := c.sendMessage(ctx, 0, heading{Call: "Send", DType: "float32", Shape: []int{1 << bits}}, nil)
			return err
		}
		return c.Recv(ctx, gpk.Zeros(gpk.Float32, 2), 1)
	})
	if !errors.Is(err, gpk.ErrOutOfMemory) {
		t.Error(err)
	}
}
