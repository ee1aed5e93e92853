// prepare_kernel.cuh: the kernel of gpk_prepare.
#pragma once
#include "dependent.cuh"
#include "prepare_contiguous.cuh"
#include "prepare_strided.cuh"

namespace gpk {
namespace {

template <bool Split>
__global__ void __launch_bounds__(threads, max_blocks) prepare(__grid_constant__ Params const p) {
  extern __shared__ float4 buffer[];
  __shared__ Shared s;
  init_barriers(s);
  begin();
  bool const second = blockIdx.x >= p.second;
  uint32_t const block = second ? blockIdx.x - p.second : blockIdx.x;
  Operand const& o = p.operand[second];
  if (!o.k_contiguous) {
    switch (o.kind * 32 + o.alignment) {
      case real * 32 + 16: return convert_strided<Split, real, 4>(o, p, s, buffer, block);
      case real * 32 + 8: return convert_strided<Split, real, 2>(o, p, s, buffer, block);
      case real * 32 + 4: return convert_strided<Split, real, 1>(o, p, s, buffer, block);
      case complex_a * 32 + 16: return convert_strided<Split, complex_a, 4>(o, p, s, buffer, block);
      case complex_a * 32 + 8: return convert_strided<Split, complex_a, 2>(o, p, s, buffer, block);
      case complex_b * 32 + 16: return convert_strided<Split, complex_b, 4>(o, p, s, buffer, block);
      default: return convert_strided<Split, complex_b, 2>(o, p, s, buffer, block);
    }
  }
  if (p.phase > find_maxima) return;
  bool const twice = o.kind == complex_b;
  if (o.alignment == 16) {
    return twice ? ContiguousLines<Split, true, false>(o, s, buffer, block).run(block)
                 : ContiguousLines<Split, false, false>(o, s, buffer, block).run(block);
  }
  return twice ? ContiguousLines<Split, true, true>(o, s, buffer, block).run(block)
               : ContiguousLines<Split, false, true>(o, s, buffer, block).run(block);
}

}  // namespace
}  // namespace gpk
