// gemm_plain.cu: the products that are written without CUTLASS, one unit.
#include "gemm_c64.cuh"
#include "gemm_few.cuh"
#include "gemm_int.cuh"
#include "gemm_parts.cuh"
#include "gemm_skinny.cuh"
#include "gemm_tf32x3_sm90.cuh"
