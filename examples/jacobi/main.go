// Command jacobi computes the temperature of a plate whose upper edge is hot, by Jacobi's
// method.
//
//	go run ./examples/jacobi
//
// Output:
//
//	after 4000 sweeps, the centre has a quarter of the edge's temperature: 25.0
package main

import (
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
)

const side, sweeps = 33, 4000

// sweep computes one step: each inner point becomes the mean of its four neighbours.
func sweep(u *gpk.Array) error {
	inside := func(a *gpk.Array, row, col int) *gpk.Array {
		return a.Slice(0, row, side-2+row).Slice(1, col, side-2+col)
	}
	mean := inside(u, 0, 1).Add(inside(u, 2, 1)).Add(inside(u, 1, 0)).Add(inside(u, 1, 2)).Mul(0.25)
	return inside(u, 1, 1).CopyFrom(mean) // mean reads the old contents
}

func main() {
	plate := gpk.Zeros(gpk.Float64, side, side)
	if err := plate.Slice(0, 0, 1).CopyFrom(100); err != nil {
		log.Fatal(err)
	}
	for range sweeps {
		if err := sweep(plate); err != nil {
			log.Fatal(err)
		}
	}
	centre, err := gpk.Item[float64](plate.At(side/2, side/2))
	if err != nil {
		log.Fatal(err)
	}
	// By symmetry, the temperatures of four plates, each with a different hot edge, add
	// up to 100 everywhere.
	fmt.Printf("after %d sweeps, the centre has a quarter of the edge's temperature: %.1f\n", sweeps, centre)
}
