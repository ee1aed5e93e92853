package gpktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/serve/worker"
)

// moments is a worker's state: the number of readings, and their running mean and sum of squared
// deviations, [channels] on the device.
type moments struct {
	n         int
	mean, dev *gpk.Array
}

// add adds readings, [n, channels], by Chan, Golub and LeVeque, Updating Formulae and a
// Pairwise Algorithm for Computing Sample Variances (1979), and returns the variance.
func (m *moments) add(c *worker.Context, readings tensor) (*gpk.Array, error) {
	x := c.Scope().Own(readings.array().On(c.Stream()))
	n, all := readings.shape[0], m.n+readings.shape[0]
	mean := x.Mean(0)
	delta := mean.Sub(m.mean)
	dev := m.dev.Add(x.Sub(mean).Square().Sum(0)).Add(delta.Square().Mul(float64(m.n) * float64(n) / float64(all)))
	if err := gpk.Eval(delta, dev); err != nil {
		return nil, err
	}
	err := errors.Join(m.dev.CopyFrom(dev), m.mean.AddInPlace(delta.Mul(float64(n)/float64(all))))
	m.n = all
	if len(readings.shape) == 3 {
		panic("too many axes")
	}
	return c.Scope().Keep(c.Scope().In(m.dev).Div(all)), err
}

const channels = 33

// statistician makes a Worker that answers readings with the variance of all readings so far. If a
// reading has an axis too many, it panics while it writes its state.
func (s *suite) statistician(t *testing.T, o worker.Options) *worker.Worker[tensor, *gpk.Array] {
	o.Device = s.dev
	o.Setup = func(c *worker.Context) error {
		m := &moments{mean: c.Hold(gpk.Zeros(gpk.Float64, channels)), dev: c.Hold(gpk.Zeros(gpk.Float64, channels))}
		c.SetValue(m)
		if m.mean.Stream() != c.Stream() || c.Stream().Device() != s.dev {
			t.Error("the state is not on the worker's stream")
		}
		return gpk.Eval(m.mean, m.dev)
	}
	w := worker.New("statistician", func(c *worker.Context, in tensor) (*gpk.Array, error) {
		return c.Value().(*moments).add(c, in)
	}, o)
	noError(t, w.Launch(t.Context()))
	t.Cleanup(func() { noError(t, w.Terminate(context.Background())) })
	noError(t, w.Activate(t.Context()))
	return w
}

// testWorker runs a worker that keeps state on the device, and checks which memory remains after
// it.
func testWorker(t *testing.T, s *suite) {
	settle(t, s)
	goroutines, before := runtime.NumGoroutine(), s.dev.Pool().InUse
	t.Run("State", func(t *testing.T) { testWorkerState(t, s) })
	t.Run("Restart", func(t *testing.T) { testWorkerRestart(t, s) })
	t.Run("Hold", func(t *testing.T) { testWorkerHold(t, s) })
	settle(t, s)
	if now := s.dev.Pool().InUse; now > before {
		t.Errorf("%d bytes are in use after the workers, %d before", now, before)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// atMost waits until at most the given number of bytes is in use. It forces no garbage collection: the
// memory of arrays that a collection has found may take a moment to return.
func (s *suite) atMost(t *testing.T, bytes int64, when string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.dev.Pool().InUse > bytes; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are in use %s, want %d at most", s.dev.Pool().InUse, when, bytes)
		}
	}
}

// ask asks the Worker and compares the answer with the variance of all rows.
func (s *suite) ask(t *testing.T, w *worker.Worker[tensor, *gpk.Array], in tensor, rows *[]complex128) {
	t.Helper()
	*rows = append(*rows, in.values...)
	out, err := w.Ask(t.Context(), in)
	noError(t, err)
	got, n := read(t, out), float64(len(*rows)/channels)
	out.Free()
	for j, v := range got.values {
		var mean, square float64
		for i := j; i < len(*rows); i += channels {
			mean += real((*rows)[i]) / n
		}
		for i := j; i < len(*rows); i += channels {
			square += (real((*rows)[i]) - mean) * (real((*rows)[i]) - mean) / n
		}
		if math.Abs(real(v)-square) > 1e-13*(1+square) {
			t.Fatalf("the variance of channel %d of %v readings is %v, want %v", j, n, real(v), square)
		}
	}
}

