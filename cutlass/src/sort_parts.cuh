// sort_parts.cuh: the parts of a workspace.
#pragma once
#include <cstdint>

namespace gpk {
namespace {

// Divides a workspace into consecutive parts, each a multiple of 256 bytes.
struct Parts {
  uint64_t at = 0;
  template <class T>
  T* part(uint64_t base, int64_t count) {
    uint64_t const here = at;
    at += (count * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(base + here);
  }
};

}  // namespace
}  // namespace gpk
