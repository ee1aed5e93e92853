// gemm_long.cu: the unit of the products of a few rows with a few columns over a long k.
#include "gemm_long.cuh"

namespace gpk {
namespace long_k {
namespace {

using Single = Real<float, float>;
using Double = Real<double, double>;
using Half = Real<__half, float>;
using BFloat16 = Real<__nv_bfloat16, float>;
using ComplexSingle = Complex<float2, float>;
using ComplexDouble = Complex<double2, double>;

}  // namespace
}  // namespace long_k

GPK_LONG(f32_f32, 1, long_k::Single)
GPK_LONG(f32_f32, 8, long_k::Single)
GPK_LONG(tf32_f32, 1, long_k::Tf32)
GPK_LONG(tf32_f32, 8, long_k::Tf32)
GPK_LONG(f64_f64, 1, long_k::Double)
GPK_LONG(f64_f64, 8, long_k::Double)
GPK_LONG(f16_f32, 1, long_k::Half)
GPK_LONG(f16_f32, 8, long_k::Half)
GPK_LONG(bf16_f32, 1, long_k::BFloat16)
GPK_LONG(bf16_f32, 8, long_k::BFloat16)
GPK_LONG(c64_c64, 1, long_k::ComplexSingle)
GPK_LONG(c64_c64, 4, long_k::ComplexSingle)
GPK_LONG(c64tf32_c64, 1, long_k::ComplexTf32)
GPK_LONG(c64tf32_c64, 4, long_k::ComplexTf32)
GPK_LONG(c128_c128, 1, long_k::ComplexDouble)
GPK_LONG(c128_c128, 4, long_k::ComplexDouble)

}  // namespace gpk
