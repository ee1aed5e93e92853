// tma.cuh: TMA copies of tiles into a ring in shared memory, and the barriers that count their bytes, for kernels
// without CUTLASS.
#pragma once
#include "registry.cuh"

namespace gpk {
namespace tma {

__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ inline void make_barrier(uint32_t at, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(arrivals));
}

// Makes initialized barriers visible; called by the thread that initialized them, before the CTA synchronizes.
__device__ inline void barriers_made() {
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}

// Waits for the phase with that parity to complete.
__device__ inline void await(uint32_t at, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred p;\n"
      "again:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra again;\n\t}" ::"r"(at),
      "r"(parity)
      : "memory");
}

__device__ inline void arrive(uint32_t at) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
}

__device__ inline void expect(uint32_t at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

// Copies a box of the tensor; the barrier counts its bytes.
__device__ inline void copy_box(uint32_t to, CUtensorMap const* map, int x, int y, int z, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

// Encodes the TMA descriptor of an operand. Boxes are lines of 128 bytes: `step` of k in box_lines of its rows (of B,
// columns), or 128 bytes of these in `step` of k.
inline bool describe(CUtensorMap* map, CUtensorMapDataType type, int size, void const* address, bool k_major, int lines,
                     int k, int64_t ld, int64_t stride, int batch, int box_lines, int step) {
  bool const many = batch > 1 && stride != 0;
  cuuint64_t const pitch = ld * size;
  cuuint64_t const dims[3] = {cuuint64_t(k_major ? k : lines), cuuint64_t(k_major ? lines : k),
                              cuuint64_t(many ? batch : 1)};
  cuuint64_t const strides[2] = {pitch, many ? stride * size : pitch};
  cuuint32_t const box[3] = {cuuint32_t(128 / size), cuuint32_t(k_major ? box_lines : step), 1}, ones[3] = {1, 1, 1};
  CUresult const e = encode_tiled(map, type, 3, const_cast<void*>(address), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

}  // namespace tma
}  // namespace gpk
