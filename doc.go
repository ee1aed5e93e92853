// Package gpk is an array toolkit for Go that runs on NVIDIA tensor cores, and
// on any machine without one.
//
//	x := gpk.FromSlice(data, 512, 768)
//	y := gpk.LinearBiasGELU(x, w, b)     // one kernel on a GPU
//	out, err := gpk.ToSlice[float32](y)  // waits; the first error of the three lines
//
// An Array behaves as if it had been computed on the line that made it.
// Operations start when their result is needed. Errors of
// shapes and types are found on the line of the operation, travel with the array,
// and are returned at the boundary: ToSlice, ToSliceInto, Item, FromSliceInto,
// Into, Eval.
//
// An operation reads the contents that its operands have on its line. A write in place
// gives an array, and all its views, new contents. It returns an error. Results that were
// computed from the old contents keep their values:
//
//	y := x.Mul(2)
//	z := y.Add(1)
//	err := x.AddInPlace(1)   // an error of shape or type: nothing is written
//	gpk.ToSlice[float32](z)  // reads the old x
//	gpk.ToSlice[float32](y)  // so does y, an intermediate result, which is computed again
//
// Free says that the program is done with an array and its views. Afterwards an intermediate
// result that was computed from it and not stored is ErrFreed. A Scope frees
// everything that was computed in it.
//
// # Devices
//
// New arrays live on device.Default: GPK_DEVICE if set, else the first GPU
// that works, else the CPU. device.Explain says why. The kernels for a GPU are
// installed once by
//
//	go run github.com/gpk-go/gpk/cmd/gpk setup
//
// # Precision
//
// A float32 product is computed in TF32 by default (operands rounded to 11
// significant bits, accumulated in float32), on every shape; FullPrecision on
// the call, SetPrecision or GPK_NO_TF32=1 ask for float32's own error. On the
// CPU products are float32 in any case. Explain on an array prints the plan.
//
// # Environment
//
//	GPK_DEVICE        cpu, cuda, cuda:1: the default device
//	GPK_LIB           path of libgpk.so or its folder, instead of the search
//	GPK_CUFFT         path of libcufft.so or its folder, instead of the search
//	GPK_CUSOLVER      path of libcusolver.so or its folder, instead of the search
//	GPK_NCCL          path of libnccl.so.2 or its folder, instead of the search; off: NCCL is not used
//	GPK_NVRTC         path of libnvrtc.so or its folder, instead of the search
//	GPK_CACHE         folder for kernels and measurements (default os.UserCacheDir()/gpk)
//	GPK_NO_TF32       1: float32 products are FullPrecision unless asked otherwise
//	GPK_AUTOTUNE      1: kernels are chosen by timing them once, and remembered; bits may differ
//	GPK_EAGER         1: every operation starts on its own line
//	GPK_MEMORY_LIMIT  bytes, or 512MiB: the limit of each device's pool
//	GPK_SUBMIT        direct: no launch goes through the launch queue; always: every launch does
//
// A switch is on with 1, true, yes and on, and off with 0, false, no, off and no text. With any
// other text, or an invalid GPK_MEMORY_LIMIT or GPK_SUBMIT, every device returns an error that
// names the variable. Package dist reads further variables (docs/cluster.md).
//
//go:generate go run ./internal/gen .
//go:generate go run -C internal/asm ./generate
package gpk
