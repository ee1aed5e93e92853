//go:build cgo && linux && (amd64 || arm64) && !nocuda

package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/submit/submittest"
)

// queuedGroup returns ranks on fake GPUs with launch queues, as if each rank was a process of its own.
func queuedGroup(t *testing.T, n int) *Group {
	t.Helper()
	fakeNCCL(t, ncclDevices.has)
	var devices []*device.Device
	for i := range n {
		devices = append(devices, devicetest.NewFakeQueued(device.Info{Name: "fake", Kind: device.CUDA, Index: i, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90)))
	}
	g, err := Local(devices...)
	if err != nil {
		t.Fatal(err)
	}
	separate(g)
	return g
}

// queuedCall is a call of a C function through a device's queue.
type queuedCall struct {
	d        *device.Device
	function uintptr
	word     uint64
}

func (queuedCall) Start(int, uint64) error { return errors.New("not through the queue") }

func (c queuedCall) Enqueue(int, uint64) (done bool, err error) {
	q := deviceapi.Queue(c.d)
	r := q.Next()
	r.Function, r.Args[0] = c.function, c.word
	q.Push()
	return true, nil
}

// failBehindGate makes the launch before the next call fail, once the gate is open.
func failBehindGate(c *Comm) error {
	submittest.Open(0)
	return errors.Join(enqueue(c, submittest.Gate, 1), enqueue(c, submittest.Answer, 7))
}

func enqueue(c *Comm, function uintptr, word uint64) error {
	return c.Device().LaunchWork(nil, nil, nil, queuedCall{c.Device(), function, word})
}

// connected returns an array, and makes a call of it that connects the ranks. Later ones are queued.
func connected(c *Comm) (*gpk.Array, error) {
	x := gpk.FromSlice([]float32{1, float32(c.Rank())}).To(c.Device())
	y := c.AllReduce(x, Sum)
	if err := y.Err(); err != nil {
		return nil, err
	}
	_, err := gpk.ToSlice[float32](y)
	return x, err
}

// TestQueuedCollectives makes every collective call many times without a wait between them, and frees operands and results before the
// queue has made the calls. All but the first of each kind go through the queue.
func TestQueuedCollectives(t *testing.T) {
	const n, rounds = 3, 200
	g := queuedGroup(t, n)
	err := g.Run(t.Context(), func(_ context.Context, c *Comm) error {
		me, q := float32(c.Rank()), deviceapi.Queue(c.Device())
		var last [5]*gpk.Array
		for i := range rounds {
			v := float32(i)
			x := gpk.FromSlice([]float32{v, v + me, 2 * me}).To(c.Device())
			for j, y := range []*gpk.Array{c.AllReduce(x, Sum), c.AllGather(x, 0), c.ReduceScatter(x, Sum, 0), c.Broadcast(x, i%n), c.AllToAll(x, 0)} {
				if err := y.Err(); err != nil {
					return err
				}
				if last[j] != nil {
					last[j].Free()
				}
				last[j] = y
			}
			x.Free()
		}
		v := float32(rounds - 1)
		from := float32((rounds - 1) % n)
		all := []float32{v, v, 0, v, v + 1, 2, v, v + 2, 4}
		for j, want := range [][]float32{
			{3 * v, 3*v + 3, 6},
			all,
			{[]float32{3 * v, 3*v + 3, 6}[c.Rank()]},
			{v, v + from, 2 * from},
			{all[c.Rank()], all[3+c.Rank()], all[6+c.Rank()]},
		} {
			if got, err := gpk.ToSlice[float32](last[j]); err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("rank %d, call %d: %v, want %v, %w", c.Rank(), j, got, want, err)
			}
		}
		if calls := q.Calls(); calls < 5*rounds-20 {
			return fmt.Errorf("%d calls went through the queue", calls)
		}
		return nil
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
}

// TestQueuedSkippedCall makes a launch fail on rank 0, so rank 0's queue skips the AllReduce behind it. It checks that Run
// then returns an error and does not hang, for several next steps of the program.
func TestQueuedSkippedCall(t *testing.T) {
	for name, next := range map[string]func(ctx context.Context, c *Comm, x, y *gpk.Array) error{
		"end":     func(context.Context, *Comm, *gpk.Array, *gpk.Array) error { return nil },
		"read":    func(_ context.Context, _ *Comm, _, y *gpk.Array) error { _, err := gpk.ToSlice[float32](y); return err },
		"barrier": func(ctx context.Context, c *Comm, _, _ *gpk.Array) error { return c.Barrier(ctx) },
		"split":   func(ctx context.Context, c *Comm, _, _ *gpk.Array) error { _, err := c.Split(ctx, 0, 0); return err },
		"call":    func(_ context.Context, c *Comm, x, _ *gpk.Array) error { return c.AllReduce(x, Sum).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			g := queuedGroup(t, 2)
			defer g.Close()
			begun := time.Now()
			err := g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
				x, err := connected(c)
				if err != nil {
					return err
				}
				if c.Rank() == 0 {
					if err := failBehindGate(c); err != nil {
						return err
					}
				}
				y := c.AllReduce(x, Sum)
				if c.Rank() == 0 {
					submittest.Open(1)
				}
				if err := y.Err(); err != nil {
					return err
				}
				return next(ctx, c, x, y)
			})
			var of *RankError
			if !errors.As(err, &of) && (err == nil || !strings.Contains(err.Error(), "queued")) {
				t.Errorf("Run returns %v", err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestQueuedReplay has a launch fail on rank 0 before a queued call, and then replays a captured call: it must not start
// there, since the other rank would take it for the one that was left out.
func TestQueuedReplay(t *testing.T) {
	g := queuedGroup(t, 2)
	defer g.Close()
	over := errors.New("rank 1 has nothing to replay")
	err := g.Run(t.Context(), func(_ context.Context, c *Comm) error {
		x, err := connected(c)
		if err != nil {
			return err
		}
		graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{c.AllReduce(in[0], Sum)} })
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := failBehindGate(c); err != nil {
				return err
			}
		}
		y := c.AllReduce(x, Sum)
		if err := y.Err(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			submittest.Open(1)
			if err := graph.Replay(); err == nil {
				t.Error("the captured call is replayed")
			}
		}
		return over
	})
	if err == nil {
		t.Error("no error")
	}
}

// TestQueuedSplitWaits splits a communicator that has a call in the queue, because NCCL splits only idle communicators.
func TestQueuedSplitWaits(t *testing.T) {
	g := queuedGroup(t, 2)
	submittest.Open(0)
	var opened atomic.Bool // set by the first rank that lets the queue continue
	err := g.Run(t.Context(), func(ctx context.Context, c *Comm) error {
		x, err := connected(c)
		if err != nil {
			return err
		}
		if err := enqueue(c, submittest.Gate, 1); err != nil {
			return err
		}
		y := c.AllReduce(x, Sum)
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(100 * time.Millisecond)
			opened.Store(true)
			submittest.Open(1)
		}()
		part, err := c.Split(ctx, 0, c.Rank())
		waited := opened.Load()
		<-done
		if err != nil || !waited {
			return fmt.Errorf("Split did not wait for the call: %v", err)
		}
		z := part.AllReduce(x, Sum)
		for _, a := range []*gpk.Array{y, z} {
			if got, err := gpk.ToSlice[float32](a); err != nil || !slices.Equal(got, []float32{2, 1}) {
				return fmt.Errorf("%v, %w", got, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, g.Close()); err != nil {
		t.Error(err)
	}
}
