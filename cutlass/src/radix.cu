// radix.cu: radix.cuh on CUB's DeviceRadixSort.
#include "radix.cuh"

#include <cub/device/device_radix_sort.cuh>

#include "gpk.h"

namespace gpk {
namespace {

template <class K>
cudaError_t sort(RadixSort const& s, void* workspace, size_t* bytes, cudaStream_t stream, int* sorted) {
  cub::DoubleBuffer<K> keys(static_cast<K*>(s.keys[0]), static_cast<K*>(s.keys[1]));
  cub::DoubleBuffer<uint32_t> values(s.values[0], s.values[1]);
  uint32_t const n = static_cast<uint32_t>(s.n);
  cudaError_t const e = s.values[0] != nullptr
                            ? cub::DeviceRadixSort::SortPairs(workspace, *bytes, keys, values, n, 0, s.bits, stream)
                            : cub::DeviceRadixSort::SortKeys(workspace, *bytes, keys, n, 0, s.bits, stream);
  *sorted = keys.selector;
  return e;
}

cudaError_t sort_any(RadixSort const& s, void* workspace, size_t* bytes, uint64_t stream, int* sorted) {
  cudaStream_t const on = reinterpret_cast<cudaStream_t>(stream);
  switch (s.key_bytes) {
    case 8: return sort<uint64_t>(s, workspace, bytes, on, sorted);
    case 4: return sort<uint32_t>(s, workspace, bytes, on, sorted);
    default: return sort<uint16_t>(s, workspace, bytes, on, sorted);
  }
}

}  // namespace

int64_t radix_workspace(RadixSort const& s) {
  size_t bytes = 0;
  int sorted;
  cudaError_t const e = sort_any(s, nullptr, &bytes, 0, &sorted);
  if (e != cudaSuccess) {
    cudaGetLastError();
    return -static_cast<int64_t>(e);
  }
  return static_cast<int64_t>(bytes);
}

int radix_sort(RadixSort const& s, uint64_t workspace, int64_t workspace_bytes, uint64_t stream, int* sorted) {
  size_t bytes = static_cast<size_t>(workspace_bytes);
  cudaError_t const e = sort_any(s, reinterpret_cast<void*>(workspace), &bytes, stream, sorted);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

}  // namespace gpk
