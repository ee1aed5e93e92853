package gpk_test

import (
	"errors"
	"fmt"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

func Example() {
	x := gpk.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	w := gpk.FromSlice([]float32{1, 0, -1, 2, 1, 0}, 2, 3) // [out, in]
	b := gpk.FromSlice([]float32{0.5, -20})
	y := gpk.LinearBiasReLU(x, w, b)
	out, err := gpk.ToSlice[float32](y)
	fmt.Println(out, err)
	fmt.Println(y)
	// Output:
	// [0 0 0 0] <nil>
	// [[0. 0.]
	//  [0. 0.]]
}

func ExampleFromSlice() {
	a := gpk.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(a.Shape(), a.DType())
	fmt.Printf("%.1f\n", a.T())
	// Output:
	// [2 3] float64
	// [[1.0 4.0]
	//  [2.0 5.0]
	//  [3.0 6.0]]
}

func ExampleSub() {
	a := gpk.Arange(gpk.Int32, 4)
	fmt.Println(gpk.Sub(1, a))
	// Output: [ 1  0 -1 -2]
}

func ExampleMatMul() {
	a := gpk.FromSlice([]int8{100, 100, 1, 2}, 2, 2)
	c := gpk.MatMul(a, a)
	fmt.Printf("%+v\n", c.To(cpu()))
	// Output:
	// [[10100 10200]
	//  [  102   104]]
	// int32 [2 2] on cpu
}

func ExampleWithOutput() {
	x := gpk.FromSlice([]float32{1.5, 2}, 1, 2).Cast(gpk.BFloat16)
	fmt.Printf("%+v\n", x.MatMul(x.T(), gpk.WithOutput(gpk.Float32)).To(cpu()))
	z := gpk.FromSlice([]complex64{3 + 4i, 1}, 2, 1)
	fmt.Printf("%+v\n", z.MatMul(z.Conj().T(), gpk.WithAbsSquare, gpk.WithSymmetric).To(cpu()))
	// Output:
	// [[6.25]]
	// float32 [1 1] on cpu
	// [[625.  25.]
	//  [ 25.   1.]]
	// float32 [2 2] on cpu
}

func cpu() *device.Device {
	d, err := device.Open("cpu")
	if err != nil {
		panic(err)
	}
	return d
}

func ExampleOpError() {
	a, b := gpk.Zeros(gpk.Float32, 2, 3), gpk.Zeros(gpk.Float32, 4, 5)
	c := a.MatMul(b).Add(1).T() // the first mistake is the one that is told
	_, err := gpk.ToSlice[float32](c)
	var oe *gpk.OpError
	fmt.Println(errors.Is(err, gpk.ErrShape), errors.As(err, &oe))
	fmt.Println(oe.Op, oe.Shapes, oe.DTypes)
	fmt.Println(oe.Err)
	// Output:
	// true true
	// MatMul [[2 3] [4 5]] [float32 float32]
	// shape: a 2x3 matrix times a 4x5 one: the inner lengths 3 and 4 differ
}

func ExampleInto() {
	a, dst := gpk.Ones(gpk.Float32, 3), gpk.Zeros(gpk.Float32, 2, 3)
	if err := gpk.Into(dst.Slice(0, 1, 2).Squeeze(0), a.Mul(7)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(dst)
	// Output:
	// [[0. 0. 0.]
	//  [7. 7. 7.]]
}

func ExamplePack() {
	w := gpk.Pack(gpk.Eye(gpk.Float32, 3), gpk.FullPrecision)
	x := gpk.FromSlice([]float32{1, 2, 3}, 1, 3)
	fmt.Println(x.MatMul(w, gpk.FullPrecision))
	fmt.Println(errors.Is(w.Add(1).Err(), gpk.ErrUnsupported))
	// Output:
	// [[1. 2. 3.]]
	// true
}

func ExampleSetPrecision() {
	old := gpk.SetPrecision(gpk.FullPrecision)
	fmt.Println(old == matmul.Default)
	gpk.SetPrecision(old)
	// Output: true
}

// A sequence is recorded once and replayed on new inputs, which it reads in place.
func ExampleCapture() {
	x := gpk.FromSlice([]float32{1, 2, 3})
	total := gpk.Zeros(gpk.Float32, 3)
	graph, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
		if err := total.AddInPlace(in[0]); err != nil {
			fmt.Println(err)
		}
		return []*gpk.Array{in[0].Mul(in[0]).Sum()}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer graph.Free()
	norm := graph.Outputs()[0]
	for _, next := range [][]float32{{1, 2, 3}, {4, 5, 6}} {
		if err := gpk.FromSliceInto(x, next); err != nil {
			fmt.Println(err)
		}
		if err := graph.Replay(); err != nil {
			fmt.Println(err)
		}
		fmt.Println(norm, total)
	}
	// Output:
	// 14.0 [1. 2. 3.]
	// 77.0 [5. 7. 9.]
}

// The numbers are the same on every device and in every version.
func ExampleNewRNG() {
	r := gpk.NewRNG(42)
	fmt.Printf("%.4f\n", r.Normal(gpk.Float64, 0, 1, 3))
	fmt.Println(r.Uniform(gpk.Int32, 1, 7, 10))
	// Output:
	// [ 0.2621  1.2031 -0.7146]
	// [4 5 5 3 6 2 2 1 5 2]
}

func ExampleAttention() {
	// One head of three tokens: each sees itself and those before it.
	q := gpk.FromSlice([]float32{0, 0, 100, 0, 0, 100}, 1, 1, 3, 2)
	k := gpk.FromSlice([]float32{1, 0, 0, 1, 1, 0}, 1, 1, 3, 2)
	v := gpk.FromSlice([]float32{1, 2, 4}, 1, 1, 3, 1)
	causal := gpk.Attention(q, k, v, gpk.AttentionOptions{Causal: true})
	fmt.Println(gpk.ToSlice[float32](causal))
	// The first two are a sequence, and the third one is another.
	ragged := gpk.Attention(q.Squeeze(0), k.Squeeze(0), v.Squeeze(0), gpk.AttentionOptions{Offsets: gpk.FromSlice([]int32{0, 2, 3})})
	fmt.Println(ragged.Shape())
	fmt.Println(gpk.ToSlice[float32](ragged))
	// Output:
	// [1 1 2] <nil>
	// [1 3 1]
	// [1.5 1 4] <nil>
}

func ExampleRoPE() {
	x := gpk.Ones(gpk.Float32, 1, 1, 2, 4) // [batch, heads, seq, dim]
	positions := gpk.FromSlice([]int32{0, 1})
	fmt.Printf("%.4f\n", gpk.RoPE(x, positions, 10000).Reshape(2, 4))
	// Output:
	// [[ 1.0000  1.0000  1.0000  1.0000]
	//  [-0.3012  0.9900  1.3818  1.0099]]
}

func ExampleRMSNormResidual() {
	x := gpk.FromSlice([]float32{1, 2, 3, 2}, 2, 2)
	residual := gpk.FromSlice([]float32{2, 2, 0, 2}, 2, 2)
	sum, normed := gpk.RMSNormResidual(x, residual, nil, 0)
	fmt.Println(sum)
	fmt.Printf("%.4f\n", normed)
	// Output:
	// [[3. 4.]
	//  [3. 4.]]
	// [[0.8485 1.1314]
	//  [0.8485 1.1314]]
}

func ExampleSwiGLU() {
	gate, up := gpk.FromSlice([]float32{-1, 0, 2}), gpk.FromSlice([]float32{1, 5, 10})
	fmt.Printf("%.4f\n", gpk.SwiGLU(gate, up))
	// Output: [-0.2689  0.0000 17.6159]
}
