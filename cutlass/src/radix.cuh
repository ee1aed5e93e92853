// radix.cuh: sorts of many keys by radix, with CUB. radix.cu has the code, which takes long to compile.
#pragma once
#include <cstdint>

namespace gpk {

// n keys of 2, 4 or 8 bytes, to be sorted in ascending order of their lowest bits; equal keys keep their order. Each
// has two buffers, of which the first one holds what is sorted.
struct RadixSort {
  int key_bytes;
  int bits;
  int64_t n;            // below 2^31
  void* keys[2];
  uint32_t* values[2];  // what follows the keys; nullptr: nothing
};

// Bytes of workspace for radix_sort on the current device; negative: the negated code.
int64_t radix_workspace(RadixSort const& sort);

// Sorts. *sorted is the buffer, 0 or 1, with the result; the other one is overwritten. Returns a code.
int radix_sort(RadixSort const& sort, uint64_t workspace, int64_t workspace_bytes, uint64_t stream, int* sorted);

}  // namespace gpk
