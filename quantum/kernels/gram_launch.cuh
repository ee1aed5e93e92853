// gram_launch.cuh: the launches of the Hopper kernels for tiles of the Gram matrix K.
#pragma once
#include <atomic>

#include "arguments.h"
#include "epilogue.cuh"
#include "few_wires_launch.cuh"
#include "gram_product.cuh"
#include "many_wires.cuh"

namespace gpk {
namespace {

// The target of a kernel: a rectangle off the diagonal of K, or a triangle, with its mirror.
gram::Target target(int64_t rows, int64_t cols, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror, bool triangle, double one, uint64_t partial) {
  auto down = [](int64_t n) { return static_cast<int>((n + gram::side - 1) / gram::side); };
  auto aligned = [](uint64_t at, int64_t pitch) { return at % 16 == 0 && pitch % 4 == 0; };
  bool const tma_stores = aligned(k, ld) && aligned(mirror, mirror != 0 ? ld_mirror : 0) && cols % 4 == 0 && (mirror == 0 || rows % 4 == 0);
  return {rows, cols, down(rows), down(cols), triangle, tma_stores, reinterpret_cast<float*>(k), ld, reinterpret_cast<float*>(mirror), ld_mirror,
          static_cast<float>(one), nullptr, 0, 0x1p-56f, reinterpret_cast<double*>(partial), nullptr};
}

// Adds n partial sums to total.
int launch_total(cudaStream_t s, gram::Target const& to, int64_t n, uint64_t total) {
  void* params[] = {const_cast<double**>(&to.partial), &n, &total};
  return launch(reinterpret_cast<void const*>(&total_kernel), dim3(1), dim3(1024), 0, s, params);
}

// Whether this device runs the kernels with Hopper's own instructions. It does not if the library was built for other
// targets.
bool has_hopper(int device) {
  static std::atomic<uint64_t> known{0};
  uint64_t const shift = device >= 0 && device < 32 ? 2 * device : 64;
  if (shift < 64) {
    uint64_t const k = known.load(std::memory_order_relaxed) >> shift & 3;
    if (k != 0) return k == 3;
  }
  cudaFuncAttributes a{};
  if (cudaFuncGetAttributes(&a, &gram::kernel<gram::Form<false, true>>) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  bool const yes = a.binaryVersion == 90 && a.ptxVersion == 90;
  if (shift < 64) known.fetch_or(uint64_t(yes ? 3 : 1) << shift, std::memory_order_relaxed);
  return yes;
}

// The pitch of the planes of states.
template <class F>
int64_t pitch_of(int64_t width) {
  return (width + F::depth - 1) / F::depth * F::depth;
}

// The number of persistent blocks, which loop over the tiles.
int persistent_blocks(gram::Target const& to, int device) {
  int const tiles = gram::tiles_of(to.triangle, to.down, to.across), sms = sm_count(device);
  return sms > 0 && sms < tiles ? sms : tiles;
}

// The sizes of the parts of a product's workspace: the planes of x and of y, the sums of each tile's two halves, and the
// accumulators of long sums.
template <class F>
struct GramWorkspace {
  int64_t x, y, partial, accumulators;
  GramWorkspace(gram::Target const& to, int64_t width, int device) {
    int64_t const line = 2 * F::planes * pitch_of<F>(width);
    x = line * to.rows;
    y = to.triangle ? 0 : line * to.cols;
    partial = 48 * int64_t(gram::tiles_of(to.triangle, to.down, to.across));
    accumulators = width <= F::depth * F::steps_per_partial ? 0 : int64_t(persistent_blocks(to, device)) * F::results * 256 * 4;
  }
  int64_t bytes() const { return x + y + accumulators + partial; }
};

// The sizes of the planes and partial sums for few wires, as in arguments.h.
struct FewWiresWorkspace {
  int64_t x, y, partial;
  FewWiresWorkspace(gram::Target const& to, wires::Groups of)
      : x(128 * of.steps() * (gram::side * int64_t(to.down))), y(128 * of.steps() * (gram::side * int64_t(to.across))), partial(48 * int64_t(to.down) * to.across) {}
  int64_t bytes() const { return x + y + partial; }
};

// Computes K from groups of wires with the kernel of gram_product.cuh, for targets that few_wires.cuh does not support.
int run_wire_groups(int device, cudaStream_t s, gram::Target to, wires::Groups of, uint64_t x, int64_t ld_x, uint64_t y, int64_t ld_y, uint64_t smem, uint64_t total) {
  using F = gram::Form<true, true, true>;
  static uint64_t allowed = 0;
  void const* kernel = reinterpret_cast<void const*>(&gram::kernel<F>);
  if (int const e = allow_shared(kernel, F::shared, device, &allowed)) return e;
  FewWiresWorkspace const parts(to, of);
  uint64_t const planes_y = to.triangle ? smem : smem + parts.x;
  to.partial = reinterpret_cast<double*>(smem + parts.x + parts.y);
  auto split = [&](uint64_t points, int64_t ld, int64_t n, uint64_t out) -> int {
    int64_t const blocks = (2 * of.steps() * n + 255) / 256;
    if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
    void* params[] = {&points, &ld, &n, &of, &out};
    return launch(reinterpret_cast<void const*>(&wires::planes_kernel), dim3(static_cast<unsigned>(blocks)), dim3(256), 0, s, params);
  };
  int e = split(x, ld_x, to.rows, smem);
  if (e == 0 && !to.triangle) e = split(y, ld_y, to.cols, planes_y);
  if (e != 0) return e;
  int steps = of.steps(), squared = of.planar_steps();
  CUtensorMap map_x, map_y, map_k, map_mirror;
  if (!gram::encode_planes<F>(&map_x, smem, to.rows, 32 * steps) || !gram::encode_planes<F>(&map_y, planes_y, to.cols, 32 * steps) ||
      !gram::encode_target(to, &map_k, &map_mirror))
    return GPK_ERR_KERNEL;
  void* params[] = {&map_x, &map_y, &map_k, &map_mirror, &to, &steps, &squared};
  e = launch(kernel, dim3(persistent_blocks(to, device)), dim3(gram::threads), F::shared, s, params);
  return e != 0 ? e : launch_total(s, to, 2 * persistent_blocks(to, device), total);
}

// Computes K from states.
template <class F>
int run_gram(int device, cudaStream_t s, gram::Target to, int64_t width, uint64_t x, uint64_t y, double const* norms_y, uint64_t smem, uint64_t total) {
  static uint64_t allowed = 0;
  void const* kernel = reinterpret_cast<void const*>(&gram::kernel<F>);
  if (int const e = allow_shared(kernel, F::shared, device, &allowed)) return e;
  GramWorkspace<F> const parts(to, width, device);
  uint64_t const planes_y = to.triangle ? smem : smem + parts.x;
  to.accumulators = reinterpret_cast<float*>(smem + parts.x + parts.y);
  to.partial = reinterpret_cast<double*>(smem + parts.x + parts.y + parts.accumulators);
  int64_t pitch = pitch_of<F>(width);
  auto split = [&](uint64_t state, int64_t n, double const* norms, uint64_t out) -> int {
    int64_t const blocks = (n * (pitch / 8) + 255) / 256;
    if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
    void* params[] = {&state, &n, &width, &pitch, &norms, &to.jitter, &out};
    return launch(reinterpret_cast<void const*>(&gram::planes_kernel<F>), dim3(static_cast<unsigned>(blocks)), dim3(256), 0, s, params);
  };
  int e = split(x, to.rows, to.norms, smem);
  if (e == 0 && !to.triangle) e = split(y, to.cols, norms_y, planes_y);
  if (e != 0) return e;
  CUtensorMap map_x, map_y, map_k, map_mirror;
  if (!gram::encode_planes<F>(&map_x, smem, to.rows, pitch) || !gram::encode_planes<F>(&map_y, planes_y, to.cols, pitch) ||
      !gram::encode_target(to, &map_k, &map_mirror))
    return GPK_ERR_KERNEL;
  int steps = static_cast<int>(pitch / F::depth);
  int squared = 0;
  void* params[] = {&map_x, &map_y, &map_k, &map_mirror, &to, &steps, &squared};
  e = launch(kernel, dim3(persistent_blocks(to, device)), dim3(gram::threads), F::shared, s, params);
  return e != 0 || total == 0 ? e : launch_total(s, to, 2 * persistent_blocks(to, device), total);
}

// Sets the members of `to` that differ if K is a product of several factors, of which this is one. A factor keeps its computed
// diagonal. Its scale corrects the average truncation error of the tensor
// cores: each instruction of a step that adds products of high planes decreases K by about 2^-23.
template <class F>
void as_factor(gram::Target& to, int64_t width) {
  int64_t const in_step = width < F::depth ? width : F::depth;
  to.one = 0;
  to.scale = static_cast<float>(0x1p-56 * (1 + 0x1p-23 * ((F::real ? 1 : 2) * ((in_step + 15) / 16))));
}

// Calls f with the form of the planes.
template <class Call>
auto with_form(bool real, bool split, bool factor, Call f) {
  if (split && factor) return real ? f(gram::Form<true, true, false, true>{}) : f(gram::Form<false, true, false, true>{});
  if (real) return split ? f(gram::Form<true, true>{}) : f(gram::Form<true, false>{});
  return split ? f(gram::Form<false, true>{}) : f(gram::Form<false, false>{});
}

// The workspace of quantum_gram.
int64_t gram_workspace(quantum_gram_args const& a, int device) {
  gram::Target const to = target(a.rows, a.cols, 0, 0, 0, 0, a.triangle != 0, 1, 0);
  return with_form(a.real != 0, a.split != 0, a.factor != 0, [&](auto form) { return GramWorkspace<decltype(form)>(to, a.width, device).bytes(); });
}

// Whether K has too many tiles.
bool too_many_tiles(int64_t rows, int64_t cols) { return (rows + gram::side - 1) / gram::side * ((cols + gram::side - 1) / gram::side) > INT32_MAX / 4; }

}  // namespace
}  // namespace gpk
