// Package servetest provides a batcher, a worker, work for both, and a source for monitors, for the
// tests of packages that report on them.
package servetest

import (
	"context"
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/serve/batch"
	"github.com/gpk-go/gpk/serve/monitor"
	"github.com/gpk-go/gpk/serve/worker"
)

// NewBatcher returns a Batcher whose outputs are its items.
func NewBatcher() *batch.Batcher[int, int] {
	return batch.New(func(_ context.Context, in []int) ([]int, error) { return in, nil }, batch.Options{MaxItems: 8})
}

// RunBatcher computes three items, one after the other, and closes b.
func RunBatcher(t *testing.T, b *batch.Batcher[int, int]) {
	t.Helper()
	for i := range 3 {
		if _, err := b.Do(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Stats implements the interface of a Batcher with constant counters.
type Stats batch.Stats

// Stats returns the counters.
func (s Stats) Stats() batch.Stats { return batch.Stats(s) }

// Counts has a nonzero value in every counter.
var Counts = Stats{
	Accepted: 21, Rejected: 2, Left: 3, Dropped: 4, Done: 5, Failed: 1, Queued: 7, Running: 1,
	Sizes:     batch.Histogram{Bounds: []float64{1, 2, 4}, Counts: []uint64{1, 0, 2, 0}, Sum: 9},
	Waiting:   batch.Histogram{Bounds: []float64{0.5, 1}, Counts: []uint64{4, 3, 2}, Sum: 12.5},
	Computing: batch.Histogram{Bounds: []float64{0.25}, Counts: []uint64{1, 1}, Sum: 2},
}

// NewWorker returns a Worker on the CPU. It answers a message with the message itself, and fails for
// a negative one.
func NewWorker(t *testing.T) *worker.Worker[int, int] {
	t.Helper()
	return worker.New("w", func(_ *worker.Context, in int) (int, error) {
		if in < 0 {
			return 0, errors.New("negative")
		}
		return in, nil
	}, worker.Options{Device: devicetest.CPU(t)})
}

// RunWorker starts w, sends it two messages and a third that fails, and drains it.
func RunWorker(t *testing.T, w *worker.Worker[int, int]) {
	t.Helper()
	if err := errors.Join(w.Launch(t.Context()), w.Activate(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, in := range []int{1, 2, -3} {
		if _, err := w.Ask(t.Context(), in); (err != nil) != (in < 0) {
			t.Error(err)
		}
	}
	if err := w.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// Source is a source for a Monitor with constant figures.
type Source monitor.Memory

// Memory returns the figures.
func (s Source) Memory() (monitor.Memory, error) { return monitor.Memory(s), nil }

// Trim does nothing.
func (Source) Trim() error { return nil }

// Collect does nothing.
func (Source) Collect() {}

// Buffers returns 0.
func (Source) Buffers() uint64 { return 0 }

// LiveBuffers returns none.
func (Source) LiveBuffers(uint64) []device.LiveBuffer { return nil }
