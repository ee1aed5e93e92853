package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/worker"
)

// A worker that keeps a running sum on its device.
func Example() {
	ctx := context.Background()
	w := worker.New("sum", func(c *worker.Context, x []float32) ([]float32, error) {
		sum := c.Value().(*gpk.Array)
		if err := sum.AddInPlace(c.Scope().Own(gpk.FromSlice(x))); err != nil {
			return nil, err
		}
		return gpk.ToSlice[float32](sum)
	}, worker.Options{Queue: 64, Policy: worker.Reject, Setup: func(c *worker.Context) error {
		sum := c.Hold(gpk.Zeros(gpk.Float32, 3))
		c.SetValue(sum)
		return sum.Err()
	}})
	if err := errors.Join(w.Launch(ctx), w.Activate(ctx)); err != nil {
		log.Fatal(err)
	}
	if err := w.Send(ctx, []float32{1, 2, 3}, worker.High); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Ask(ctx, []float32{10, 20, 30}))
	fmt.Println(w.Drain(ctx), w.State(), w.Telemetry().Handled)
	// Output:
	// [11 22 33] <nil>
	// <nil> terminated 2
}

// Messages overtake those of lower bands.
func ExampleWorker_Send() {
	ctx := context.Background()
	w := worker.New("printer", func(_ *worker.Context, s string) (struct{}, error) {
		fmt.Println(s)
		return struct{}{}, nil
	}, worker.Options{})
	if err := w.Launch(ctx); err != nil {
		log.Fatal(err)
	}
	err := errors.Join( // they wait until Activate
		w.Send(ctx, "a report", 50),
		w.Send(ctx, "an alarm", 200),
		w.Send(ctx, "a request", 100),
		w.Activate(ctx),
		w.Drain(ctx),
	)
	fmt.Println(err)
	// Output:
	// an alarm
	// a request
	// a report
	// <nil>
}

// A transition that is not in the table is an error.
func ExampleStateError() {
	w := worker.New("w", func(_ *worker.Context, x int) (int, error) { return x, nil }, worker.Options{})
	fmt.Println(w.Activate(context.Background()))
	// Output:
	// worker "w": no transition from created to active; call Launch first, then Activate
}
