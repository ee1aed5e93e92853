// Package servetest has a batcher, a worker and a monitor's source, and work for the first two,
// for the tests of the packages that report on them.
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

// NewBatcher returns a Batcher that returns its items.
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

// NewWorker returns a Worker on the CPU. It answers a message with the message itself, and a negative
// one with an error.
func NewWorker(t *testing.T) *worker.Worker[int, int] {
	t.Helper()
	cpu := devicetest.CPU(t)
	return worker.New("w", func(_ *worker.Context, in int) (int, error) {
		if in < 0 {
			return 0, errors.New("negative")
		}
		return in, nil
	}, worker.Options{Device: cpu})
}

// RunWorker starts w, sends it two messages and a third at which it fails, and drains it.
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

// Source is a source of a Monitor that always has the same figures.
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
