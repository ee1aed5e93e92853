package batch_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/batch"
)

// Six callers, and one product of all their rows with a weight.
func Example() {
	ctx := context.Background()
	w := gpk.FromSlice([]float32{1, 1, 1, -1}, 2, 2)
	b := batch.New(func(_ context.Context, rows [][]float32) ([][]float32, error) {
		var all []float32
		for _, row := range rows {
			all = append(all, row...)
		}
		y, err := gpk.ToSlice[float32](gpk.FromSlice(all, len(rows), 2).MatMul(w))
		if err != nil {
			return nil, err
		}
		out := make([][]float32, len(rows))
		for i := range out {
			out[i] = y[2*i : 2*i+2]
		}
		fmt.Println("one product for", len(rows), "callers")
		return out, nil
	}, batch.Options{MaxItems: 6, Linger: time.Minute})

	var wg sync.WaitGroup
	answers := make([][]float32, 6)
	for i := range answers {
		wg.Go(func() {
			var err error
			if answers[i], err = b.Do(ctx, []float32{float32(i), 1}); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
	fmt.Println(answers)
	if err := b.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// one product for 6 callers
	// [[1 -1] [2 0] [3 1] [4 2] [5 3] [6 4]]
}

func ExampleMatMuls() {
	square := gpk.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	column := gpk.FromSlice([]float32{1, 1}, 2, 1)
	long := gpk.FromSlice([]float32{1, 1, 1})
	for _, c := range batch.MatMuls([]*gpk.Array{square, square, square, column}, []*gpk.Array{square, column, long, column.T()}) {
		if err := c.Err(); err != nil {
			fmt.Println("an error of this item alone")
			continue
		}
		v, err := gpk.ToSlice[float32](c)
		fmt.Println(c.Shape(), v, err)
	}
	// Output:
	// [2 2] [7 10 15 22] <nil>
	// [2 1] [3 7] <nil>
	// an error of this item alone
	// [2 2] [1 1 1 1] <nil>
}

func ExampleSizeFor() {
	const mb = 1_000_000
	fmt.Println(batch.SizeFor(1000*mb, 0.2, 10*mb, 64, 32))
	fmt.Println(batch.SizeFor(1000*mb, 0.2, 10*mb, 5, 32))
	fmt.Println(batch.SizeFor(15*mb, 0.2, 10*mb, 64, 32))
	// Output:
	// 32
	// 5
	// 1
}
