// ops.cuh: common code of the element-wise kernels and reductions: loop nests over strided operands, division by
// constants, vectors, the launch.
#pragma once
#include "dependent.cuh"
#include "ops_math.cuh"

#include <cuda.h>

namespace gpk {

constexpr int max_operands = 4;     // destination first
constexpr int threads = 256;        // per block, at most
constexpr int64_t piece = 1 << 30;  // elements per launch, at most, so that 32-bit indices suffice

// The device of this thread's last set_device.
inline thread_local int current_device = -1;

// Makes a device current; every entry point begins with it. cudaSetDevice takes longer than the check that nothing
// changes.
inline int set_device(int device) {
  using Get = CUresult (*)(CUcontext*);
  static constexpr int most = 64;
  static uintptr_t contexts[most];  // 0: not yet known
  static Get const get = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult status{};
    cudaError_t const e = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &address, 12000, cudaEnableDefault, &status);
    if (e != cudaSuccess) cudaGetLastError();
    return e == cudaSuccess && status == cudaDriverEntryPointSuccess ? reinterpret_cast<Get>(address) : nullptr;
  }();
  bool const kept = get != nullptr && device >= 0 && device < most;
  current_device = device;
  CUcontext now = nullptr;
  if (kept && get(&now) == CUDA_SUCCESS && now != nullptr &&
      reinterpret_cast<uintptr_t>(now) == __atomic_load_n(&contexts[device], __ATOMIC_RELAXED)) {
    return GPK_OK;
  }
  cudaError_t const e = cudaSetDevice(device);
  if (e != cudaSuccess) {
    cudaGetLastError();
  } else if (kept && get(&now) == CUDA_SUCCESS) {
    __atomic_store_n(&contexts[device], reinterpret_cast<uintptr_t>(now), __ATOMIC_RELAXED);
  }
  return e;
}

// Launches and returns the error of this launch, which it clears; set_device has to come first. Every kernel calls
// begin() or begin_early() before it accesses global memory. cluster: blocks per cluster.
template <class P>
int launch(void (*kernel)(P), unsigned grid, unsigned block, uint64_t stream, P const& p, unsigned cluster = 1) {
  static uint64_t known = 0;
  void* args[] = {const_cast<P*>(&p)};
  cudaLaunchAttribute attributes[2] = {};
  if (cluster > 1) {
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster, 1, 1};
  }
  cudaLaunchAttribute& last = attributes[cluster > 1];
  last.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  last.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(block);
  config.stream = reinterpret_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  config.numAttrs = (cluster > 1) + waits_for_previous(reinterpret_cast<void const*>(kernel), current_device, &known);
  cudaError_t const e = cudaLaunchKernelExC(&config, reinterpret_cast<void const*>(kernel), args);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

// n / d and n % d for n < 2^31, by a multiplication (Granlund and Montgomery, 1994).
struct Divider {
  uint32_t d, m, s;
  Divider() = default;
  explicit Divider(uint32_t divisor) : d(divisor), m(0), s(0) {
    while (s < 32 && (uint64_t{1} << s) < d) ++s;
    m = static_cast<uint32_t>((((uint64_t{1} << s) - d) << 32) / d + 1);
  }
  __device__ uint32_t divide(uint32_t n, uint32_t* rest) const {
    uint32_t const q = (__umulhi(n, m) + n) >> s;
    *rest = n - q * d;
    return q;
  }
};

// The loop nest over the elements of operands of one shape, outermost
// dimension first. Strides count elements.
struct Nest {
  int dims = 0, operands = 0;
  int64_t elements = 1;
  int64_t n[GPK_MAX_DIMS];
  int64_t stride[max_operands][GPK_MAX_DIMS];
  int size[max_operands];  // bytes per element
  char* p[max_operands];   // address of element (0, 0, ...)

  int64_t inner(int operand) const { return stride[operand][dims - 1]; }
};

struct Operand {
  uint64_t address;
  int64_t const* strides;
  int size;
};

