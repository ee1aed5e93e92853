// Command stream_pipeline feeds batches of sensor readings to a worker that keeps their
// running mean and variance on the device, and asks it how many readings are outliers.
//
//	go run ./examples/stream_pipeline
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/worker"
)

const sensors, rate = 1000, 0.1

// state lives on the device from Activate to Drain: exponential moving averages of the
// readings and of their squared deviations, [sensors].
type state struct{ mean, variance *gpk.Array }

func setup(c *worker.Context) error {
	s := state{c.Hold(gpk.Zeros(gpk.Float32, sensors)), c.Hold(gpk.Ones(gpk.Float32, sensors))}
	c.SetValue(s)
	return gpk.Eval(s.mean, s.variance)
}

// track moves the averages towards readings, [n, sensors], and returns how many of these
// are more than five standard deviations from the mean.
func track(c *worker.Context, readings []float32) (int64, error) {
	s := c.Value().(state)
	x := c.Scope().Own(gpk.FromSlice(readings, len(readings)/sensors, sensors).On(c.Stream()))
	squares := x.Sub(s.mean).Square()
	outliers, err := gpk.Item[int64](squares.Gt(s.variance.Mul(25)).Sum())
	return outliers, errors.Join(err,
		s.variance.AddInPlace(squares.Mean(0).Sub(s.variance).Mul(rate)),
		s.mean.AddInPlace(x.Mean(0).Sub(s.mean).Mul(rate)))
}

// reading is what a sensor says at a time: around 20, from 19 to 21.
func reading(sensor, at int) float32 { return 19 + 2*float32((sensor*7919+at*104729)%1001)/1000 }

func run(ctx context.Context) error {
	w := worker.New("readings", track, worker.Options{Queue: 16, Setup: setup})
	if err := errors.Join(w.Launch(ctx), w.Activate(ctx)); err != nil {
		return err
	}
	defer func() { _ = w.Terminate(ctx) }() // where something fails before Drain
	batch := make([]float32, 8*sensors)
	for b := range 101 {
		for i := range batch {
			batch[i] = reading(i%sensors, 8*b+i/sensors)
		}
		if b == 100 { // three sensors fail
			batch[17], batch[1234], batch[7999] = 90, -40, 60
		}
		if b%50 > 0 {
			if err := w.Send(ctx, slices.Clone(batch), worker.Normal); err != nil {
				return err
			}
			continue
		}
		n, err := w.Ask(ctx, batch)
		if err != nil {
			return err
		}
		fmt.Printf("batch %d: %d outliers\n", b, n)
	}
	return w.Drain(ctx)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
