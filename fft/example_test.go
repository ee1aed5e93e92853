package fft_test

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/fft"
)

func ExampleFFT() {
	x := gpk.FromSlice([]float64{1, 0, -1, 0})
	fmt.Println(fft.FFT(x).Real())
	// Output: [0. 2. 0. 2.]
}

func ExampleRFFT() {
	// The power of a wave of two cycles in eight samples.
	x := gpk.FromSlice([]float64{0, 1, 0, -1, 0, 1, 0, -1})
	power := fft.RFFT(x, fft.Ortho).AbsSquare()
	fmt.Println(fft.RFFTFreq(gpk.Float64, 8, 1))
	fmt.Printf("%.1f\n", power)
	// Output:
	// [0.    0.125 0.25  0.375 0.5  ]
	// [0.0 0.0 2.0 0.0 0.0]
}

func ExampleConvolve() {
	x := gpk.FromSlice([]float32{1, 2, 3})
	fmt.Println(fft.Convolve(x, gpk.FromSlice([]float32{1, 1}), fft.Full))
	fmt.Println(fft.Convolve(x, gpk.FromSlice([]float32{1, 1}), fft.Valid))
	// Output:
	// [1. 3. 5. 3.]
	// [3. 5.]
}
