// gram.cu: the entry points that compute tiles of the Gram matrix K: the closed form of circuits that do not entangle
// their wires, the products of states for Hopper, and the epilogue of products by other kernels.
#include "closed_form.cuh"
#include "entry.cuh"
#include "epilogue.cuh"
#include "gram_launch.cuh"
#include "launch_impl.cuh"

using namespace gpk;

GPK_KERNEL_LIBRARY(error_text)

GPK_KERNEL_ENTRY int quantum_closed_form(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_closed_form_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  quantum_points const& of = a->points;
  if (of.rows == 0 || of.cols == 0) return 0;
  dim3 const grid(static_cast<unsigned>((of.cols + closed_side - 1) / closed_side), static_cast<unsigned>((of.rows + closed_side - 1) / closed_side));
  if (grid.y > 65535) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  auto start = [&](auto zero) {
    using T = decltype(zero);
    ClosedForm<T> p{of.rows, of.cols, reinterpret_cast<T const*>(of.x), reinterpret_cast<T const*>(of.y), of.ld_x, of.ld_y,
                    of.planar, of.full, a->dot != 0, a->upper != 0, a->times != 0, reinterpret_cast<T*>(a->k), a->ld};
    void* params[] = {&p};
    return launch(reinterpret_cast<void const*>(&closed_form_kernel<T>), grid, dim3(256), 0, reinterpret_cast<cudaStream_t>(stream), params);
  };
  switch (a->type) {
    case GPK_F32: return start(float{});
    case GPK_F64: return start(double{});
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_KERNEL_ENTRY int quantum_epilogue(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_epilogue_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->rows == 0 || a->cols == 0) return 0;
  if (a->workspace_bytes < epilogue_workspace(a->rows, a->cols)) return GPK_ERR_WORKSPACE;
  if (int const e = set_device(device)) return e;
  auto start = [&](auto zero) {
    using T = decltype(zero);
    return launch_epilogue<T>(stream, GramEpilogue<T>{a->rows, a->cols, reinterpret_cast<T*>(a->k), a->ld, reinterpret_cast<T*>(a->mirror), a->ld_mirror,
                                                      a->triangle != 0, a->square != 0, static_cast<T>(a->one), reinterpret_cast<double const*>(a->norm_x),
                                                      reinterpret_cast<double const*>(a->norm_y), a->jitter, reinterpret_cast<double*>(a->workspace)},
                              reinterpret_cast<double*>(a->total));
  };
  switch (a->type) {
    case GPK_F32: return start(float{});
    case GPK_F64: return start(double{});
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_KERNEL_ENTRY int quantum_closed_gram(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_closed_gram_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  quantum_points const& p = a->points;
  if (p.rows == 0 || p.cols == 0) return 0;
  if (too_many_tiles(p.rows, p.cols) || p.planar + p.full == 0) return GPK_ERR_ARGUMENT;
  if (a->dot == 0 && (p.x % 16 != 0 || p.y % 16 != 0 || p.ld_x % 4 != 0 || p.ld_y % 4 != 0)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  if (!has_hopper(device)) return GPK_ERR_UNSUPPORTED;
  gram::Target const to = target(p.rows, p.cols, a->k, a->ld, a->mirror, a->ld_mirror, a->triangle != 0, a->one, a->workspace);
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  if (a->dot != 0) {
    wires::Groups const of{p.planar, p.full};
    if (a->workspace_bytes < FewWiresWorkspace(to, of).bytes() || a->workspace % 128 != 0) return GPK_ERR_WORKSPACE;
    if (few_wires::supports(to, of)) return few_wires::run(device, s, to, of, p.x, p.ld_x, p.y, p.ld_y, a->workspace, a->total);
    return run_wire_groups(device, s, to, of, p.x, p.ld_x, p.y, p.ld_y, a->workspace, a->total);
  }
  int64_t const parts = many_wires::blocks(to, device);
  if (a->workspace_bytes < 24 * parts) return GPK_ERR_WORKSPACE;
  int const e = many_wires::run(device, s, to, p.x, p.ld_x, p.y, p.ld_y, p.planar, p.full);
  return e != 0 ? e : launch_total(s, to, parts, a->total);
}

GPK_KERNEL_ENTRY int quantum_sample_gram(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_sample_gram_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->n == 0) return 0;
  if (a->x_type != GPK_F32 && a->x_type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  if (too_many_tiles(a->n, a->n) || a->planar + a->full == 0) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  gram::Target const to = target(a->n, a->n, a->k, a->ld, a->k, a->ld, true, a->one, a->workspace);
  wires::Groups const of{a->planar, a->full};
  if (!has_hopper(device) || !few_wires::supports(to, of)) return GPK_ERR_UNSUPPORTED;
  if (a->workspace_bytes < FewWiresWorkspace(to, of).bytes() || a->workspace % 128 != 0) return GPK_ERR_WORKSPACE;
  few_wires::Notes const notes{reinterpret_cast<unsigned long long*>(a->notes), a->found, a->words};
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  return a->x_type == GPK_F32 ? few_wires::run_samples<float>(device, s, to, of, a->x, a->features, a->row, a->col, a->code, notes, a->workspace)
                              : few_wires::run_samples<double>(device, s, to, of, a->x, a->features, a->row, a->col, a->code, notes, a->workspace);
}

GPK_KERNEL_ENTRY int quantum_gram_workspace(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_gram_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  a->workspace_bytes = 0;
  if (a->rows < 1 || a->cols < 1 || a->width < 1 || too_many_tiles(a->rows, a->cols)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  if (has_hopper(device)) a->workspace_bytes = gram_workspace(*a, device);
  return 0;
}

GPK_KERNEL_ENTRY int quantum_gram(int device, uint64_t stream, void* args, int64_t bytes) {
  auto* const a = arguments<quantum_gram_args>(args, bytes);
  if (a == nullptr) return GPK_ERR_ARGUMENT;
  if (a->rows == 0 || a->cols == 0) return 0;
  if (a->rows < 1 || a->cols < 1 || a->width < 1 || too_many_tiles(a->rows, a->cols)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  if (!has_hopper(device)) return GPK_ERR_UNSUPPORTED;
  if (a->workspace_bytes < gram_workspace(*a, device) || a->workspace % 128 != 0) return GPK_ERR_WORKSPACE;
  bool const real = a->real != 0, vectors = a->x % 16 == 0 && a->y % 16 == 0 && a->width * (real ? 1 : 2) % 4 == 0;
  if ((a->width >= 8 && !vectors) || a->width > INT64_C(1) << 31) return GPK_ERR_ARGUMENT;  // TMA's coordinates are below 2^31
  gram::Target to = target(a->rows, a->cols, a->k, a->ld, a->mirror, a->ld_mirror, a->triangle != 0, a->one, 0);
  to.norms = reinterpret_cast<double const*>(a->norm_x), to.jitter = a->jitter;
  return with_form(real, a->split != 0, a->factor != 0, [&](auto form) {
    if (a->factor != 0) as_factor<decltype(form)>(to, a->width);
    return run_gram<decltype(form)>(device, reinterpret_cast<cudaStream_t>(stream), to, a->width, a->x, a->y, reinterpret_cast<double const*>(a->norm_y),
                                    a->workspace, a->total);
  });
}
