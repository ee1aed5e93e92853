package gpktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// userSource is kernels of a program's own.
const userSource = `
extern "C" __global__ void axpy(float a, const float* x, float* y, long long n) {
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
		y[i] += a * x[i];
	}
}

template <class T>
__global__ void scale(T* x, bool twice, signed char by, T and_by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= (twice ? 2 : 1) * by * and_by;
}

extern "C" __global__ void reversed(const int* x, int* y, int n) {
	extern __shared__ int s[];
	for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = s[n - 1 - i];
}

extern "C" __global__ void where(unsigned* out) {
	unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	out[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1 + block * 1000 + thread;
}
`

// testUserKernels launches kernels of the program's own.
func testUserKernels(t *testing.T, s *suite) {
	if s.dev.Kind() == device.CPU {
		testNoUserKernels(t)
		return
	}
	axpy, err := gpk.Kernel(userSource, "axpy")
	if errors.Is(err, gpk.ErrUnsupported) {
		t.Skipf("nothing is compiled here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 255, 256, 257, 100_003} {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = s.rng.Float32(), s.rng.Float32()
		}
		a, b := gpk.FromSlice(x), gpk.FromSlice(y)
		pending := b.Add(a) // reads y as it is now
		if err := axpy.Launch(gpk.LaunchOptions{Written: []int{2}}, float32(0.5), a, b, int64(n)); err != nil {
			t.Fatal(err)
		}
		got, err := gpk.ToSlice[float32](b)
		before, err2 := gpk.ToSlice[float32](pending)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for i := range x {
			// The compiler contracts a*x + y to an FMA. Half of x is exact, so there is one
			// rounding with or without it.
			if want := y[i] + 0.5*x[i]; got[i] != want {
				t.Fatalf("axpy, n = %d: element %d is %v, want %v", n, i, got[i], want)
			}
			if want := y[i] + x[i]; before[i] != want {
				t.Fatalf("what was pending, n = %d: element %d is %v, want %v", n, i, before[i], want)
			}
		}
	}

	scale, err := gpk.Kernel(userSource, "scale<double>")
	if err != nil {
		t.Fatal(err)
	}
	d := gpk.FromSlice([]float64{1, 2, 3, 4})
	if err := scale.Launch(gpk.LaunchOptions{}, d.Slice(0, 1, 3), true, int8(-3), 0.5, int32(2)); err != nil {
		t.Fatal(err)
	}
	if got, err := gpk.ToSlice[float64](d); err != nil || !slices.Equal(got, []float64{1, -6, -9, 4}) {
		t.Errorf("scale: %v, %v", got, err)
	}

	// This kernel needs more shared memory than a block has by default, and runs on a
	// stream of its own.
	reversed, err := gpk.Kernel(userSource, "reversed")
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	x, y := gpk.Arange(gpk.Int32, n), gpk.Full(gpk.Int32, -1, n)
	if err := reversed.Launch(gpk.LaunchOptions{Grid: [3]int{1}, Block: [3]int{512}, SharedBytes: 4 * n, Stream: st}, x, y, int32(n)); err != nil {
		t.Fatal(err)
	}
	got, err := gpk.ToSlice[int32](y)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != int32(n-1-i) {
			t.Fatalf("reversed: element %d is %d", i, v)
		}
	}
	if err := errors.Join(st.Synchronize(context.Background()), st.Close()); err != nil {
		t.Error(err)
	}

	where, err := gpk.Kernel(userSource, "where")
	if err != nil {
		t.Fatal(err)
	}
	o := gpk.LaunchOptions{Grid: [3]int{2, 3, 4}, Block: [3]int{4, 2, 3}}
	places := gpk.Zeros(gpk.Int32, 2*3*4*4*2*3)
	if err := where.Launch(o, places); err != nil {
		t.Fatal(err)
	}
	got, err = gpk.ToSlice[int32](places)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := int32(1 + i/24*1000 + i%24); v != want {
			t.Fatalf("where: element %d is %d, want %d", i, v, want)
		}
	}

	testUserKernelErrors(t, axpy)
}