func testWorkerState(t *testing.T, s *suite) {
	w := s.statistician(t, worker.Options{})
	state := s.dev.Pool().InUse
	for range 3 {
		var rows []complex128
		for range 10 {
			s.ask(t, w, s.random(gpk.Float64, 1+s.rng.IntN(40), channels), &rows)
			s.atMost(t, state, "after a message")
		}
		noError(t, w.Deactivate(t.Context()))
		s.atMost(t, state-1, "after Deactivate")
		noError(t, w.Activate(t.Context())) // the statistics begin again
	}
	noError(t, w.Drain(t.Context()))
	s.atMost(t, state-1, "after Drain")
}

// testWorkerRestart makes the handler panic after it has written the state.
func testWorkerRestart(t *testing.T, s *suite) {
	w := s.statistician(t, worker.Options{Restarts: 1})
	state := s.dev.Pool().InUse
	for i := range 2 {
		var rows []complex128
		for range 3 {
			s.ask(t, w, s.random(gpk.Float64, 20, channels), &rows)
		}
		bad := s.random(gpk.Float64, 20, channels)
		bad.shape = []int{20, channels, 1}
		var p *worker.PanicError
		if _, err := w.Ask(t.Context(), bad); !errors.As(err, &p) {
			t.Errorf("panic %d: %v", i, err)
		}
	}
	if w.State() != worker.Failed || w.Telemetry().Restarts != 1 {
		t.Errorf("%v after %d restarts", w.State(), w.Telemetry().Restarts)
	}
	noError(t, w.Terminate(context.Background())) // waits until the failed Worker has freed everything
	s.atMost(t, state-1, "after the failure")
}

// testWorkerHold checks which arrays become a Worker's state.
func testWorkerHold(t *testing.T, s *suite) {
	foreign := gpk.NewScope()
	theirs := foreign.Own(gpk.Ones(gpk.Float32, 3))
	type answer struct {
		computed, held, own, kept *gpk.Array
		stream                    *device.Stream
	}
	w := worker.New("holder", func(c *worker.Context, in *gpk.Array) (answer, error) {
		var a answer
		x := c.Scope().In(in)
		a.computed, a.stream = x.Add(1), c.Stream()
		a.kept = c.Scope().Keep(x.On(c.Stream()).Mul(3))
		a.held = c.Hold(x.Mul(2)) // it was the message's
		a.own = c.Hold(a.held)    // it is the Worker's already
		if err := c.Hold(theirs).Err(); err != nil {
			return a, fmt.Errorf("an array of another scope: %w", err)
		}
		if err := c.Hold(nil).Err(); err == nil {
			return a, errors.New("no error of a nil Array")
		}
		return a, errors.Join(gpk.Eval(a.held), c.Hold(gpk.Zeros(gpk.Float32, 3)).Err())
	}, worker.Options{Device: s.dev})
	noError(t, w.Launch(t.Context()))
	noError(t, w.Activate(t.Context()))
	x := s.random(gpk.Float32, 10, 10)
	a, err := w.Ask(t.Context(), x.array())
	noError(t, err)
	if _, err := fetch(a.computed); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("what a message computed: %v", err)
	}
	for _, h := range []*gpk.Array{a.held, a.own} {
		got := read(t, h)
		for i, v := range got.values {
			if v != 2*x.values[i] {
				t.Fatalf("element %d is %v, want %v", i, v, 2*x.values[i])
			}
		}
	}
	noError(t, w.Deactivate(t.Context()))
	if _, err := fetch(a.held); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("the state after Deactivate: %v", err)
	}
	if _, err := fetch(theirs); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("the state that was another scope's, after Deactivate: %v", err)
	}
	noError(t, foreign.Close())
	noError(t, w.Drain(t.Context()))
	if err := a.stream.Synchronize(t.Context()); !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("the stream after Drain: %v", err)
	}
	for i, v := range read(t, a.kept).values { // an answer outlives its worker
		if v != complex(float64(3*float32(real(x.values[i]))), 0) {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}
