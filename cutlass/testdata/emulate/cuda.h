// cuda.h: runs the threads of a CTA one after the other on the host, each until it waits for others, for the kernels
// of factor_*.cuh. What one thread writes between two barriers may be visible to threads that run later and not to
// those before, as on a GPU; the order of the threads can be reversed. Shared memory is poisoned for every CTA.
#pragma once
#include <math.h>
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
#define __launch_bounds__(...)
#define GPK_FACTOR_SHARED(name) char* const name = emulate::shared

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 threadIdx, blockIdx;

namespace emulate {

constexpr int most_threads = 256, stack_bytes = 64 << 10, shared_bytes = 227 << 10;
alignas(128) inline char shared[shared_bytes];

enum State { Ready, AtWarp, AtBlock, Done };
struct Thread {
  ucontext_t context;
  State state;
  alignas(16) char slot[64];  // what the thread lends to its warp
};
inline Thread threads[most_threads];
inline char* stacks = static_cast<char*>(malloc(size_t{most_threads} * stack_bytes));
inline ucontext_t scheduler;
inline int current, count;
inline bool backwards;
inline std::function<void()> body;

inline void fail(char const* what) {
  fprintf(stderr, "block %u %u %u, thread %d: %s\n", blockIdx.x, blockIdx.y, blockIdx.z, current, what);
  exit(1);
}

inline void wait(State s) {
  threads[current].state = s;
  swapcontext(&threads[current].context, &scheduler);
}

inline void enter() {
  body();
  threads[current].state = Done;
  swapcontext(&threads[current].context, &scheduler);
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

inline void block(int n) {
  count = n;
  memset(shared, 0xff, sizeof shared);
  for (int i = 0; i < n; ++i) {
    getcontext(&threads[i].context);
    threads[i].context.uc_stack.ss_sp = stacks + size_t(i) * stack_bytes;
    threads[i].context.uc_stack.ss_size = stack_bytes;
    threads[i].context.uc_link = nullptr;
    threads[i].state = Ready;
    makecontext(&threads[i].context, enter, 0);
  }
  for (;;) {
    bool ran = false, alive = false;
    for (int k = 0; k < n; ++k) {
      int const i = backwards ? n - 1 - k : k;
      if (threads[i].state != Ready) continue;
      ran = true;
      current = i;
      threadIdx.x = static_cast<unsigned>(i);
      swapcontext(&scheduler, &threads[i].context);
    }
    for (int w = 0; w < n; w += 32) ran = release(w, w + 32 < n ? w + 32 : n, AtWarp) || ran;
    ran = release(0, n, AtBlock) || ran;
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
void copy_async(void* to, void const* from, bool in) {
  if (reinterpret_cast<uintptr_t>(to) % BYTES != 0 || reinterpret_cast<uintptr_t>(from) % BYTES != 0) emulate::fail("a copy is not aligned");
  if (in) {
    memcpy(to, from, BYTES);
  } else {
    memset(to, 0, BYTES);
  }
}
inline void commit_copies() {}
template <int N>
void await_copies() {}

}  // namespace
}  // namespace factor
}  // namespace gpk

// Launches on the host. `processors` decides which tiles an update takes.
struct Launcher {
  int multiprocessors = 2;

  template <auto KERNEL, class P>
  int start(dim3 grid, int threads, int shared, P const& p) const {
    if (shared > emulate::shared_bytes || threads > emulate::most_threads) emulate::fail("a launch that no GPU takes");
    emulate::body = [&p] { KERNEL(p); };
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
          blockIdx = dim3(x, y, z);
          emulate::block(threads);
        }
      }
    }
    return 0;
  }
  int clear(uint64_t at, int64_t words) const {
    memset(reinterpret_cast<void*>(at), 0x7f, static_cast<size_t>(words) * 8);
    return 0;
  }
  int processors() const { return multiprocessors; }
};
