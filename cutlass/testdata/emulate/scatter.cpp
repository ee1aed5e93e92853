// scatter.cpp: the kernels of scatter_direct.cuh on the host. Reads one problem from its input, words of 64 bits: 0 for
// float32, 1 for integers, 2 for few integers, 3 for float32 in chunks of 8 bits; bytes of an element; bytes of an index; whether values is one row; rows;
// indices; width; then x, the indices and the values, each in whole words. Prints the flags and the result.
#include "cuda.h"

#define __shared__ static

template <class T>
T __shfl_xor_sync(unsigned mask, T x, int step) {
  return __shfl_sync(mask, x, static_cast<int>(threadIdx.x % 32) ^ step);
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline void atomicAdd(uint32_t* at, uint32_t v) { *at += v; }
inline void atomicAdd(unsigned long long* at, unsigned long long v) { *at += v; }
inline void atomicOr(uint32_t* at, uint32_t v) { *at |= v; }
inline void atomicMax(long long* at, long long v) {
  if (v > *at) *at = v;
}

namespace gpk {
constexpr int threads = 256;
struct Divider {
  uint32_t d;
  uint32_t divide(uint32_t n, uint32_t* rest) const {
    *rest = n % d;
    return n / d;
  }
};
}  // namespace gpk

#include "scatter_direct.cuh"

namespace {

int64_t word() {
  int64_t w;
  if (fread(&w, sizeof w, 1, stdin) != 1) exit(2);
  return w;
}

std::vector<int64_t> list(int64_t bytes) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < bytes; i += 8) all.push_back(word());
  return all;
}

struct Problem {
  int64_t bytes, index_bytes, splat, n, count, width;
  std::vector<int64_t> x, places, values;
  long long flags[2];
};

template <class S>
gpk::ScatterDirect<S> direct(Problem& p, S const& sums) {
  return {{p.places.data(), p.n, p.flags}, reinterpret_cast<typename S::value const*>(p.values.data()), sums, p.splat != 0,
          static_cast<uint32_t>(p.count * p.width), static_cast<uint32_t>(p.n * p.width), {static_cast<uint32_t>(p.width)}};
}

dim3 grid_of(int64_t items, int64_t each) { return dim3(static_cast<unsigned>((items - 1) / each + 1)); }

template <class S, class I>
void add(Problem& p, S const& sums) {
  Launcher().start<gpk::scatter_direct<S, I>>(grid_of(p.count * p.width, gpk::scatter_tile), gpk::threads, 0, direct(p, sums));
}

template <class U, class I>
void add_integers(Problem& p, bool shared) {
  gpk::IntegerSums<U> const sums{reinterpret_cast<U*>(p.x.data())};
  if (!shared) return add<gpk::IntegerSums<U>, I>(p, sums);
  Launcher().start<gpk::scatter_shared<U, I>>(dim3(3), gpk::threads, 0, direct(p, sums));
}

template <int W, class I>
void add_exactly(Problem& p) {
  int64_t const n = p.n * p.width;
  std::vector<uint64_t> chunks(static_cast<size_t>(gpk::exact::chunks<W> * n));
  std::vector<uint32_t> states(static_cast<size_t>(n)), out(p.x.size() * 2, 0x7fffffff);
  uint32_t minus_zero = 0;
  gpk::ExactDestination<W> destination{{chunks.data(), states.data(), &minus_zero, static_cast<uint32_t>(n), false},
                                       &minus_zero, out.data(), reinterpret_cast<uint32_t const*>(p.x.data())};
  Launcher().start<gpk::exact_prepare<W>>(grid_of(n, gpk::threads), gpk::threads, 0, destination);
  add<gpk::ExactSums<W>, I>(p, destination.sums);
  Launcher().start<gpk::exact_finish<W>>(grid_of(n, gpk::threads), gpk::threads, 0, destination);
  memcpy(p.x.data(), out.data(), out.size() * sizeof out[0]);
}

template <class I>
void run(Problem& p, int64_t kind) {
  if (kind == 0) return add_exactly<16, I>(p);
  if (kind == 3) return add_exactly<8, I>(p);
  p.bytes == 8 ? add_integers<uint64_t, I>(p, kind == 2) : add_integers<uint32_t, I>(p, kind == 2);
}

}  // namespace

int main() {
  int64_t const kind = word();
  Problem p{word(), word(), word(), word(), word(), word(), {}, {}, {}, {}};
  p.x = list(p.n * p.width * p.bytes);
  p.places = list(p.count * p.index_bytes);
  p.values = list((p.splat ? 1 : p.count) * p.width * p.bytes);
  blockDim.x = gpk::threads;
  emulate::backwards = p.count % 2 == 1;
  p.index_bytes == 8 ? run<int64_t>(p, kind) : run<int32_t>(p, kind);
  fwrite(p.flags, sizeof p.flags, 1, stdout);
  fwrite(p.x.data(), sizeof p.x[0], p.x.size(), stdout);
}
