// Command gorgonia multiplies tensors of gorgonia.org/tensor with gpk.
//
// The tensors use gpk's engine; the rest of the code is unchanged. Products of Float16
// tensors, which the tensor package does not have, work too.
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
	// One engine for all tensors. By default, products below gorgonia.DefaultMinSize run
	// on the CPU. The products of this example are small, so it sets the limit to 0.
	engine := tensor.WithEngine(gorgonia.NewEngine(gorgonia.WithMinSize(0), gorgonia.WithPrecision(gpk.FullPrecision)))

	a := tensor.New(engine, tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	b := a.Clone().(*tensor.Dense)
	if err := b.T(); err != nil { // a view, which gpk reads without a copy
		return err
	}
	c, err := tensor.MatMul(a, b)
	if err != nil {
		return err
	}
	fmt.Println("a aᵀ =", c.Data())

	// Half types need half the memory, and use tensor cores if there are any.
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

	// Convert to gpk for an operation that the tensor package does not have, such as a
	// fused layer, and back.
	x := gorgonia.FromDense(a)
	y := gpk.LinearBiasReLU(x, gpk.Eye(gpk.Float32, 3), gpk.FromSlice([]float32{-2, -2, -2}), gpk.FullPrecision)
	d, err := gorgonia.ToDense(y)
	if err != nil {
		return err
	}
	fmt.Println("ReLU(a - 2) =", d.Data())
	return nil
}
