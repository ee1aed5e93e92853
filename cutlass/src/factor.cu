// factor.cu: the entry point of gpk_factor.h.
#include "factor_run.cuh"
#include "ops.cuh"
#include "registry.cuh"

using namespace gpk;

namespace {

// Launches a kernel of factor_*.cuh. Each calls begin() before it accesses global memory.
struct Launcher {
  int device;
  uint64_t stream;

  template <auto KERNEL, class P>
  int start(dim3 grid, int threads, int shared, P const& p, int cluster = 1) const {
    static uint64_t known = 0, allowed = 0;
    auto const kernel = reinterpret_cast<void const*>(KERNEL);
    if (int const code = allow_shared(kernel, shared, device, &allowed)) return code;
    void* args[] = {const_cast<P*>(&p)};
    return launch(kernel, grid, dim3(threads), shared, reinterpret_cast<cudaStream_t>(stream), args, cluster, 1,
                  waits_for_previous(kernel, device, &known));
  }
  int fill(uint64_t at, int64_t bytes, int value) const {
    cudaError_t const e = cudaMemsetAsync(reinterpret_cast<void*>(at), value, bytes, reinterpret_cast<cudaStream_t>(stream));
    if (e != cudaSuccess) cudaGetLastError();
    return e;
  }
  bool clusters() const {
    int v = 0;
    if (cudaDeviceGetAttribute(&v, cudaDevAttrClusterLaunch, device) != cudaSuccess) cudaGetLastError();
    static uint64_t known = 0;
    return v != 0 && waits_for_previous(reinterpret_cast<void const*>(factor::factor_panel<float, 1>), device, &known);
  }
  int processors() const { return sm_count(device); }
};

}  // namespace

int gpk_factor(gpk_factor_args const* a) {
  if (a->size != sizeof *a || a->rows < 0 || a->cols < 0 || a->batch < 0 || a->rows > INT32_MAX || a->cols > INT32_MAX ||
      a->batch > INT32_MAX) {
    return GPK_ERR_ARGUMENT;
  }
  if (int const code = set_device(a->device)) return code;
  return factor::run(*a, Launcher{a->device, a->stream});
}