// Builds the nest: drops dimensions of length 1, reverses those with a negative stride in the destination, sorts by
// the destination's stride, and merges adjacent dimensions whose strides match in all operands. Returns a code.
inline int make_nest(Nest* t, int ndim, int64_t const* shape, int operands, Operand const* ops) {
  if (ndim < 0 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  t->operands = operands;
  for (int j = 0; j < operands; ++j) {
    t->p[j] = reinterpret_cast<char*>(ops[j].address);
    t->size[j] = ops[j].size;
  }
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] < 0) return GPK_ERR_ARGUMENT;
    if (shape[d] == 0) t->elements = 0;
  }
  if (t->elements == 0) return GPK_OK;
  int dims = 0;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 1) continue;
    t->elements *= shape[d];
    bool const back = ops[0].strides[d] < 0;
    int64_t const key = back ? -ops[0].strides[d] : ops[0].strides[d];
    int at = dims++;
    for (; at > 0 && t->stride[0][at - 1] < key; --at) {
      t->n[at] = t->n[at - 1];
      for (int j = 0; j < operands; ++j) t->stride[j][at] = t->stride[j][at - 1];
    }
    t->n[at] = shape[d];
    for (int j = 0; j < operands; ++j) {
      int64_t const s = ops[j].strides[d];
      if (back) t->p[j] += (shape[d] - 1) * s * ops[j].size;
      t->stride[j][at] = back ? -s : s;
    }
  }
  for (int d = 0; d < dims; ++d) {
    bool even = t->dims > 0;
    for (int j = 0; j < operands && even; ++j) even = t->stride[j][t->dims - 1] == t->stride[j][d] * t->n[d];
    int const to = even ? t->dims - 1 : t->dims++;
    t->n[to] = even ? t->n[to] * t->n[d] : t->n[d];
    for (int j = 0; j < operands; ++j) t->stride[j][to] = t->stride[j][d];
  }
  if (t->dims == 0) {
    t->dims = 1;
    t->n[0] = 1;
    for (int j = 0; j < operands; ++j) t->stride[j][0] = 1;
  }
  return GPK_OK;
}

// Calls f on parts of the nest with at most `piece` elements each.
template <class F>
int in_pieces(Nest const& t, F const& f) {
  if (t.elements == 0) return GPK_OK;
  if (t.elements <= piece) return f(t);
  int64_t const row = t.elements / t.n[0], step = row >= piece ? 1 : piece / row;
  for (int64_t i = 0; i < t.n[0]; i += step) {
    Nest part = t;
    part.n[0] = t.n[0] - i < step ? t.n[0] - i : step;
    part.elements = row * part.n[0];
    for (int j = 0; j < t.operands; ++j) part.p[j] += i * t.stride[j][0] * t.size[j];
    if (part.n[0] == 1 && part.dims > 1) {
      --part.dims;
      for (int d = 0; d < part.dims; ++d) {
        part.n[d] = part.n[d + 1];
        for (int j = 0; j < t.operands; ++j) part.stride[j][d] = part.stride[j][d + 1];
      }
    }
    int const code = in_pieces(part, f);
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

// The outer dimensions of a nest for a kernel, innermost first.
template <int Operands>
struct Outer {
  int dims;
  Divider n[GPK_MAX_DIMS];
  int64_t stride[Operands][GPK_MAX_DIMS];

  // Adds the offsets of row number `row` to off.
  __device__ void offsets(uint32_t row, int64_t (&off)[Operands]) const {
    for (int d = 0; d < dims; ++d) {
      uint32_t i;
      row = n[d].divide(row, &i);
#pragma unroll
      for (int j = 0; j < Operands; ++j) off[j] += i * stride[j][d];
    }
  }
};

// All dimensions except those in `skip` (a bit set).
template <int Operands>
Outer<Operands> outer_of(Nest const& t, unsigned skip) {
  Outer<Operands> o;
  o.dims = 0;
  for (int d = t.dims - 1; d >= 0; --d) {
    if (skip >> d & 1) continue;
    o.n[o.dims] = Divider(static_cast<uint32_t>(t.n[d]));
    for (int j = 0; j < Operands; ++j) o.stride[j][o.dims] = t.stride[j][d];
    ++o.dims;
  }
  return o;
}

template <class T, int N>
struct alignas(N * sizeof(T)) Vec {
  T v[N];
};

// Whether every row of an operand starts at a multiple of `elements` elements, so that vectors of that length can be
// read along the innermost dimension.
inline bool rows_aligned(Nest const& t, int operand, int elements) {
  if (t.inner(operand) != 1) return false;
  if (reinterpret_cast<uintptr_t>(t.p[operand]) % (elements * t.size[operand]) != 0) return false;
  for (int d = 0; d + 1 < t.dims; ++d) {
    if (t.stride[operand][d] % elements != 0) return false;
  }
  return true;
}

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items - 1) / per_block + 1);
}

