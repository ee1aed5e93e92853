// Command service answers many goroutines at once: requests that arrive together are one
// product on the device.
//
//	go run ./examples/service
//
// Output:
//
//	200 requests answered, all right, in fewer batches than requests
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/batch"
)

const in, out, requests = 256, 16, 200

// layer returns a function that applies a linear layer with ReLU to rows of in numbers.
func layer(w, bias *gpk.Array) func(context.Context, [][]float32) ([][]float32, error) {
	return func(_ context.Context, rows [][]float32) ([][]float32, error) {
		all := make([]float32, 0, len(rows)*in)
		for _, row := range rows {
			all = append(all, row...)
		}
		y, err := gpk.ToSlice[float32](gpk.LinearBiasReLU(gpk.FromSlice(all, len(rows), in), w, bias))
		if err != nil {
			return nil, err
		}
		answers := make([][]float32, len(rows))
		for i := range answers {
			answers[i] = y[i*out : (i+1)*out]
		}
		return answers, nil
	}
}

func run(ctx context.Context) error {
	w, bias := gpk.Ones(gpk.Float32, out, in), gpk.Zeros(gpk.Float32, out)
	b := batch.New(layer(w, bias), batch.Options{MaxItems: 64, Linger: time.Millisecond})
	errs := make([]error, requests)
	var wg sync.WaitGroup
	for i := range requests {
		wg.Go(func() {
			row := make([]float32, in)
			row[i] = float32(i) // the answer is i, out times
			answer, err := b.Do(ctx, row)
			if err == nil && (len(answer) != out || answer[out-1] != float32(i)) {
				err = fmt.Errorf("request %d: the answer is %v", i, answer)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, b.Close(ctx))...); err != nil {
		return err
	}
	if n := b.Stats().Sizes.Count(); n >= requests {
		return fmt.Errorf("%d batches", n)
	}
	fmt.Println(requests, "requests answered, all right, in fewer batches than requests")
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
