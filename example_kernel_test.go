package gpk_test

import (
	"errors"
	"fmt"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// It needs a GPU, and so is compiled but not run with the other examples.
func ExampleKernel() {
	const source = `
extern "C" __global__ void axpy(float a, const float* x, float* y, long long n) {
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	if (i < n) y[i] += a * x[i];
}`
	axpy, err := gpk.Kernel(source, "axpy")
	var ce *device.CompileError
	if errors.As(err, &ce) {
		fmt.Printf("line %d: %s\n%s", ce.Line, ce.Text, ce.Log)
	}
	if err != nil {
		return // no GPU, say
	}
	x, y := gpk.Arange(gpk.Float32, 5), gpk.Ones(gpk.Float32, 5)
	if err := axpy.Launch(gpk.LaunchOptions{}, float32(0.5), x, y, int64(5)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(y) // [1.  1.5 2.  2.5 3. ]
}
