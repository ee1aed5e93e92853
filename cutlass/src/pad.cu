// pad.cu: aligned copies of operands whose lines are not aligned; see gpk_pad.
//
// One launch copies both operands, each with its own blocks, because two launches would have twice the latency. A thread
// writes aligned granules of 16 bytes of a copy. It computes each from the two granules of the source that overlap it.
// It loads a granule only if the granule has bytes of the line, so that nothing outside an allocation is read. The
// thread issues all its loads before it stores.
//
// If sources and copies do not fit in L2 together, the sources are loaded with evict_first: they are read once, and the
// product reads the copies next. A copied line that is still in L2 then costs no memory traffic.
#include <atomic>

#include "ops.cuh"
#include "straddle.cuh"

namespace gpk {
namespace {

// Distances are in bytes.
struct Copy {
  char const* src;
  char* dst;
  int64_t src_pitch, src_member, dst_pitch, dst_member;
  uint32_t full_granules, last_bytes;  // of a line of the source: full granules, and bytes after them
  uint32_t lines;        // lines per member of the source; the copy's further lines are zeros
  uint32_t granules;     // granules of the copy, of all members
  Divider line;          // granules per line of the copy
  Divider member;        // lines per member of the copy

  // Distances from the end of a line to the next line, and from the end of a member to the next member.
  int64_t src_next_line, dst_next_line, src_next_member, dst_next_member;
};

struct Pads {
  Copy copy[2];
  uint32_t second;  // index of the first block of copy[1]
  bool evict_first;  // the sources have L2's eviction priority evict_first
};

// Granule i of line r of a copy; its source bytes begin at `from`.
struct Position {
  char const* from;
  char* to;
  uint32_t i, r;

  __device__ Position(Copy const& c, uint32_t v) {
    uint32_t const member = c.member.divide(c.line.divide(v, &i), &r);
    int64_t const at = static_cast<int64_t>(i) * granule;
    from = c.src + member * c.src_member + r * c.src_pitch + at;
    to = c.dst + member * c.dst_member + r * c.dst_pitch + at;
  }

  // Advances by n granules; a line has at least n.
  __device__ void advance(Copy const& c, uint32_t n) {
    from += n * granule;
    to += n * granule;
    i += n;
    if (i < c.line.d) return;
    i -= c.line.d;
    from += c.src_next_line;
    to += c.dst_next_line;
    if (++r < c.member.d) return;
    r = 0;
    from += c.src_next_member;
    to += c.dst_next_member;
  }

  // The number of the granule's bytes that come from the source. The others are zeros.
  __device__ unsigned valid(Copy const& c) const {
    unsigned const n = i < c.full_granules ? granule : i == c.full_granules ? c.last_bytes : 0;
    return r < c.lines ? n : 0;
  }

