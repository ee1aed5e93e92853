package worker

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// cpu returns the CPU: the tests here need a stream and no kernels. Package gpktest has
// those of state on the device under test.
func cpu(t testing.TB) *device.Device {
	t.Helper()
	d := devicetest.CPU(t)
	return d
}

// active returns a Worker that is Active, and terminates it at the test's end.
func active[In, Out any](t testing.TB, handle func(*Context, In) (Out, error), o Options) *Worker[In, Out] {
	t.Helper()
	w := launched(t, handle, o)
	if err := w.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// asked sends the questions 0 … n-1, in order, each from a goroutine of its own that sends the error of its answer.
func asked[Out any](t *testing.T, w *Worker[int, Out], n int) <-chan error {
	t.Helper()
	answers := make(chan error, n)
	for i := range n {
		go func() {
			_, err := w.Ask(t.Context(), i)
			answers <- err
		}()
		synctest.Wait()
	}
	return answers
}

// launched returns a Worker that is Idle, and terminates it at the test's end.
func launched[In, Out any](t testing.TB, handle func(*Context, In) (Out, error), o Options) *Worker[In, Out] {
	t.Helper()
	o.Device = cpu(t)
	w := New(t.Name(), handle, o)
	if err := w.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Terminate(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// onFakeTime runs a test on fake time, with the device opened before it.
func onFakeTime(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	cpu(t)
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// noGoroutines fails if more goroutines than before are there after a while.
func noGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// send sends the messages from 0 to n-1.
func send[Out any](t *testing.T, w *Worker[int, Out], n int) {
	t.Helper()
	for i := range n {
		if err := w.Send(t.Context(), i, Normal); err != nil {
			t.Error(err)
		}
	}
}

// balance checks that Telemetry's Received is the sum of its parts; busy are messages that
// are being handled or whose senders are blocked.
func balance[In, Out any](t *testing.T, w *Worker[In, Out], busy uint64) Telemetry {
	t.Helper()
	n := w.Telemetry()
	if sum := n.Handled + n.Failed + n.Panicked + n.Dropped.Total() + uint64(n.Queued.Total()) + busy; sum != n.Received {
		t.Errorf("%d messages are accounted for of %+v", sum, n)
	}
	return n
}

// gate is a handler that notes its messages and waits before each until it is opened.
type gate struct {
	open chan struct{}
	seen []int
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) handle(c *Context, in int) (int, error) {
	select {
	case <-g.open:
	case <-c.Context().Done():
		return 0, context.Cause(c.Context())
	}
	g.seen = append(g.seen, in)
	return in, nil
}
