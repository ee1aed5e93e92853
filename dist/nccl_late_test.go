package dist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/nccl"
)

// TestNCCLDeferred has the operand of rank 1 carry an error that is not known when the ranks compare their
// calls, as that of a GPU's Take. All ranks get it.
func TestNCCLDeferred(t *testing.T) {
	log := fakeNCCL(t, every)
	g, err := Local(cpu(t, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	outside := fmt.Errorf("%w: index 7 of 4", gpk.ErrShape)
	errs := make([]error, 3)
	err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		if errs[c.Rank()] = c.Barrier(ctx); errs[c.Rank()] != nil { // all ranks are in Run
			return errs[c.Rank()]
		}
		x := gpk.FromSlice([]float32{1, 2})
		if c.Rank() == 1 {
			b, err := x.Buffer()
			if err != nil {
				return err
			}
			b.State().Attach(deferred.New(func() (found, failed error) { return outside, nil }, func(*deferred.Error) {}))
		}
		_, errs[c.Rank()] = gpk.ToSlice[float32](c.AllReduce(x, Sum))
		return nil
	})
	for r, err := range append(errs, err) {
		if e, ok := errors.AsType[*RankError](err); !ok || e.Rank != 1 || !errors.Is(err, gpk.ErrShape) || strings.Count(err.Error(), "index 7") != 1 {
			t.Errorf("error %d: %v", r, err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	ended(t, log, "abort")
}

// TestNCCLNotedLate checks that work that was enqueued before the group failed, and is recorded after that, fails, even
// if a batch from before the failure is open.
func TestNCCLNotedLate(t *testing.T) {
	fakeNCCL(t, every)
	lost := &RankError{1, "", ErrDisconnected}
	err := onNCCL(t, 2, func(_ context.Context, c *Comm) error {
		s := c.Device().DefaultStream()
		var results [2]*device.Buffer
		for i := range results {
			b, err := c.Device().Alloc(4, s)
			if err != nil {
				return err
			}
			if results[i] = b; i == 1 {
				c.gpu.mu.Lock()
				c.gpu.failure = lost
				c.gpu.mu.Unlock()
			}
			if err := c.gpu.note(s, b); err != nil {
				return err
			}
		}
		c.gpu.mu.Lock()
		c.gpu.failure = nil
		c.gpu.mu.Unlock()
		if err := results[0].State().Settled(); err != nil {
			return fmt.Errorf("before: %w", err)
		}
		if err := results[1].State().Settled(); !errors.Is(err, ErrDisconnected) {
			return fmt.Errorf("behind: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestShortText exchanges texts of NCCL that JSON makes longer.
func TestShortText(t *testing.T) {
	local(t, 2, func(ctx context.Context, c *Comm) error {
		for i, s := range []string{"", "short", strings.Repeat("é", 5000), strings.Repeat("\x01", 1000), strings.Repeat("<", 5000)} {
			all, err := exchange(ctx, c.r.node, fmt.Sprint("text", i), offer{GPU: true, Why: shortText(errors.New(s))})
			if err != nil || len(all[1].Why) < min(len(s), 200) || len(s) < 200 && all[1].Why != s {
				return fmt.Errorf("%d: %v, %w", i, all, err)
			}
		}
		return nil
	})
}

// TestAwaitAbandoned checks that a communicator that is created after its caller has given up is aborted.
func TestAwaitAbandoned(t *testing.T) {
	log := fakeNCCL(t, every)
	g, err := Local(cpu(t, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	id, err := nccl.NewID()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun, late := make(chan struct{}), make(chan struct{})
	go func() { <-begun; cancel() }()
	comm, err := await(ctx, g.ranks[0].node, func() (*nccl.Comm, error) {
		close(begun)
		<-late
		return nccl.Init(0, 1, id, 0)
	})
	if comm != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", comm, err)
	}
	close(late)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if text, _ := os.ReadFile(log); strings.Contains(string(text), "abort") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the communicator is not aborted")
		}
	}
	ended(t, log, "abort")
}

// TestNCCLStrided has the copy of a strided operand fail on rank 1. Both ranks get its error, and rank 0 has begun no call of
// NCCL, which would wait for rank 1.
func TestNCCLStrided(t *testing.T) {
	fakeNCCL(t, ncclDevices.has)
	refused := errors.New("the copy is refused")
	for name, call := range map[string]func(c *Comm, x *gpk.Array) *gpk.Array{
		"AllReduce":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllReduce(x.Transpose(), Sum) },
		"AllGather":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllGather(x, 1) },
		"ReduceScatter": func(c *Comm, x *gpk.Array) *gpk.Array { return c.ReduceScatter(x, Max, 1) },
		"Broadcast":     func(c *Comm, x *gpk.Array) *gpk.Array { return c.Broadcast(x.Transpose(), 0) },
		"AllToAll":      func(c *Comm, x *gpk.Array) *gpk.Array { return c.AllToAll(x, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			devices := fakeGPUs(t, 2)
			g, err := Local(devices...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			var launches [2]int
			errs := make([]error, 2)
			_ = g.Run(t.Context(), func(_ context.Context, c *Comm) error {
				x := gpk.FromSlice([]float32{1, 2, 3, 4}).Reshape(2, 2).To(c.Device())
				if err := gpk.Eval(x); err != nil {
					return err
				}
				if c.Rank() == 0 {
					x = x.Transpose() // which the call transposes back
				}
				devicetest.FailLaunches(c.Device(), func() error {
					if launches[c.Rank()]++; c.Rank() == 1 {
						return refused
					}
					return nil
				})
				errs[c.Rank()] = call(c, x).Err()
				devicetest.FailLaunches(c.Device(), nil)
				return nil
			})
			if launches != [2]int{0, 1} {
				t.Errorf("launches %v, want only the copy of rank 1", launches)
			}
			for r, err := range errs {
				if e, ok := errors.AsType[*RankError](err); !ok || e.Rank != 1 || !strings.Contains(err.Error(), refused.Error()) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}
