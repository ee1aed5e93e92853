// Package gpk is an array toolkit for Go that runs on NVIDIA tensor cores, and
// on any machine without one.
//
//	x := gpk.FromSlice(data, 512, 768)
//	y := gpk.LinearBiasGELU(x, w, b)     // one kernel on a GPU
//	out, err := gpk.ToSlice[float32](y)  // the first error of all of it
//
// An Array behaves as if it had been computed on the line that made it.
// Operations are started when their result is needed; what is wrong with
// shapes and types is found on the line that wrote it, travels with the array,
// and is returned at the boundary: ToSlice, ToSliceInto, Item, FromSliceInto,
// Into, Eval.
//
// What an operation took as its operand is not stored: asking for it later computes it
// again. Where what it was made from was written or freed since, that is ErrStale, which
// names both lines; Eval it, or use it, before the write:
//
//	y := x.Mul(2)
//	z := y.Add(1)        // takes y
//	x.AddInPlace(1)      // starts z first, and z alone
//	gpk.ToSlice[float32](z)  // as if computed on its line
//	gpk.ToSlice[float32](y)  // ErrStale; gpk.Eval(y) before the write keeps it
//
// # Devices
//
// New arrays live on device.Default: GPK_DEVICE if set, else the first GPU
// that works, else the CPU. device.Explain says why. The kernels for a GPU are
// built once by
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
//	GPK_LIB           path of libgpk.so, instead of the search
//	GPK_NVRTC         path of libnvrtc.so or its folder, instead of the search
//	GPK_CACHE         folder for what setup builds (default os.UserCacheDir()/gpk)
//	GPK_NO_TF32       1: float32 products are FullPrecision unless asked otherwise
//	GPK_AUTOTUNE      1: kernels are chosen by timing them once, and remembered; bits may differ
//	GPK_EAGER         1: every operation starts on its own line
//	GPK_MEMORY_LIMIT  bytes, or 512MiB: the limit of each device's pool
//	GPK_SUBMIT        direct: no thread starts what comes in a row; always: it starts everything
//
// What is on with 1 is so with true, yes and on too, and off with 0, false, no, off and
// nothing. With any other text, and with a limit or a GPK_SUBMIT that means nothing, every
// device answers with an error that names the variable.
package gpk
