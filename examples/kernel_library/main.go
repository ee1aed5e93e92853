// Command kernel_library launches a kernel from a library that nvcc has compiled ahead of
// time: exponentially weighted averages along rows, for which gpk has no operation. It
// builds the library if it does not exist. Without a GPU it prints a message.
//
//	go run ./examples/kernel_library -lib /tmp/libewma.so
//
// Output:
//
//	1000 rows of 500 averages are right to 1e-5
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/device/kernels"
)

//go:embed ewma.cu
var source string

// ewmaArgs has the layout of ewma_args in ewma.cu.
type ewmaArgs struct {
	X, Y         uint64
	Rows, Length int64
	Alpha        float32
}

const rows, length, alpha = 1000, 500, 0.1

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// build compiles the library for this machine's GPU and describes it.
func build(lib string) error {
	dir := must(os.MkdirTemp("", "ewma"))
	defer os.RemoveAll(dir)
	cu := filepath.Join(dir, "ewma.cu")
	err := errors.Join(os.WriteFile(cu, []byte(source), 0o600), os.WriteFile(filepath.Join(dir, "gpk_kernels.h"), []byte(kernels.Header), 0o600))
	if err != nil {
		return err
	}
	out, err := exec.Command("nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-o", lib, cu).CombinedOutput()
	if err != nil {
		return fmt.Errorf("nvcc: %w\n%s", err, out)
	}
	return kernels.Describe(lib)
}

func main() {
	path := flag.String("lib", "libewma.so", "the library, which is built where it is not there")
	flag.Parse()
	gpu, err := device.Open("cuda")
	if errors.Is(err, gpk.ErrNoGPU) {
		fmt.Println("there is no GPU here that could run the kernel")
		return
	}
	if _, missing := os.Stat(*path); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = build(*path)
	}
	if err != nil {
		log.Fatal(err)
	}
	lib := must(kernels.Load(gpu, *path)) // checks size, SHA-256 and version, then loads
	ewma := must(kernels.Bind[ewmaArgs](lib, "ewma"))
	x, y := gpk.NewRNG(1).Normal(gpk.Float32, 0, 1, rows, length).To(gpu), gpk.Zeros(gpk.Float32, rows, length).To(gpu)
	from, to := must(x.Buffer()), must(y.Buffer()) // Buffer computes the arrays, with dense rows
	// The launch is ordered after the work that computes x and before work that reads y,
	// on any stream.
	err = ewma.Launch(nil, []*device.Buffer{from}, []*device.Buffer{to}, ewmaArgs{from.Addr(), to.Addr(), rows, length, alpha})
	if err != nil {
		log.Fatal(err)
	}
	in, out := must(gpk.ToSlice[float32](x)), must(gpk.ToSlice[float32](y))
	var last float64
	for i, v := range in {
		if i%length == 0 {
			last = float64(v)
		}
		last += alpha * (float64(v) - last)
		if !(math.Abs(float64(out[i])-last) <= 1e-5) {
			log.Fatalf("element %d is %v instead of %v", i, out[i], last)
		}
	}
	fmt.Printf("%d rows of %d averages are right to 1e-5\n", rows, length)
}
