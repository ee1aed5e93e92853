// few_wires_launch.cuh: the launches of the kernels for few wires.
#pragma once
#include <type_traits>

#include "few_wires.cuh"

namespace gpk {
namespace few_wires {
namespace {

// Whether these kernels support K and its wires. They need stores of 16 bytes.
inline bool supports(gram::Target const& to, wires::Groups of) { return to.tma_stores && of.steps() <= 4; }

// Calls f with the number of groups and whether all are of planar wires.
template <class Call>
int with_groups(wires::Groups of, Call f) {
  auto with = [&](auto count) -> int {
    constexpr int Groups = decltype(count)::value;
    if constexpr (Groups <= 4)
      if (of.full == 0) return f(count, std::true_type{});
    return f(count, std::false_type{});
  };
  switch (of.steps()) {
    case 1: return with(std::integral_constant<int, 2>{});
    case 2: return with(std::integral_constant<int, 4>{});
    case 3: return with(std::integral_constant<int, 6>{});
    case 4: return with(std::integral_constant<int, 8>{});
  }
  return GPK_ERR_UNSUPPORTED;
}

// The addresses of the planes of rows, the planes of columns and the counters.
template <int Groups>
struct Workspace {
  uint64_t rows, cols, counters;
  Workspace(gram::Target const& to, uint64_t at) : rows(at), cols(at + planes_bytes(to.rows, Groups)), counters(cols + planes_bytes(to.cols, Groups)) {}
};

// Starts the kernel for K, from planes.
template <int Groups, bool Planar>
int start(int device, cudaStream_t s, gram::Target const& to, wires::Groups of, Workspace<Groups> const& at, uint64_t total) {
  static uint64_t allowed = 0;
  void const* code = reinterpret_cast<void const*>(&kernel<Groups, Planar>);
  if (int const e = allow_shared(code, shared_bytes<Groups>, device, &allowed)) return e;
  Planes from{2 * of.planar_steps(), reinterpret_cast<uint4 const*>(at.rows), reinterpret_cast<unsigned char const*>(at.cols),
              reinterpret_cast<Counters*>(at.counters), reinterpret_cast<double*>(total)};
  int const tiles = gram::tiles_of(to.triangle, to.down, to.across), sms = sm_count(device);
  void* params[] = {const_cast<gram::Target*>(&to), &from};
  return launch(code, dim3(sms > 0 && sms < tiles ? sms : tiles), dim3(threads), shared_bytes<Groups>, s, params, 1, 1, true);
}

// The number of blocks that compute the planes of n samples; 0 if there would be too many.
template <int Groups>
unsigned blocks_for(int64_t n) {
  int64_t const blocks = 4 * Groups * padded(n) / 256;
  return blocks > INT32_MAX ? 0 : static_cast<unsigned>(blocks);
}

// Starts the kernels for planes and for K, from points.
inline int run(int device, cudaStream_t s, gram::Target const& to, wires::Groups of, uint64_t x, int64_t ld_x, uint64_t y, int64_t ld_y, uint64_t workspace,
               uint64_t total) {
  return with_groups(of, [&](auto count, auto planar) -> int {
    constexpr int Groups = decltype(count)::value;
    Workspace<Groups> at(to, workspace);
    auto split = [&](uint64_t points, int64_t ld, int64_t n, uint64_t rows, uint64_t cols) -> int {
      unsigned const blocks = blocks_for<Groups>(n);
      if (blocks == 0) return GPK_ERR_ARGUMENT;
      void* params[] = {&points, &ld, &n, &of, &rows, &cols, &at.counters};
      return launch(reinterpret_cast<void const*>(&planes_kernel<Groups>), dim3(blocks), dim3(256), 0, s, params, 1, 1, true);
    };
    int e = split(x, ld_x, to.rows, at.rows, to.triangle ? at.cols : 0);
    if (e == 0 && !to.triangle) e = split(y, ld_y, to.cols, 0, at.cols);
    return e != 0 ? e : start<Groups, decltype(planar)::value>(device, s, to, of, at, total);
  });
}

// The same for a symmetric K, from the samples.
template <class X>
int run_samples(int device, cudaStream_t s, gram::Target const& to, wires::Groups of, uint64_t x, int64_t features, int64_t row, int64_t col, quantum_code& code,
                Notes notes, uint64_t workspace) {
  return with_groups(of, [&](auto count, auto planar) -> int {
    constexpr int Groups = decltype(count)::value;
    Workspace<Groups> at(to, workspace);
    int64_t n = to.rows;
    unsigned const blocks = blocks_for<Groups>(n);
    if (blocks == 0) return GPK_ERR_ARGUMENT;
    void* params[] = {&x, &n, &features, &row, &col, &of, &code, &at.rows, &at.cols, &at.counters, &notes};
    int const e = launch(reinterpret_cast<void const*>(&samples_kernel<X, Groups>), dim3(blocks), dim3(256), 0, s, params, 1, 1, true);
    uint64_t const total = reinterpret_cast<uint64_t>(notes.words + notes.all - 3);
    return e != 0 ? e : start<Groups, decltype(planar)::value>(device, s, to, of, at, total);
  });
}

}  // namespace
}  // namespace few_wires
}  // namespace gpk
