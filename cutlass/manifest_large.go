package cutlass

import "github.com/gpk-go/gpk/dtype"

// largeFamily are kernels of src/gemm_large_sm90.cuh: large products of 16-bit operands,
// measured to be faster than CUTLASS's for sizes from 2048 cubed on, after the clock had
// settled. Their tiles differ in how they fill the multiprocessors.
func largeFamily(unit string, in dtype.DType, math string, w wgmma, majors [][2]Major) family {
	w.swapped = true
	k := w.kernel(unit, in, math)
	k.Large = true
	return family{90, k, []dtype.DType{in}, majors}
}
