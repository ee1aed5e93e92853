// attention_sm90.cu: the unit of Hopper's attention kernel, for long sequences; see attention.cu.
#include "attention_launch_sm90.cuh"

namespace gpk {
namespace {

// Whether the device is of compute capability 9.0.
bool is_hopper(int device) {
  static uint64_t yes = 0, no = 0;
  uint64_t const bit = device >= 0 && device < 64 ? uint64_t(1) << device : 0;
  if (__atomic_load_n(&yes, __ATOMIC_RELAXED) & bit) return true;
  if (__atomic_load_n(&no, __ATOMIC_RELAXED) & bit) return false;
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  bool const is = major == 9 && minor == 0;
  __atomic_fetch_or(is ? &yes : &no, bit, __ATOMIC_RELAXED);
  return is;
}

}  // namespace

bool long_attention_supports(gpk_attention_args const& a) { return is_hopper(a.device) && attention_sm90_supports(a); }

cudaError_t long_attention(gpk_attention_args const& a, cudaStream_t stream) { return attention_sm90(a, stream); }

}  // namespace gpk