func testUserKernelErrors(t *testing.T, axpy *gpk.UserKernel) {
	x := gpk.Ones(gpk.Float32, 4, 3)
	freed := gpk.Ones(gpk.Float32, 4)
	freed.Free()
	for what, c := range map[string]struct {
		err, want error
	}{
		"too few":    {axpy.Launch(gpk.LaunchOptions{}, float32(1), x, x), gpk.ErrDType},
		"too many":   {axpy.Launch(gpk.LaunchOptions{}, float32(1), x, x, int64(1), int64(1)), gpk.ErrDType},
		"size":       {axpy.Launch(gpk.LaunchOptions{}, float32(1), x, x, int32(12)), gpk.ErrDType},
		"int":        {axpy.Launch(gpk.LaunchOptions{}, float32(1), x, x, 12), gpk.ErrDType},
		"transposed": {axpy.Launch(gpk.LaunchOptions{}, float32(1), x.T(), x, int64(12)), gpk.ErrShape},
		"written":    {axpy.Launch(gpk.LaunchOptions{Written: []int{4}}, float32(1), x, x, int64(12)), gpk.ErrShape},
		"a number":   {axpy.Launch(gpk.LaunchOptions{Written: []int{0}}, float32(1), x, x, int64(12)), gpk.ErrUnsupported},
		"freed":      {axpy.Launch(gpk.LaunchOptions{}, float32(1), freed, x, int64(4)), gpk.ErrFreed},
		"block":      {axpy.Launch(gpk.LaunchOptions{Block: [3]int{1025}}, float32(1), x, x, int64(12)), gpk.ErrDevice},
		"shared":     {axpy.Launch(gpk.LaunchOptions{SharedBytes: 1 << 20}, float32(1), x, x, int64(12)), gpk.ErrDevice},
	} {
		var oe *gpk.OpError
		if !errors.Is(c.err, c.want) || !errors.As(c.err, &oe) || !strings.Contains(oe.Site, "kernel.go") {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
	if got, err := gpk.ToSlice[float32](x); err != nil || slices.ContainsFunc(got, func(v float32) bool { return v != 1 }) {
		t.Errorf("a launch that failed has written: %v, %v", got, err)
	}

	_, err := gpk.Kernel("// a comment\nextern \"C\" __global__ void f(float* x) {\n\tx[0] = undefined_name;\n}\n", "f")
	var ce *device.CompileError
	if !errors.As(err, &ce) || ce.Line != 3 || !strings.Contains(ce.Text, "undefined_name") || !strings.Contains(ce.Log, "undefined") {
		t.Errorf("%+v: %v", ce, err)
	}
	_, err = gpk.Kernel(userSource, "no_such_kernel")
	if !errors.As(err, &ce) || !strings.Contains(ce.Log, "no_such_kernel") {
		t.Errorf("%+v: %v", ce, err)
	}
	if k, err := gpk.Kernel("#include <cuda_fp16.h>\nextern \"C\" __global__ void g(__half* x) { x[0] = __hadd(x[0], x[0]); }", "g"); err != nil {
		t.Logf("CUDA's headers are not beside the compiler: %v", err)
	} else {
		x := gpk.Ones(gpk.Float16, 1)
		if err := k.Launch(gpk.LaunchOptions{}, x); err != nil {
			t.Error(err)
		}
		if v, err := gpk.Item[float32](x.Cast(gpk.Float32)); err != nil || v != 2 {
			t.Errorf("with cuda_fp16.h: %v, %v", v, err)
		}
	}
}

// testNoUserKernels checks the error of kernels whose arrays are on the CPU.
func testNoUserKernels(t *testing.T) {
	k, err := gpk.Kernel(userSource, "axpy")
	var oe *gpk.OpError
	switch {
	case err == nil: // there is a GPU besides
		x := gpk.Ones(gpk.Float32, 3)
		if err := k.Launch(gpk.LaunchOptions{}, float32(1), x, x, int64(3)); !errors.Is(err, gpk.ErrUnsupported) {
			t.Error(err)
		}
	case !errors.Is(err, gpk.ErrNoGPU) && !errors.Is(err, gpk.ErrUnsupported) || !errors.As(err, &oe) || oe.Op != "Kernel":
		t.Error(err)
	}
}
