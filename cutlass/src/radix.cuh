// radix.cuh: sorts many keys by radix, with CUB. The code is in radix.cu, because it takes long to compile.
#pragma once
#include <cstdint>

namespace gpk {

// n keys of 2, 4 or 8 bytes, which are sorted in ascending order of their lowest bits. Equal keys keep their order.
// There are two buffers of each; the first contains the input.
struct RadixSort {
  int key_bytes;
  int bits;
  int64_t n;  // below 2^31
  void* keys[2];
  uint32_t* values[2];  // one per key, moved with it; nullptr: none
};

// Returns the bytes of workspace for radix_sort on the current device, or a negated code.
int64_t radix_workspace(RadixSort const& sort);

// Sorts. *sorted is the buffer, 0 or 1, that contains the result. The other one is overwritten. Returns a code.
int radix_sort(RadixSort const& sort, uint64_t workspace, int64_t workspace_bytes, uint64_t stream, int* sorted);

}  // namespace gpk