// Launches a kernel that processes `items` items, `each` per thread, at least one. Blocks are smaller if full ones
// would leave multiprocessors idle.
template <class P>
int launch_for(void (*kernel)(P), int64_t items, int each, uint64_t stream, P const& p) {
  unsigned block = threads;
  while (block > 64 && items < int64_t{block} * each * 256) block /= 2;
  return launch(kernel, blocks_for(items > 0 ? items : 1, int64_t{block} * each), block, stream, p);
}

// The layout for kernels on rows. The innermost dimension is dense in the destination and, in each source, dense or
// one repeated element (a broadcast row or column, a scalar), and rows begin at vector boundaries.
template <int Operands>
struct Rows {
  char* p[Operands];
  bool splat[Operands];  // a row consists of one repeated element
  uint32_t vectors;      // whole vectors of all rows
  uint32_t tail;         // elements after the whole vectors; only if there is a single row
  Divider row;           // vectors per row
  Outer<Operands> outer;
};

// Whether the nest has that layout for vectors of `width` elements; if so, fills in r. The operand `scalar` is not an
// array.
template <int Operands>
bool make_rows(Nest const& t, int width, int scalar, Rows<Operands>* r) {
  int64_t const n = t.n[t.dims - 1];
  if (!rows_aligned(t, 0, width) || (t.dims > 1 && n % width != 0)) return false;
  for (int j = 0; j < Operands; ++j) {
    r->p[j] = t.p[j];
    r->splat[j] = t.inner(j) == 0 && n > 1;
    if (j > 0 && j != scalar && !r->splat[j] && !rows_aligned(t, j, width)) return false;
  }
  r->vectors = static_cast<uint32_t>(t.elements / width);
  r->tail = static_cast<uint32_t>(t.elements % width);
  r->row = Divider(static_cast<uint32_t>(n >= width ? n / width : 1));
  r->outer = outer_of<Operands>(t, 1u << (t.dims - 1));
  return true;
}

template <int Operands>
__device__ void place(Rows<Operands> const& r, int width, uint32_t vector, int64_t (&off)[Operands]) {
  uint32_t i = vector;
#pragma unroll
  for (int j = 0; j < Operands; ++j) off[j] = 0;
  if (r.outer.dims > 0) r.outer.offsets(r.row.divide(vector, &i), off);
#pragma unroll
  for (int j = 0; j < Operands; ++j) off[j] += r.splat[j] ? 0 : static_cast<int64_t>(i) * width;
}

template <class T, int V, int Operands>
__device__ Vec<T, V> read(Rows<Operands> const& r, int operand, int64_t off) {
  T const* const p = reinterpret_cast<T const*>(r.p[operand]) + off;
  Vec<T, V> v;
  if constexpr (sizeof(T) == 2 && V == 8) {
    // As words: otherwise the compiler would give every half its own register.
    uint4 w;
    if (r.splat[operand]) {
      w.x = *reinterpret_cast<uint16_t const*>(p) * 0x10001u;
      w = {w.x, w.x, w.x, w.x};
    } else {
      w = *reinterpret_cast<uint4 const*>(p);
    }
    memcpy(&v, &w, sizeof v);
  } else if (r.splat[operand]) {
    T const one = *p;
#pragma unroll
    for (int e = 0; e < V; ++e) v.v[e] = one;
  } else {
    v = *reinterpret_cast<Vec<T, V> const*>(p);
  }
  return v;
}

// A scalar operand, passed by value; `operand` 0 means none.
struct Scalar {
  uint64_t lo, hi;
  int operand;

  template <class T>
  __device__ T as() const {
    uint64_t const both[] = {lo, hi};
    T v;
    memcpy(&v, both, sizeof v);
    return v;
  }
};

// Bytes is the size of an element; the elements are opaque.
template <int Bytes>
struct Blob;
template <>
struct Blob<1> {
  using type = uint8_t;
};
template <>
struct Blob<2> {
  using type = uint16_t;
};
template <>
struct Blob<4> {
  using type = uint32_t;
};
template <>
struct Blob<8> {
  using type = uint64_t;
};
template <>
struct Blob<16> {
  using type = ulonglong2;
};

// A general kernel's tiles of the two innermost dimensions: 2^bits by 2^(tile_bits - bits) elements, lanes along the
// innermost.
constexpr int tile_bits = 10;
template <int Operands>
struct Tiles {
  char* p[Operands];
  int bits;
  uint32_t n0, n1;
  int64_t s0[Operands], s1[Operands];
  Divider across, down;  // tiles along the two dimensions
  Outer<Operands> outer;
};

