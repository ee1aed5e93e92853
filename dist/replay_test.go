package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// captureSum captures the mean of sums of x. The fake library reduces during the capture; the results of Replay are
// tested on GPUs.
func captureSum(c *Comm, x *gpk.Array) (*gpk.Graph, error) {
	return gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{c.AllReduce(c.AllReduce(in[0], Sum), Mean)}
	})
}

// TestNCCLCaptured captures collective functions, and replays the sequence between other calls. The Run frees it.
func TestNCCLCaptured(t *testing.T) {
	log := fakeNCCL(t, ncclDevices.has)
	g, err := Local(fakeGPUs(t, 2)...)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var kept [2]*gpk.Graph
	err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		x := gpk.FromSlice([]float32{1}).To(c.Device())
		for number := 1; number <= 2; number++ {
			graph, err := captureSum(c, x)
			if err != nil {
				return err
			}
			kept[c.Rank()] = graph
			for range 3 {
				if err := graph.Replay(); err != nil {
					return err
				}
				if got, err := gpk.Item[float32](c.AllReduce(x, Sum)); err != nil || got != 2 {
					return fmt.Errorf("between replays: %v, %w", got, err)
				}
			}
			if c.sequences != number {
				return fmt.Errorf("%d sequences", c.sequences)
			}
			if _, err := gpk.ToSlice[float32](graph.Outputs()[0]); err != nil {
				return err
			}
			if number == 1 {
				graph.Free()
			}
			if n := len(c.gpu.list); n != number-1 {
				return fmt.Errorf("%d graphs are kept", n)
			}
		}
		_, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
			if err := c.Send(ctx, in[0], 1-c.Rank()); !errors.Is(err, gpk.ErrUnsupported) {
				t.Errorf("Send in a sequence: %v", err)
			}
			return in
		})
		return err
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
	for _, graph := range kept {
		if err := graph.Replay(); !errors.Is(err, device.ErrFreed) {
			t.Errorf("a Replay after the Run: %v", err)
		}
	}
	ended(t, log, "destroy")
}

// TestNCCLReplayDifferent has rank 1 replay another number of times, capture another sequence, or replay one whose
// input is freed. All ranks get an error that names it.
func TestNCCLReplayDifferent(t *testing.T) {
	for _, f := range []struct {
		name  string
		rank1 func(c *Comm, x *gpk.Array, graph *gpk.Graph) error
		want  error
		says  string
	}{
		{"no replay", func(*Comm, *gpk.Array, *gpk.Graph) error { return nil }, gpk.ErrUnsupported, "it calls the end of Run, rank 0 calls Replay (captured sequence 1)"},
		{"a call", func(c *Comm, x *gpk.Array, _ *gpk.Graph) error { return c.AllReduce(x, Sum).Err() }, gpk.ErrUnsupported, "AllReduce"},
		{"another sequence", func(c *Comm, x *gpk.Array, _ *gpk.Graph) error { _, err := captureSum(c, x); return err }, gpk.ErrUnsupported, "it calls AllReduce(Sum) (captured sequence 2) of [1] float32, rank 0 calls Replay"},
		{"freed", func(_ *Comm, x *gpk.Array, graph *gpk.Graph) error { x.Free(); return graph.Replay() }, gpk.ErrFreed, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			fakeNCCL(t, ncclDevices.has)
			g, err := Local(fakeGPUs(t, 3)...)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			err = g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
				x := gpk.FromSlice([]float32{1}).To(c.Device())
				graph, err := captureSum(c, x)
				if err != nil {
					return err
				}
				if c.Rank() == 1 {
					return f.rank1(c, x, graph)
				}
				if err := graph.Replay(); err != nil {
					if errors.Is(err, errReplayed) {
						t.Errorf("rank %d: the Run has not ended: %v", c.Rank(), err)
					}
					return err
				}
				return c.Barrier(ctx)
			})
			e, ok := errors.AsType[*RankError](err)
			if !ok || e.Rank != 1 || !errors.Is(err, f.want) || !strings.Contains(err.Error(), f.says) {
				t.Error(err)
			}
		})
	}
}

// TestCapturedWithoutNCCL checks that a captured sequence refuses collective functions whose data moves through the
// host, and that the ranks can continue.
func TestCapturedWithoutNCCL(t *testing.T) {
	local(t, 2, func(_ context.Context, c *Comm) error {
		x := gpk.FromSlice([]float32{1})
		_, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{c.AllReduce(in[0], Sum)} })
		if !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "captured") {
			return fmt.Errorf("in a captured sequence: %w", err)
		}
		if got, err := gpk.Item[float32](c.AllReduce(x, Sum)); err != nil || got != 2 {
			return fmt.Errorf("after it: %v, %w", got, err)
		}
		return nil
	})
}
