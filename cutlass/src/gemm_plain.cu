// gemm_plain.cu: the unit of the product kernels that do not use CUTLASS's collectives.
#include "gemm_c64.cuh"
#include "gemm_few.cuh"
#include "gemm_int.cuh"
#include "gemm_parts.cuh"
#include "gemm_skinny.cuh"
#include "gemm_tf32x3_sm90.cuh"
