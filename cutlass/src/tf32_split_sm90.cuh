// tf32_split_sm90.cuh: a float32 as the sum of two TF32 numbers, for gemm_tf32x3_sm90.cuh, and the accesses to shared
// memory of its kernel.
#pragma once
#include <stdint.h>

namespace gpk {
namespace tf32x3 {
namespace {

constexpr uint32_t tiny_bits = (28u << 23) - 1;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ inline uint4 load(uint32_t at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
  return v;
}

__device__ inline uint32_t load_one(uint32_t at) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}

__device__ inline void store(uint32_t at, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// The high number: the nearest TF32 number, of 11 bits. low_of returns the remainder, of which the tensor cores read 11
// bits.
__device__ inline uint32_t high_of(uint32_t x) { return (x + 0x1000) & 0xffffe000; }

__device__ inline uint32_t low_of(uint32_t x, uint32_t high) {
  return __float_as_uint(__fsub_rn(__uint_as_float(x), __uint_as_float(high)));
}

// The minimum of `least_bits` and the bits of 2|x| minus 1. An x of 0 gives the largest number. An |x| below 2^-113 gives a
// number below tiny_bits.
__device__ inline uint32_t least_of(uint32_t least_bits, uint32_t x) { return min(least_bits, x + x - 1); }
#endif

}  // namespace
}  // namespace tf32x3
}  // namespace gpk
