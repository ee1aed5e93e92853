package cutlass

import "github.com/gpk-go/gpk/dtype"

// c64Families are the kernels of src/gemm_c64.cuh: complex64 products that conjugate
// operands when they read them, and squared moduli. They support a guard, and only alpha =
// 1.
func c64Families() []family {
	var fs []family
	plain := func(out dtype.DType, square, conjA, conjB bool, majors [][2]Major) {
		fs = append(fs, family{0, Kernel{
			Unit: "gemm_plain", SM: 80, A: dtype.Complex64, B: dtype.Complex64,
			Tile: [3]int{64, 64, 16}, Cluster: [2]int{1, 1}, Stages: 1, Schedule: "plain", Math: "c64",
			AlignA: 8, AlignB: 8, AlignOut: out.Size(), AbsSquare: square, ConjA: conjA, ConjB: conjB,
		}, []dtype.DType{out}, majors})
	}
	plain(dtype.Complex64, false, true, false, allMajors)
	plain(dtype.Complex64, false, false, true, allMajors)
	// Gram matrices: k is contiguous in both operands. The squared modulus of the product
	// of two conjugates is that of the product.
	plain(dtype.Float32, true, false, false, kMajors)
	plain(dtype.Float32, true, false, true, kMajors)
	return fs
}
