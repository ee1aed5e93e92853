// cuda.h: runs the kernels of factor_*.cuh on the host. The threads of a CTA run one after the other, each until its
// next barrier. Between two barriers a thread sees what earlier threads wrote, but not what later ones will write, as
// can happen on a GPU. The order of the threads can be reversed. Shared memory is poisoned for every CTA.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#define GPK_EMULATED
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define GPK_FACTOR_HOST_DEVICE inline
#define GPK_FACTOR_SHARED(name) char* const name = emulate::shared[emulate::current / emulate::count]

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulate {

constexpr int most_threads = 512, stack_bytes = 64 << 10, shared_bytes = 227 << 10, most_ctas = 8;
alignas(128) inline char shared[most_ctas][shared_bytes];  // of a cluster's CTAs

enum State { Ready, AtWarp, AtBlock, AtCluster, Done };
struct Thread {
  ucontext_t context;  // of the first entry; jumps, which save no signals, are faster
  jmp_buf point;
  bool entered;
  State state;
  alignas(16) char slot[64];  // what the thread lends to its warp
};
inline Thread threads[most_threads];
inline char* stacks = static_cast<char*>(malloc(size_t{most_threads} * stack_bytes));
inline jmp_buf scheduler;
inline int current, count;  // the thread in its cluster, and the threads of a CTA
inline bool backwards;
constexpr int most_yields = 1 << 24;
inline int yields;  // of a launch
inline uint32_t turns = 1;  // draws the CTAs that run until their next barriers
inline std::function<void()> body;

inline void fail(char const* what) {
  fprintf(stderr, "block %u %u %u, thread %d: %s\n", blockIdx.x, blockIdx.y, blockIdx.z, current, what);
  exit(1);
}

inline void wait(State s) {
  threads[current].state = s;
  if (_setjmp(threads[current].point) == 0) _longjmp(scheduler, 1);
}

// Lets other threads run before the next read of what another CTA writes.
inline void yield() {
  if (++yields > most_yields) fail("a CTA waits for one that does not run");
  wait(Ready);
}

inline void enter() {
  body();
  threads[current].state = Done;
  _longjmp(scheduler, 1);
}

// Releases the threads first to last if all that are alive wait in one state.
inline bool release(int first, int last, State s) {
  bool any = false;
  for (int i = first; i < last; ++i) {
    if (threads[i].state == Done) continue;
    if (threads[i].state != s) return false;
    any = true;
  }
  for (int i = first; any && i < last; ++i) {
    if (threads[i].state == s) threads[i].state = Ready;
  }
  return any;
}

// Runs CTAs of `each` threads together: a cluster, or CTAs that may wait for each other. Of several, only some run until
// their next barriers or reads at a time; which ones is drawn.
inline void cluster(int each, int ctas) {
  int const n = each * ctas;
  unsigned const first = blockIdx.x;
  count = each;
  memset(shared, 0xff, static_cast<size_t>(ctas) * shared_bytes);
  for (int i = 0; i < n; ++i) {
    getcontext(&threads[i].context);
    threads[i].context.uc_stack.ss_sp = stacks + size_t(i) * stack_bytes;
    threads[i].context.uc_stack.ss_size = stack_bytes;
    threads[i].context.uc_link = nullptr;
    threads[i].state = Ready;
    threads[i].entered = false;
    makecontext(&threads[i].context, enter, 0);
  }
  for (;;) {
    bool volatile ran = false, alive = false;
    turns = turns * 1664525 + 1013904223;
    for (volatile int k = 0; k < n; ++k) {
      int const i = backwards ? n - 1 - k : k;
      if (threads[i].state != Ready) continue;
      ran = true;
      if (ctas > 1 && turns >> (16 + i / each) & 1) continue;
      current = i;
      threadIdx.x = static_cast<unsigned>(i % each);
      blockIdx.x = first + static_cast<unsigned>(i / each);
      if (_setjmp(scheduler) == 0) {
        if (threads[i].entered) _longjmp(threads[i].point, 1);
        threads[i].entered = true;
        setcontext(&threads[i].context);
      }
    }
    for (int w = 0; w < n; w += 32) ran = release(w, w + 32 < n ? w + 32 : n, AtWarp) || ran;
    for (int b = 0; b < n; b += each) ran = release(b, b + each, AtBlock) || ran;
    ran = release(0, n, AtCluster) || ran;
    for (int i = 0; i < n; ++i) alive = alive || threads[i].state != Done;
    if (!alive) return;
    if (!ran) fail("threads wait for each other");
  }
}

// Lends bytes to the warp; the lanes' bytes can be read until give_back.
inline void lend(void const* p, size_t n) {
  memcpy(threads[current].slot, p, n);
  wait(AtWarp);
}
inline void give_back() { wait(AtWarp); }
inline void const* lane(int i) { return threads[current / 32 * 32 + i].slot; }

}  // namespace emulate

inline void __syncthreads() { emulate::wait(emulate::AtBlock); }
inline void __syncwarp() { emulate::wait(emulate::AtWarp); }
template <class T>
T __shfl_sync(unsigned, T x, int from) {
  emulate::lend(&x, sizeof x);
  T y;
  memcpy(&y, emulate::lane(from), sizeof y);
  emulate::give_back();
  return y;
}
inline uint32_t __ballot_sync(unsigned, bool x) {
  emulate::lend(&x, sizeof x);
  uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= uint32_t{*static_cast<bool const*>(emulate::lane(i))} << i;
  emulate::give_back();
  return bits;
}
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __uint_as_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
inline void atomicMin(long long* at, long long v) {
  if (v < *at) *at = v;
}

