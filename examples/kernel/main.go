// Command kernel compiles a CUDA kernel at run time, and launches it on arrays: the orbit of z
// -> z^2 + c, for which gpk has no operation. Without a GPU it prints a message.
//
//	go run ./examples/kernel
//
// Output:
//
//	the area of the Mandelbrot set is about 1.5
package main

import (
	"errors"
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
)

const source = `
extern "C" __global__ void orbit(const float* re, const float* im, int* steps, int most, long long n) {
	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
	if (i >= n) return;
	float x = 0, y = 0;
	int k = 0;
	for (; k < most && x * x + y * y <= 4; k++) {
		float t = x * x - y * y + re[i];
		y = 2 * x * y + im[i];
		x = t;
	}
	steps[i] = k;
}`

const side, most = 1000, 1000

func main() {
	orbit, err := gpk.Kernel(source, "orbit")
	if errors.Is(err, gpk.ErrNoGPU) {
		fmt.Println("there is no GPU here that could run the kernel")
		return
	}
	if err != nil {
		log.Fatal(err) // the error contains the compiler's log
	}
	grid := gpk.MeshgridIJ(gpk.Linspace(gpk.Float32, -1.25, 1.25, side), gpk.Linspace(gpk.Float32, -2, 0.5, side))
	im, re := grid[0].Contiguous(), grid[1].Contiguous()
	steps := gpk.Zeros(gpk.Int32, side, side)
	// The zero options start one thread for each element. Argument 2, the steps, is written.
	err = orbit.Launch(gpk.LaunchOptions{Written: []int{2}}, re, im, steps, int32(most), int64(side*side))
	if err != nil {
		log.Fatal(err)
	}
	inside, err := gpk.Item[float64](steps.Eq(most).Cast(gpk.Float64).Mean())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the area of the Mandelbrot set is about %.1f\n", inside*2.5*2.5)
}