// Tiles span the innermost dimension and one more: if a source is transposed, the dimension in which its elements are
// contiguous, so that a tile reads whole lines of it; otherwise the longest one.
template <int Operands>
unsigned make_tiles(Nest const& t, Tiles<Operands>* p) {
  int const last = t.dims - 1;
  int turn = last - 1;
  for (int d = last - 1; d >= 0; --d) {
    if (t.n[d] > t.n[turn]) turn = d;
  }
  bool turned = false;
  for (int j = 1; j < Operands && !turned; ++j) {
    if (t.inner(j) == 0 || t.inner(j) == 1) continue;
    for (int d = 0; d < last && !turned; ++d) {
      if (t.stride[j][d] == 1 && t.n[d] >= 4 && t.n[d] * t.n[last] >= 512) turn = d, turned = true;
    }
  }
  p->n0 = static_cast<uint32_t>(t.n[last]);
  p->n1 = turn < 0 ? 1 : static_cast<uint32_t>(t.n[turn]);
  p->bits = 0;
  while (p->bits < (turned ? tile_bits / 2 : tile_bits) && (1u << p->bits) < p->n0) ++p->bits;
  for (int j = 0; j < Operands; ++j) {
    p->p[j] = t.p[j];
    p->s0[j] = t.stride[j][last];
    p->s1[j] = turn < 0 ? 0 : t.stride[j][turn];
  }
  uint32_t const across = ((p->n0 - 1) >> p->bits) + 1, down = ((p->n1 - 1) >> (tile_bits - p->bits)) + 1;
  p->across = Divider(across);
  p->down = Divider(down);
  p->outer = outer_of<Operands>(t, 1u << last | (turn < 0 ? 0 : 1u << turn));
  return static_cast<unsigned>(t.elements / p->n0 / p->n1 * across * down);
}

// Calls f(offsets) for each of this thread's elements of a tile.
template <int Operands, class F>
__device__ inline void in_tile(Tiles<Operands> const& p, F const& f) {
  uint32_t c, r;
  uint32_t const k = p.down.divide(p.across.divide(blockIdx.x, &c), &r);
  int64_t base[Operands] = {};
  p.outer.offsets(k, base);
#pragma unroll
  for (int j = 0; j < 1 << tile_bits; j += threads) {
    uint32_t const id = j + threadIdx.x;
    uint32_t const i0 = (c << p.bits) + (id & ((1u << p.bits) - 1));
    uint32_t const i1 = (r << (tile_bits - p.bits)) + (id >> p.bits);
    int64_t off[Operands];
#pragma unroll
    for (int l = 0; l < Operands; ++l) off[l] = base[l] + i0 * p.s0[l] + i1 * p.s1[l];
    f(j / threads, i0 < p.n0 && i1 < p.n1, off);
  }
}

// Calls f with a value of the C++ type of element type `type`.
template <class F>
int by_type(int type, F const& f) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return f(T{});
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
  return GPK_ERR_UNSUPPORTED;
}

// Bytes of an element, 0 for an unknown type.
inline int size_of(int type) {
  switch (type) {
#define GPK_CASE(number, T) \
  case number: return sizeof(T);
    GPK_TYPES(GPK_CASE)
#undef GPK_CASE
  }
  return 0;
}

// Whether the type is an integer type.
__host__ __device__ constexpr bool is_integer_type(int type) {
  return (type >= GPK_I8 && type <= GPK_I64) || (type >= GPK_I16 && type <= GPK_U64);
}

// Whether the type is an integer type or Bool.
__host__ __device__ constexpr bool is_whole_type(int type) { return type == GPK_BOOL || is_integer_type(type); }

// The type of sums and products, as dtype.DType.SumType. Their bits do not depend on signs.
inline int sum_type(int type) {
  return type == GPK_U16 || type == GPK_U32 || type == GPK_U64 ? GPK_U64 : is_whole_type(type) ? GPK_I64 : type;
}

// Operations that wrap, and comparisons for equality, do not depend on the sign of a type: these types have one
// kernel in common. That of bytes is chosen by each operation.
inline int sign_free(int type) {
  return type == GPK_I16 ? GPK_U16 : type == GPK_U32 ? GPK_I32 : type == GPK_U64 ? GPK_I64 : type;
}
template <class T>
constexpr bool is_sign_free = !__is_same(T, int16_t) && !__is_same(T, uint32_t) && !__is_same(T, uint64_t);

}  // namespace gpk
