// Command mlp trains a network of one hidden layer, with its gradients written out, to tell
// points inside a circle from those outside.
//
//	go run ./examples/mlp
//
// Output:
//
//	after training, more than 95 % of the points are right
package main

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gpk-go/gpk"
)

const points, hidden, steps, rate = 2000, 32, 400, 2.0

func main() {
	rng := gpk.NewRNG(3)
	x := rng.Uniform(gpk.Float32, -1, 1, points, 2)
	y := x.Square().Sum(1).Unsqueeze(1).Lt(2 / math.Pi).Cast(gpk.Float32) // half of the square

	w1, b1 := rng.Normal(gpk.Float32, 0, 1, 2, hidden), gpk.Zeros(gpk.Float32, hidden)
	w2, b2 := rng.Normal(gpk.Float32, 0, 0.2, hidden, 1), gpk.Zeros(gpk.Float32, 1)
	for range steps {
		if err := step(x, y, w1, b1, w2, b2); err != nil {
			log.Fatal(err)
		}
	}
	_, p := forward(x, w1, b1, w2, b2)
	right, err := gpk.Item[float32](p.Gt(0.5).Cast(gpk.Float32).Eq(y).Cast(gpk.Float32).Mean())
	if err != nil {
		log.Fatal(err)
	}
	if right <= 0.95 {
		log.Fatalf("only %.1f %% are right", 100*right)
	}
	fmt.Println("after training, more than 95 % of the points are right")
}

// forward returns the hidden layer [points, hidden] and the probabilities [points, 1].
func forward(x, w1, b1, w2, b2 *gpk.Array) (h, p *gpk.Array) {
	h = x.MatMul(w1).Add(b1).Tanh()
	return h, h.MatMul(w2).Add(b2).Sigmoid()
}

// step moves the parameters against the gradient of the mean cross entropy.
func step(x, y, w1, b1, w2, b2 *gpk.Array) error {
	return gpk.Scoped(func(s *gpk.Scope) error { // frees what the step computes
		h, p := forward(s.In(x), w1, b1, w2, b2)
		d2 := p.Sub(y).Div(points)                           // gradient with respect to the output, before the sigmoid
		d1 := d2.MatMul(w2.T()).Mul(h.Square().Neg().Add(1)) // tanh' = 1 - tanh^2
		g1, g2 := x.T().MatMul(d1), h.T().MatMul(d2)         // before the weights change
		return errors.Join(
			w1.SubInPlace(g1.Mul(rate)), b1.SubInPlace(d1.Sum(0).Mul(rate)),
			w2.SubInPlace(g2.Mul(rate)), b2.SubInPlace(d2.Sum(0).Mul(rate)))
	})
}
