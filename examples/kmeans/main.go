// Command kmeans finds the centres of clusters by Lloyd's algorithm.
//
//	go run ./examples/kmeans
//
// Output:
//
//	16 clusters, of 500 to 500 points each
//	no centre is farther than 0.1 from its true one
package main

import (
	"errors"
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
)

const clusters, points, dim, iterations = 16, 8000, 32, 10

// kmeans returns the centres [clusters, dim] of x [points, dim] and the number of points of
// each. The first points are the first centres.
func kmeans(x *gpk.Array) (centres, counts *gpk.Array) {
	centres = x.Slice(0, 0, clusters)
	labels := gpk.Arange(gpk.Int64, clusters)
	for range iterations {
		// |x - c|^2 without |x|^2, which is the same for all centres.
		distances := centres.Square().Sum(1).Sub(x.MatMul(centres.T()).Mul(2))
		nearest := distances.ArgMin(1)
		member := nearest.Unsqueeze(1).Eq(labels).Cast(x.DType()) // 1 if a point belongs to a centre
		counts = member.Sum(0)
		centres = member.T().MatMul(x, gpk.FullPrecision).Div(counts.Unsqueeze(1))
	}
	return centres, counts
}

func main() {
	rng := gpk.NewRNG(1)
	truth := rng.Uniform(gpk.Float32, -10, 10, clusters, dim)
	noise := rng.Normal(gpk.Float32, 0, 0.5, points/clusters, clusters, dim)
	x := truth.Add(noise).Reshape(points, dim)

	centres, counts := kmeans(x)
	least, err1 := gpk.Item[float32](counts.Min())
	most, err2 := gpk.Item[float32](counts.Max())
	fmt.Printf("%d clusters, of %v to %v points each\n", clusters, least, most)
	far, err3 := gpk.Item[float32](centres.Sub(truth).Abs().Max())
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("no centre is farther than %.1f from its true one\n", far)
}
