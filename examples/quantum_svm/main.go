// Command quantum_svm computes quantum kernels of a data set for a support
// vector machine, and leaves them in .npy files for scikit-learn.
//
//	go run ./examples/quantum_svm -dir DIR     # kernels of x_train.npy and x_test.npy in DIR
//	python3 examples/quantum_svm/svm.py fit DIR
//
// Without -dir it makes a folder among the temporary ones, and names it. Where DIR has
// no data, the program makes a set: two rings around each other
// in the plane, and two features of noise. svm.py data DIR puts scikit-learn's
// breast cancer data there instead.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
	"github.com/gpk-go/gpk/quantum"
)

// scales multiply the features: a kernel's bandwidth, as gamma is of an RBF
// kernel. svm.py chooses by cross-validation.
var scales = []float64{0.25, 0.5, 1, 2}

func main() {
	dir := flag.String("dir", "", "folder of the data and the kernels; without it a new one among the temporary folders")
	flag.Parse()
	if *dir == "" {
		made, err := os.MkdirTemp("", "quantum_svm-")
		if err != nil {
			log.Fatal(err)
		}
		*dir = made
	}
	if err := run(context.Background(), *dir); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the kernels are in", *dir)
}

func run(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "x_train.npy")); errors.Is(err, os.ErrNotExist) {
		if err := makeData(dir, 400, 200); err != nil {
			return err
		}
	}
	train, err := npy.ReadFile(filepath.Join(dir, "x_train.npy"))
	if err != nil {
		return err
	}
	test, err := npy.ReadFile(filepath.Join(dir, "x_test.npy"))
	if err != nil {
		return err
	}
	for i, scale := range scales {
		c := circuit(train.Shape()[1], scale)
		if i == 0 {
			plan, err := quantum.PlanGram(c, train.Shape()[0], 0, train.Device().Info(), quantum.Options{})
			if err != nil {
				return err
			}
			fmt.Println(plan.Reason)
		}
		k, err := quantum.Gram(ctx, c, train, nil, quantum.Options{})
		if err != nil {
			return err
		}
		// Rows of test samples against the training samples: what predict wants.
		cross, err := quantum.Gram(ctx, c, test, train, quantum.Options{})
		if err != nil {
			return err
		}
		for name, a := range map[string]*gpk.Array{"k_train": k.K, "k_test": cross.K} {
			if err := npy.WriteFile(filepath.Join(dir, fmt.Sprintf("%s_%g.npy", name, scale)), a); err != nil {
				return err
			}
		}
		fmt.Printf("scale %g: mean off the diagonal %.3f\n", scale, k.Report.OffDiagonalMean)
		if k.Report.Warning != "" {
			fmt.Println("  warning:", k.Report.Warning)
		}
	}
	return nil
}

// circuit embeds the features twice, with an entangling layer after each:
// embedded once it would be a product kernel.
func circuit(features int, scale float64) *quantum.Circuit {
	weights := make([][]float64, 2)
	for l := range weights {
		for i := range features {
			weights[l] = append(weights[l], 0.3+0.1*float64(l+i))
		}
	}
	return quantum.BasicEntangler(weights, quantum.EntanglerOptions{Embedding: quantum.RYRZ, Reupload: true, Scale: scale})
}

// makeData writes two rings with radii 1 and 2, and noise, as samples and labels.
func makeData(dir string, train, test int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, part := range []struct {
		name string
		n    int
	}{{"train", train}, {"test", test}} {
		name, n := part.name, part.n
		x, y := make([]float64, 0, 4*n), make([]int64, n)
		for i := range n {
			y[i] = int64(i % 2)
			r, phi := 1+float64(y[i])+0.35*rng.NormFloat64(), 2*math.Pi*rng.Float64()
			x = append(x, r*math.Cos(phi), r*math.Sin(phi), rng.NormFloat64(), rng.NormFloat64())
		}
		if err := npy.WriteFile(filepath.Join(dir, "x_"+name+".npy"), gpk.FromSlice(x, n, 4)); err != nil {
			return err
		}
		if err := npy.WriteFile(filepath.Join(dir, "y_"+name+".npy"), gpk.FromSlice(y)); err != nil {
			return err
		}
	}
	return nil
}
