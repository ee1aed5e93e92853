package cutlass

import "github.com/gpk-go/gpk/dtype"

// tf32x3Families are the kernels of src/gemm_tf32x3_sm90.cuh: float32 products with
// float32's precision and range on tensor cores, from unprepared operands. At least one of
// these has k contiguous.
func tf32x3Families() []family {
	return []family{{0, Kernel{
		Unit: "gemm_plain", SM: 90, A: dtype.Float32, B: dtype.Float32,
		Tile: [3]int{128, 128, 32}, Cluster: [2]int{1, 1}, Parts: 1, Stages: 4, Schedule: "ring", Math: "tf32x3",
		AlignA: 16, AlignB: 16, AlignOut: 4, Epilogue: true, TensorCore: true,
	}, []dtype.DType{dtype.Float32}, [][2]Major{{RowMajor, RowMajor}, {RowMajor, ColMajor}, {ColMajor, ColMajor}}}}
}
