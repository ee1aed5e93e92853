// states.cu: the entry points that compute angles, slots, states and norms of many samples at once.
#include "amplitudes.cuh"
#include "entry.cuh"
#include "slots.cuh"

namespace gpk {
namespace {

template <class T, bool Real>
int launch_pass(int device, uint64_t stream, Pass<T> const& p) {
  static uint64_t allowed = 0;
  int const c = p.local < chunk_bits ? p.local : chunk_bits;
  int64_t const amplitudes = int64_t(p.samples) << p.local;
  int const threads = static_cast<int>(amplitudes >> c);
  if (threads > 512 || threads < 1) return GPK_ERR_ARGUMENT;
  int const shared = static_cast<int>((amplitudes + amplitudes / 32 + 2) * sizeof(T) * (Real ? 1 : 2));
  void const* kernel = reinterpret_cast<void const*>(&pass_kernel<T, Real>);
  constexpr int most = static_cast<int>(((1 << max_local) * 33 / 32 + 2) * sizeof(T) * (Real ? 1 : 2));
  if (int const e = allow_shared(kernel, most, device, &allowed)) return e;
  int64_t const blocks = p.local == p.qubits ? (p.n + p.samples - 1) / p.samples : p.n << (p.qubits - p.local);
  if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
  void* params[] = {const_cast<Pass<T>*>(&p)};
  return launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads), shared, reinterpret_cast<cudaStream_t>(stream), params);
}

template <class T, bool Real>
int run_pass(int device, uint64_t stream, quantum_pass_args const& a) {
  Pass<T> p{a.n, a.qubits, a.local, a.samples, reinterpret_cast<T*>(a.state), reinterpret_cast<int const*>(a.code),
            reinterpret_cast<T const*>(a.slots), a.slot_stride, reinterpret_cast<double const*>(a.angles), a.n_angles,
            reinterpret_cast<T const*>(a.tables), {}};
  for (int i = 0; i < a.qubits; ++i) p.position[i] = a.position[i];
  return launch_pass<T, Real>(device, stream, p);
}

// <psi|psi>^2 of every state, multiplied by the previous value unless first.
template <class T>
__global__ void norm_kernel(T const* state, int64_t width, double* out, bool first) {
  __shared__ double sums[8];
  T const* row = state + blockIdx.x * width;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sum += static_cast<double>(row[i]) * row[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += sums[w];
  out[blockIdx.x] = (first ? 1 : out[blockIdx.x]) * sum * sum;
}

}  // namespace
}  // namespace gpk

using namespace gpk;

GPK_KERNEL_ENTRY int quantum_angles(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_angles_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->x_type != GPK_F32 && a->x_type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  int64_t const threads = a->n * (a->features > a->angles ? a->features : a->angles);
  if (too_many_elements(threads)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  void* params[] = {&a->x, &a->first, &a->n, &a->features, &a->row, &a->col, &a->code, &a->coefs, &a->angles, &a->out, &a->status};
  return a->x_type == GPK_F32 ? launch_elements(threads, stream, &angle_kernel<float>, params)
                              : launch_elements(threads, stream, &angle_kernel<double>, params);
}

GPK_KERNEL_ENTRY int quantum_slots(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_slots_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->type != GPK_F32 && a->type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  int64_t const threads = a->n * a->slots;
  if (too_many_elements(threads)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  void* params[] = {&a->n, &a->slots, &a->code, &a->fixed, &a->angles, &a->n_angles, &a->out, &a->sample_stride, &a->value_stride};
  return a->type == GPK_F32 ? launch_elements(threads, stream, &slot_kernel<float>, params)
                            : launch_elements(threads, stream, &slot_kernel<double>, params);
}

GPK_KERNEL_ENTRY int quantum_pass(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_pass_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->n == 0) return 0;
  if (a->qubits < 1 || a->qubits > max_qubits || a->local < 1 || a->local > max_local || a->local > a->qubits || a->samples < 1 ||
      (a->local < a->qubits && a->samples != 1))
    return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  switch (a->type) {
    case GPK_F32: return run_pass<float, true>(device, stream, *a);
    case GPK_C64: return run_pass<float, false>(device, stream, *a);
    case GPK_F64: return run_pass<double, true>(device, stream, *a);
    case GPK_C128: return run_pass<double, false>(device, stream, *a);
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_KERNEL_ENTRY int quantum_norms(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_norms_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->n == 0) return 0;
  if (a->type != GPK_F32 && a->type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  if (a->n > INT32_MAX) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  bool first = a->first != 0;
  void* params[] = {&a->state, &a->width, &a->out, &first};
  void const* kernel = a->type == GPK_F32 ? reinterpret_cast<void const*>(&norm_kernel<float>) : reinterpret_cast<void const*>(&norm_kernel<double>);
  return launch(kernel, dim3(static_cast<unsigned>(a->n)), dim3(256), 0, reinterpret_cast<cudaStream_t>(stream), params);
}
