// Command gorgonia multiplies tensors of gorgonia.org/tensor with gpk.
//
// The tensors get gpk's engine and are used as before; Float16 tensors, which
// the tensor package cannot multiply, work too.
package main

import (
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/gorgonia"
	"github.com/x448/float16"
	"gorgonia.org/tensor"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	// One engine for all tensors. Products below gorgonia.DefaultMinSize stay on
	// the CPU; these are small, so the example asks for none to.
	engine := tensor.WithEngine(gorgonia.NewEngine(gorgonia.WithMinSize(0), gorgonia.WithPrecision(gpk.FullPrecision)))

	a := tensor.New(engine, tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	b := a.Clone().(*tensor.Dense)
	if err := b.T(); err != nil { // a view, which is not copied first
		return err
	}
	c, err := tensor.MatMul(a, b)
	if err != nil {
		return err
	}
	fmt.Println("a aᵀ =", c.Data())

	// Half the memory, on tensor cores where there are any.
	half := func(values ...float32) []float16.Float16 {
		out := make([]float16.Float16, len(values))
		for i, v := range values {
			out[i] = float16.Fromfloat32(v)
		}
		return out
	}
	h := tensor.New(engine, tensor.WithShape(2, 2), tensor.WithBacking(half(1, 0.5, 0.25, 2)))
	v := tensor.New(engine, tensor.WithShape(2), tensor.WithBacking(half(4, 8)))
	hv, err := h.MatVecMul(v)
	if err != nil {
		return err
	}
	fmt.Println("h v  =", hv.Data())

	// Into gpk for what the tensor package lacks, a fused layer say, and back.
	x := gorgonia.FromDense(a)
	y := gpk.LinearBiasReLU(x, gpk.Eye(gpk.Float32, 3), gpk.FromSlice([]float32{-2, -2, -2}), gpk.FullPrecision)
	d, err := gorgonia.ToDense(y)
	if err != nil {
		return err
	}
	fmt.Println("ReLU(a - 2) =", d.Data())
	return nil
}
