package nn_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/nn"
)

// Each of two ranks has half of the hidden features of a perceptron, and reads its half from the file of
// the whole perceptron.
func ExampleNewParallelMLP() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	err = safetensors.WriteFile(filepath.Join(folder, "model.safetensors"), map[string]*gpk.Array{
		"layer.up.weight":   gpk.FromSlice([]float32{1, 0, 0, 1, -1, 0, 0, -1}, 4, 2),
		"layer.down.weight": gpk.FromSlice([]float32{1, 0, 1, 0, 0, 1, 0, 1}, 2, 4),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}

	cpu, err := device.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	g, err := dist.Local(cpu, cpu) // or dist.Join
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	err = g.Run(context.Background(), func(_ context.Context, c *dist.Comm) error {
		mlp, err := nn.NewParallelMLP(c, nn.NewMLP(2, 4, nn.ReLU, false))
		if err != nil {
			return err
		}
		f, err := safetensors.Open(folder)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := nn.Load(mlp, nn.FromFile(f, safetensors.On(c.Device())), nn.LoadOptions{Prefix: "layer."}); err != nil {
			return err
		}
		x := gpk.FromSlice([]float32{3, -4}, 1, 2).To(c.Device())
		y, err := gpk.ToSlice[float32](mlp.Forward(x))
		if c.Rank() == 0 {
			fmt.Println(mlp.Up.Weight.Shape(), mlp.Down.Weight.Shape(), y)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [2 2] [2 2] [3 4]
}
