// gemm_plain.cu: one compilation unit for the product kernels that do not use CUTLASS.
#include "gemm_c64.cuh"
#include "gemm_few.cuh"
#include "gemm_int.cuh"
#include "gemm_parts.cuh"
#include "gemm_skinny.cuh"
#include "gemm_tf32x3_sm90.cuh"