namespace gpk {
inline void begin() {}
namespace factor {
namespace {

inline uint32_t to_tf32(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return x - x == 0 ? (u + 0x1000) & ~0x1fffu : u;
}

template <class R, class O>
void multiply_lanes(R (&c)[4], O const (&a)[4], O const (&b)[2], R (*number)(O)) {
  struct {
    O a[4], b[2];
  } own;
  memcpy(own.a, a, sizeof a);
  memcpy(own.b, b, sizeof b);
  emulate::lend(&own, sizeof own);
  int const lane = emulate::current % 32, g = lane / 4, t = lane % 4;
  for (int e = 0; e < 4; ++e) {
    int const row = g + e / 2 * 8, col = 2 * t + e % 2;
    for (int k = 0; k < 8; ++k) {
      auto const* const left = static_cast<decltype(own) const*>(emulate::lane(row % 8 * 4 + k % 4));
      auto const* const right = static_cast<decltype(own) const*>(emulate::lane(col * 4 + k % 4));
      c[e] += number(left->a[row / 8 + k / 4 * 2]) * number(right->b[k / 4]);
    }
  }
  emulate::give_back();
}
inline void multiply_tf32(float (&c)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  multiply_lanes<float, uint32_t>(c, a, b, [](uint32_t u) { return __uint_as_float(u); });
}
inline void multiply_f64(double (&c)[4], double const (&a)[4], double const (&b)[2]) {
  multiply_lanes<double, double>(c, a, b, [](double x) { return x; });
}

template <int BYTES>
void cp_async_zfill(void* to, void const* from, int in) {
  if (reinterpret_cast<uintptr_t>(to) % BYTES != 0 || reinterpret_cast<uintptr_t>(from) % BYTES != 0) emulate::fail("a copy is not aligned");
  memset(to, 0, BYTES);
  memcpy(to, from, static_cast<size_t>(in));
}
inline int load_acquire(int const* p) {
  emulate::yield();
  return *p;
}
inline void store_release(int* p, int v) { *p = v; }
inline int next_task(int* p) { return (*p)++; }
inline void prefetch(void const*) {}
inline unsigned cluster_rank() { return static_cast<unsigned>(emulate::current / emulate::count); }
template <class P>
P* of_cta(P* p, int rank) {
  auto const at = reinterpret_cast<char*>(p) - emulate::shared[cluster_rank()];
  return reinterpret_cast<P*>(emulate::shared[rank] + at);
}
inline void cluster_sync() { emulate::wait(emulate::AtCluster); }
// A barrier is the number of bytes that have not arrived.
inline void mbarrier_init_expect_tx(uint64_t* barrier, int bytes) { *barrier = static_cast<uint64_t>(bytes); }
inline void mbarrier_wait(uint64_t const* barrier) {
  while (*barrier != 0) emulate::yield();
}
template <class W>
void store_async(W* to, W const& from, uint64_t* barrier, int rank) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || sizeof(W) != 16) emulate::fail("a message is not aligned");
  memcpy(static_cast<void*>(of_cta(to, rank)), &from, sizeof(W));
  uint64_t* const left = of_cta(barrier, rank);
  if (*left < sizeof(W)) emulate::fail("a barrier does not expect what is sent");
  *left -= sizeof(W);
}
inline uint32_t warp_fold(uint32_t x, bool most) {
  emulate::lend(&x, sizeof x);
  uint32_t best = x;
  for (int i = 0; i < 32; ++i) {
    uint32_t y;
    memcpy(&y, emulate::lane(i), sizeof y);
    if (most ? y > best : y < best) best = y;
  }
  emulate::give_back();
  return best;
}
inline uint32_t warp_max(uint32_t x) { return warp_fold(x, true); }
inline uint32_t warp_min(uint32_t x) { return warp_fold(x, false); }
inline uint32_t warp_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
inline int first_bit(uint32_t x) { return __builtin_ctz(x); }
inline uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
inline uint64_t bits_of(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
inline void cp_async_commit() {}
template <int N>
void cp_async_wait() {}

}  // namespace
}  // namespace factor
}  // namespace gpk

// Launches on the host. `processors` decides which tiles an update takes. CTAs run `together` if their shared memory is
// GPK_FACTOR_SHARED.
struct Launcher {
  int multiprocessors = 2;
  int together = 1;

  template <auto KERNEL, class P>
  int start(dim3 grid, int threads, int shared, P const& p, int cluster = 1) const {
    if (shared > emulate::shared_bytes || threads > 1024 || cluster > emulate::most_ctas || grid.x % static_cast<unsigned>(cluster) != 0) emulate::fail("a launch that no GPU takes");
    emulate::body = [&p] { KERNEL(p); };
    gridDim = grid;
    blockDim = dim3(static_cast<unsigned>(threads));
    emulate::yields = 0;
    int const ctas = cluster == 1 && together * threads <= emulate::most_threads ? together : cluster;
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; x += static_cast<unsigned>(ctas)) {
          blockIdx = dim3(x, y, z);
          int const left = static_cast<int>(grid.x - x);
          emulate::cluster(threads, ctas < left ? ctas : left);
        }
      }
    }
    return 0;
  }
  int fill(uint64_t at, int64_t bytes, int value) const {
    memset(reinterpret_cast<void*>(at), value, static_cast<size_t>(bytes));
    return 0;
  }
  bool clusters() const { return true; }
  int processors() const { return multiprocessors; }
};
