// Distributed_gram computes a quantum kernel matrix on as many ranks as a launcher starts: each
// rank computes some of its rows, and all ranks get the whole matrix. The same program runs
// alone, under torchrun, mpirun and srun, and as an indexed Job of Kubernetes
// (docs/cluster.md), and prints the same everywhere:
//
//	go build ./examples/distributed_gram && mpirun -n 4 ./distributed_gram
//
// Output:
//
//	240 samples, K [240 240], trace 240.000, mean 0.0286
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/quantum"
)

func main() {
	samples := flag.Int("samples", 240, "number of samples, a multiple of the number of ranks")
	flag.Parse()
	ctx := context.Background()
	g, err := dist.Join(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = g.Run(ctx, func(ctx context.Context, c *dist.Comm) error { return gram(ctx, c, *samples) })
	if closeErr := g.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		log.Fatal(err)
	}
}

// gram computes the rows of this rank, and gathers those of all ranks.
func gram(ctx context.Context, c *dist.Comm, n int) error {
	// Every rank draws all samples: the same seed gives the same bits everywhere.
	x := gpk.NewRNG(1).Uniform(gpk.Float32, 0, 1, n, 6).To(c.Device())
	part := n / c.Size()
	mine := x.Slice(0, c.Rank()*part, (c.Rank()+1)*part)
	rows, err := quantum.Gram(ctx, quantum.ZZFeatureMap(6, 2), mine, x, quantum.Options{})
	if err != nil {
		return err
	}
	k := c.AllGather(rows.K, 0)
	mean, err := gpk.Item[float32](k.Cast(gpk.Float32).Mean())
	if err != nil || c.Rank() > 0 {
		return err
	}
	trace, err := gpk.Item[float32](k.Cast(gpk.Float32).Mul(gpk.Eye(gpk.Float32, n).To(c.Device())).Sum())
	fmt.Printf("%d samples, K %v, trace %.3f, mean %.4f\n", n, k.Shape(), trace, mean)
	return err
}
