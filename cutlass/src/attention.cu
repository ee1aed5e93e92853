// attention.cu: the entry points of gpk_attention.h and the choice of the kernel for a problem.
#include "attention_run.cuh"
#include "ops.cuh"

namespace gpk {

// Defined in attention_sm90.cu, for the current device. They are nullptr in a build without the Hopper kernel.
__attribute__((weak)) bool long_attention_supports(gpk_attention_args const& a);
__attribute__((weak)) cudaError_t long_attention(gpk_attention_args const& a, cudaStream_t stream);

namespace {

// Whether the Hopper kernel computes the problem or, of a ragged batch, the long sequences.
bool uses_long_kernel(gpk_attention_args const& a) {
  return long_attention_supports != nullptr && long_attention != nullptr && a.queries >= GPK_ATTENTION_LONG &&
         (a.offsets == 0 || a.longest >= GPK_ATTENTION_LONG) && a.keys > 0 && a.value_dim > 0 && a.heads > 0 && a.batch > 0 && long_attention_supports(a);
}

// The device's largest shared memory per block in bytes (opt-in); 0 if the query fails.
int max_shared(int device) {
  static int known[64] = {};
  int bytes = device >= 0 && device < 64 ? __atomic_load_n(&known[device], __ATOMIC_RELAXED) : 0;
  if (bytes != 0) return bytes;
  if (cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  if (device < 64) __atomic_store_n(&known[device], bytes, __ATOMIC_RELAXED);
  return bytes;
}

int check(gpk_attention_args const* a) {
  if (a == nullptr || a->size != sizeof *a) return GPK_ERR_ARGUMENT;
  for (int64_t n : {a->batch, a->heads, a->kv_heads, a->queries, a->keys, a->dim, a->value_dim}) {
    if (n < 0) return GPK_ERR_ARGUMENT;
  }
  if (a->kv_heads == 0 ? a->heads != 0 : a->heads % a->kv_heads != 0) return GPK_ERR_ARGUMENT;
  if (!attention::supports(*a)) return GPK_ERR_UNSUPPORTED;
  return attention::shared_bytes(*a) <= max_shared(a->device) ? GPK_OK : GPK_ERR_UNSUPPORTED;
}

}  // namespace
}  // namespace gpk

extern "C" int64_t gpk_attention_workspace(gpk_attention_args const* a) {
  int const code = gpk::check(a);
  if (code != GPK_OK) return -code;
  return gpk::attention::workspace(*a);
}

extern "C" char const* gpk_attention_kernel(gpk_attention_args const* a) {
  if (gpk::check(a) != GPK_OK || gpk::set_device(a->device) != GPK_OK) return nullptr;
  if (!gpk::uses_long_kernel(*a)) return gpk::attention::name(*a);
  return a->offsets != 0 ? "attention_sm90, attention_tiles" : "attention_sm90";
}

extern "C" int gpk_attention(gpk_attention_args const* a) {
  int code = gpk::check(a);
  if (code == GPK_OK && a->workspace_bytes < gpk::attention::workspace(*a)) code = GPK_ERR_WORKSPACE;
  if (code == GPK_OK) code = gpk::set_device(a->device);
  if (code != GPK_OK) return code;
  cudaStream_t const stream = reinterpret_cast<cudaStream_t>(a->stream);
  gpk_attention_args args = *a;
  args.longest = INT64_MAX;  // the caller's bound may be wrong
  if (!gpk::uses_long_kernel(*a)) return gpk::attention::run(args, stream);
  if (a->offsets != 0) {
    args.longest = GPK_ATTENTION_LONG - 1;
    code = gpk::attention::run(args, stream);
    if (code != GPK_OK) return code;
    args.longest = INT64_MAX;
    args.shortest = GPK_ATTENTION_LONG;
    return gpk::long_attention(args, stream);
  }
  return gpk::long_attention(*a, stream);
}
