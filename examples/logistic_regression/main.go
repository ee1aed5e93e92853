// Command logistic_regression learns a linear decision by gradient descent.
//
//	go run ./examples/logistic_regression
//
// Output:
//
//	of 1000 samples that it has not seen, more than 95 % are right
package main

import (
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
)

const features, steps, rate = 64, 200, 1.0

// fit returns the weights [features, 1] that minimize the cross entropy between y [n, 1],
// whose elements are 0 or 1, and sigmoid(x w) for x [n, features].
func fit(x, y *gpk.Array) (*gpk.Array, error) {
	n := float64(x.Shape()[0])
	w := gpk.Zeros(x.DType(), features, 1)
	for range steps {
		// The gradient of the cross entropy is x^T (sigmoid(x w) - y) / n.
		gradient := x.T().MatMul(x.MatMul(w).Sigmoid().Sub(y)).Div(n)
		if err := w.SubInPlace(gradient.Mul(rate)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func main() {
	rng := gpk.NewRNG(7)
	truth := rng.Normal(gpk.Float32, 0, 1, features, 1)
	sample := func(n int) (x, y *gpk.Array) {
		x = rng.Normal(gpk.Float32, 0, 1, n, features)
		return x, x.MatMul(truth, gpk.FullPrecision).Gt(0).Cast(gpk.Float32)
	}
	x, y := sample(8000)
	w, err := fit(x, y)
	if err != nil {
		log.Fatal(err)
	}
	x, y = sample(1000)
	right, err := gpk.Item[float32](x.MatMul(w).Gt(0).Cast(gpk.Float32).Eq(y).Cast(gpk.Float32).Mean())
	if err != nil {
		log.Fatal(err)
	}
	if right <= 0.95 {
		log.Fatalf("only %.1f %% are right", 100*right)
	}
	fmt.Println("of 1000 samples that it has not seen, more than 95 % are right")
}