  // The offset of `from` within its granule of 16 bytes.
  __device__ unsigned shift() const { return reinterpret_cast<uintptr_t>(from) % granule; }
};

// x with zeros after its first n bytes.
__device__ inline uint4 zero_after(uint4 x, unsigned n) {
  auto const masked = [n](uint32_t w, unsigned at) {
    return n >= at + 4 ? w : n <= at ? 0 : w & ~(~0u << 8 * (n - at));
  };
  return {masked(x.x, 0), masked(x.y, 4), masked(x.z, 8), masked(x.w, 12)};
}

// The L2 eviction policy for load_granule.
__device__ inline uint64_t l2_policy(bool evict_first) {
  uint64_t policy;
  if (evict_first) {
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

__device__ inline uint4 load_granule(char const* p, uint64_t policy) {
  uint4 v;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy));
  return v;
}

// Each: granules per thread, 32 apart. A value above 1 requires lines of at least 32 granules.
template <int Each>
__global__ void __launch_bounds__(threads, 4) pad(__grid_constant__ Pads const p) {
  begin();
  bool const other = blockIdx.x >= p.second;
  Copy const& c = p.copy[other];
  uint64_t const policy = l2_policy(p.evict_first);
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const first = ((blockIdx.x - (other ? p.second : 0)) * threads + threadIdx.x - lane) * Each + lane;
  if (first >= c.granules) return;
  uint4 lo[Each] = {}, hi[Each] = {};
  Position at(c, first);
  Position const start = at;
#pragma unroll
  for (int u = 0; u < Each; ++u) {
    if (u > 0) at.advance(c, 32);
    if (first + 32 * u >= c.granules) continue;
    unsigned const valid = at.valid(c), m = at.shift();
    if (valid > 0) lo[u] = load_granule(at.from - m, policy);
    if (valid + m > granule) hi[u] = load_granule(at.from - m + granule, policy);
  }
  at = start;
#pragma unroll
  for (int u = 0; u < Each; ++u) {
    if (u > 0) at.advance(c, 32);
    if (first + 32 * u >= c.granules) continue;
    uint4 x = straddle(lo[u], hi[u], at.shift());
    unsigned const valid = at.valid(c);
    if (valid < granule) x = zero_after(x, valid);
    *reinterpret_cast<uint4*>(at.to) = x;
  }
}

// The size of L2 in bytes; 0 if unknown.
int64_t l2_bytes(int device) {
  static constexpr int most = 64;
  static std::atomic<int> known[most];
  bool const cached = device >= 0 && device < most;
  int n = cached ? known[device].load(std::memory_order_relaxed) : 0;
  if (n == 0 && cudaDeviceGetAttribute(&n, cudaDevAttrL2CacheSize, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  if (cached) known[device].store(n, std::memory_order_relaxed);
  return n;
}

// The arguments of gpk_pad for one operand, with distances and lengths in bytes.
struct Arguments {
  uint64_t src;
  int64_t batch, lines, length, pitch, member;
  uint64_t dst;
  int64_t dst_lines, dst_length, dst_pitch, dst_member;
};

// Checks the arguments and fills in c. Returns a code.
int make_copy(Arguments const& g, Copy* c) {
  if (g.src == 0 || g.dst == 0 || g.batch < 1 || g.lines < 1 || g.length < 1 || g.dst_lines < g.lines ||
      g.dst_length < g.length || (g.dst_lines > 1 && g.dst_pitch < g.dst_length) || g.dst % granule != 0 ||
      (g.dst_lines > 1 && g.dst_pitch % granule != 0) || (g.batch > 1 && g.dst_member % granule != 0)) {
    return GPK_ERR_ARGUMENT;
  }
  int64_t const line = (g.dst_length - 1) / granule + 1;
  if (line > INT32_MAX || g.dst_lines > INT32_MAX / line || g.batch > INT32_MAX / (line * g.dst_lines)) {
    return GPK_ERR_ARGUMENT;
  }
  c->src = reinterpret_cast<char const*>(g.src);
  c->dst = reinterpret_cast<char*>(g.dst);
  c->full_granules = static_cast<uint32_t>(g.length / granule);
  c->last_bytes = static_cast<uint32_t>(g.length % granule);
  c->src_pitch = g.pitch, c->src_member = g.member;
  c->dst_pitch = g.dst_pitch, c->dst_member = g.dst_member;
  c->lines = static_cast<uint32_t>(g.lines);
  c->granules = static_cast<uint32_t>(line * g.dst_lines * g.batch);
  c->line = Divider(static_cast<uint32_t>(line));
  c->member = Divider(static_cast<uint32_t>(g.dst_lines));
  c->src_next_line = g.pitch - line * granule;
  c->dst_next_line = g.dst_pitch - line * granule;
  c->src_next_member = g.member - g.dst_lines * g.pitch;
  c->dst_next_member = g.dst_member - g.dst_lines * g.dst_pitch;
  return GPK_OK;
}

// Launches with as many granules per thread, up to Each, as leave at least 512 blocks and as lines allow.
template <int Each>
int start(Pads& p, uint64_t stream) {
  constexpr int64_t block = int64_t{threads} * Each;
  int64_t const granules = int64_t{p.copy[0].granules} + p.copy[1].granules;
  if constexpr (Each > 1) {
    bool const narrow = p.copy[0].line.d < 32 || (p.copy[1].granules > 0 && p.copy[1].line.d < 32);
    if (granules < block * 512 || narrow) return start<Each / 2>(p, stream);
  }
  p.second = blocks_for(p.copy[0].granules, block);
  unsigned const others = p.copy[1].granules > 0 ? blocks_for(p.copy[1].granules, block) : 0;
  return launch(pad<Each>, p.second + others, threads, stream, p);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_pad(int device, uint64_t stream, int type, uint64_t a, int64_t a_batch, int64_t a_lines, int64_t a_length,
            int64_t a_pitch, int64_t a_member, uint64_t a_copy, int64_t a_copy_lines, int64_t a_copy_length,
            int64_t a_copy_pitch, int64_t a_copy_member, uint64_t b, int64_t b_batch, int64_t b_lines, int64_t b_length,
            int64_t b_pitch, int64_t b_member, uint64_t b_copy, int64_t b_copy_lines, int64_t b_copy_length,
            int64_t b_copy_pitch, int64_t b_copy_member) {
  int64_t const size = size_of(type);
  if (size == 0) return GPK_ERR_UNSUPPORTED;
  Arguments const given[] = {
      {a, a_batch, a_lines, a_length * size, a_pitch * size, a_member * size, a_copy, a_copy_lines,
       a_copy_length * size, a_copy_pitch * size, a_copy_member * size},
      {b, b_batch, b_lines, b_length * size, b_pitch * size, b_member * size, b_copy, b_copy_lines,
       b_copy_length * size, b_copy_pitch * size, b_copy_member * size},
  };
  Pads p = {};
  int64_t bytes = 0;
  int copies = 0;
  for (Arguments const& g : given) {
    if (g.lines == 0) continue;
    if (int const code = make_copy(g, &p.copy[copies])) return code;
    bytes += g.batch * g.lines * g.length + int64_t{p.copy[copies++].granules} * granule;
  }
  if (copies == 0) return GPK_OK;
  if (int const code = set_device(device)) return code;
  p.evict_first = bytes > l2_bytes(device);
  return start<4>(p, stream);
}
