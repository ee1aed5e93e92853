// prepare_plan.cuh: the check of gpk_prepare's arguments, and the partition of the work.
#pragma once
#include <atomic>
#include <limits.h>

#include "prepare_kernel.cuh"

namespace gpk {
namespace {

// The properties of the device on which the partition of the work depends.
struct Device {
  int processors;            // multiprocessors
  int shared, shared_block;  // bytes of shared memory per multiprocessor and per block
  int major;                 // of the compute capability
  bool hopper;               // the code for this device supports clusters and programmatic dependent launch
  unsigned cluster;          // blocks of the largest cluster that can run
};

unsigned largest_cluster(Device const& m);

// Makes the device current and reads its properties.
int query_machine(int device, Device* m) {
  if (cudaError_t const e = cudaSetDevice(device)) {
    cudaGetLastError();
    return e;
  }
  constexpr int cached = 64;
  static Device known_devices[cached];
  static std::atomic<bool> known[cached];
  bool const cache = device >= 0 && device < cached;
  if (cache && known[device].load(std::memory_order_acquire)) {
    *m = known_devices[device];
    return GPK_OK;
  }
  struct {
    int* to;
    cudaDeviceAttr attribute;
  } const questions[] = {{&m->processors, cudaDevAttrMultiProcessorCount},
                         {&m->shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
                         {&m->shared_block, cudaDevAttrMaxSharedMemoryPerBlockOptin},
                         {&m->major, cudaDevAttrComputeCapabilityMajor}};
  for (auto const& q : questions) {
    if (cudaError_t const e = cudaDeviceGetAttribute(q.to, q.attribute, device)) {
      cudaGetLastError();
      return e;
    }
  }
  static uint64_t known_kernel = 0;
  m->hopper = waits_for_previous(reinterpret_cast<void const*>(prepare<false>), device, &known_kernel);
  m->cluster = largest_cluster(*m);
  static std::atomic_flag writing = ATOMIC_FLAG_INIT;
  if (cache && !writing.test_and_set(std::memory_order_acquire)) {
    if (!known[device].load(std::memory_order_relaxed)) {
      known_devices[device] = *m;
      known[device].store(true, std::memory_order_release);
    }
    writing.clear(std::memory_order_release);
  }
  return GPK_OK;
}

int64_t over(int64_t n, int64_t d) { return (n + d - 1) / d; }

// The partition of columns of k rows.
struct Partition {
  unsigned cluster, chunk, chunks;
  bool single_launch;

  // Floats per stage. A step of all threads copies at most 32 rows.
  unsigned stage() const { return (chunk + 31) / 32 * 32 * tile_columns; }
  unsigned bytes() const { return stage() * sizeof(float); }
};

constexpr unsigned cluster_rows = 256;  // per block if the cluster can be large enough: two tiles fit in the buffer
constexpr unsigned chunk_rows = 512;    // per block if blocks communicate through the workspace

Partition partition_columns(Device const& m, int64_t k) {
  unsigned const most = m.cluster;
  Partition c{1, 0, 1, true};
  while (c.cluster < most && over(k, c.cluster) > cluster_rows) c.cluster *= 2;
  int64_t const rows = over(k, c.cluster), available = m.shared_block - static_cast<int64_t>(sizeof(Shared));
  if (rows < available) {
    c.chunk = static_cast<unsigned>(rows);
    if (c.bytes() <= available) return c;
  }
  return {1, chunk_rows, static_cast<unsigned>(over(k, chunk_rows)), false};
}

bool fits(int64_t n) { return n > 0 && n <= INT_MAX; }

// The words of workspace for the maxima of an operand with strided k. The counts need as many.
int64_t partials(Partition const& c, int64_t width, int64_t members) { return c.single_launch ? 0 : members * c.chunks * width; }

constexpr int64_t max_items = int64_t{1} << 31;  // lines, or tiles times chunks, per operand

// The arguments of gpk_prepare for one operand.
struct Arguments {
  uint64_t x;
  int64_t line, step, stride;
  int conj;
  uint64_t high, low;
  int64_t pitch, member;
  uint64_t scale, guard;
};

// Checks the arguments of an operand and fills in *o. Returns a code.
int make_operand(Arguments const& g, int type, int form, bool is_b, int64_t lines, int64_t k, int64_t batch, Operand* o) {
  bool const complex = type == GPK_C64, split = form == GPK_FORM_SPLIT;
  int64_t const per_element = complex ? 2 : 1, size = 4 * per_element;
  int64_t const members = g.stride == 0 ? 1 : batch;
  bool const k_contiguous = g.step == 1 || k == 1;
  if (!k_contiguous && g.line != 1 && lines != 1) return GPK_ERR_ARGUMENT;
  if (g.x == 0 || g.x % size != 0 || g.high == 0 || g.high % 16 != 0 || g.scale == 0 || g.scale % 4 != 0 ||
      g.guard % 4 != 0 || (split ? g.low == 0 || g.low % 16 != 0 : g.low != 0)) {
    return GPK_ERR_ARGUMENT;
  }
  // The width and the number of rows of the planes.
  int64_t const made = complex && is_b ? 2 * lines : lines, floats = per_element * k;
  int64_t const width = k_contiguous ? floats : made, height = k_contiguous ? made : floats;
  if (g.pitch % 8 != 0 || g.member % 8 != 0 || (height > 1 && g.pitch < width)) return GPK_ERR_ARGUMENT;
  if (floats >= INT_MAX - 16 || per_element * lines >= INT_MAX - 32 || lines * members >= max_items) return GPK_ERR_ARGUMENT;

  *o = {};
  o->x = reinterpret_cast<float const*>(g.x);
  o->pitch = (k_contiguous ? g.line : g.step) * per_element;
  o->member = members == 1 ? 0 : g.stride * per_element;
  o->high = reinterpret_cast<uint16_t*>(g.high);
  o->low = reinterpret_cast<uint16_t*>(g.low);
  o->plane_pitch = g.pitch;
  o->plane_member = g.member;
  o->scale = reinterpret_cast<float*>(g.scale);
  o->guard = reinterpret_cast<uint32_t*>(g.guard);
  o->lines = static_cast<uint32_t>(lines);
  o->members = static_cast<uint32_t>(members);
  o->floats = static_cast<uint32_t>(floats);
  o->rows = static_cast<uint32_t>(k);
  o->width = static_cast<uint32_t>(lines * per_element);
  o->kind = !complex ? real : is_b ? complex_b : complex_a;
  o->k_contiguous = k_contiguous;
  uint64_t const align = g.x | static_cast<uint64_t>(4 * o->pitch) | static_cast<uint64_t>(4 * o->member);
  o->alignment = align % 16 == 0 ? 16 : align % 8 == 0 ? 8 : 4;
  constexpr uint32_t second = 0x80000000, first = 0x8000;
  switch (o->kind) {
    case complex_a:
      o->sign_mask = g.conj && k_contiguous ? second : 0;
      o->sign_mask2 = g.conj ? first | second : 0;  // of the row of imaginary parts
      break;
    case complex_b:
      o->sign_mask = k_contiguous == (g.conj == 0) ? second : 0;
      o->sign_mask2 = k_contiguous == (g.conj != 0) ? first : 0;
      break;
  }
  return GPK_OK;
}

int64_t lines_of(Operand const& o) { return static_cast<int64_t>(o.lines) * o.members; }

int64_t tiles_of(Operand const& o) { return over(o.width, tile_columns) * o.members; }

unsigned at_most(unsigned n, int64_t most) { return most < n ? static_cast<unsigned>(most) : n; }

// Plans the blocks and the buffer of an operand with contiguous k. Returns the size of the buffer in bytes.
unsigned plan_lines(Device const& m, Operand* o) {
  int64_t const lines = lines_of(*o), blocks = int64_t{max_blocks} * m.processors;
  uint32_t const granules = (o->floats + (o->alignment == 16 ? 0 : 3) + 3) / 4;
  o->block_per_line = o->floats > 1024 || (o->floats > 128 && lines < blocks);
  unsigned const teams = o->block_per_line ? 1 : warps, most = buffer_bytes / 16 / teams;
  o->granules = at_most(granules, most);
  unsigned const stages = at_most(most / o->granules, over(2 * lines, blocks * teams));
  o->stages = static_cast<uint8_t>(at_most(stages, max_stages));
  return 16 * teams * o->stages * o->granules;
}

using Kernel = void (*)(Params);

// Sets the kernel's shared memory and cluster attributes, once per device.
cudaError_t allow(Device const& m, Kernel kernel, bool split, int device) {
  static std::atomic<uint64_t> allowed[2];
  uint64_t const bit = device < 64 ? uint64_t{1} << device : 0;
  if (allowed[split].load(std::memory_order_acquire) & bit) return cudaSuccess;
  int const most = m.shared_block - static_cast<int>(sizeof(Shared));
  cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (e == cudaSuccess && m.cluster > 8) {
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  if (e == cudaSuccess) allowed[split].fetch_or(bit, std::memory_order_release);
  return e;
}

// Launch attributes without the grid.
struct Launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};

  Launch(Device const& m, unsigned cluster, unsigned shared, uint64_t stream) {
    unsigned n = 0;
    if (m.hopper) {
      attributes[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[n++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
      attributes[n].id = cudaLaunchAttributeClusterDimension;
      attributes[n].val.clusterDim.x = cluster;
      attributes[n].val.clusterDim.y = 1;
      attributes[n++].val.clusterDim.z = 1;
    }
    config.gridDim = dim3(cluster);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = reinterpret_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    config.numAttrs = n;
  }
};

// The blocks of the largest cluster that can run with all of its shared memory. More than 8 blocks need enough
// multiprocessors in a GPC, which not every partition of a device has.
unsigned largest_cluster(Device const& m) {
  if (!m.hopper) return 1;
  if (m.major >= 11) return 8;
  for (Kernel const kernel : {Kernel{prepare<false>}, Kernel{prepare<true>}}) {
    unsigned const most = m.shared_block - static_cast<unsigned>(sizeof(Shared));
    Launch const launch(m, max_cluster, most, 0);
    int clusters = 0;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) != cudaSuccess || clusters < 1) {
      cudaGetLastError();
      return 8;
    }
  }
  return max_cluster;
}

// The number of blocks that run concurrently.
cudaError_t capacity(Device const& m, Kernel kernel, Launch const& launch, unsigned cluster, int device,
                     int64_t* blocks) {
  if (cluster == 1) {
    int64_t const fit = m.shared / static_cast<int64_t>(launch.config.dynamicSmemBytes + sizeof(Shared) + 1024);
    *blocks = m.processors * (fit > max_blocks ? max_blocks : fit > 1 ? fit : 1);
    return cudaSuccess;
  }
  // The number of clusters depends on the device's GPCs. The last answer for each cluster size is cached.
  static std::atomic<uint64_t> last[max_cluster + 1];
  uint64_t const shared = launch.config.dynamicSmemBytes;
  uint64_t const key = static_cast<uint64_t>(device) << 48 | shared << 16;
  uint64_t const known = last[cluster].load(std::memory_order_relaxed);
  int clusters = known & 0xffff;
  if (clusters == 0 || known - clusters != key) {
    if (cudaError_t const e = cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config)) return e;
    if (clusters < 1) clusters = 1;
    last[cluster].store(key | static_cast<uint64_t>(clusters), std::memory_order_relaxed);
  }
  *blocks = int64_t{clusters} * cluster;
  return cudaSuccess;
}

// Distributes blocks to the operands in proportion to their sizes, in multiples of a cluster, so that all run
// concurrently. An operand with at most twice as many tiles as its share has a cluster per tile: later blocks take less
// time than a second tile of all blocks. Returns the grid.
unsigned share_blocks(Params* p, int operands, int64_t blocks) {
  int64_t const available = blocks / p->cluster;  // clusters
  double bytes[2] = {};
  int64_t wanted[2] = {};
  for (int i = 0; i < operands; ++i) {
    Operand const& o = p->operand[i];
    bytes[i] = static_cast<double>(lines_of(o)) * o.floats;
    int64_t const most = o.k_contiguous ? GPK_GUARD_WORDS / p->cluster : GPK_GUARD_WORDS;
    wanted[i] = o.k_contiguous ? over(over(lines_of(o), o.block_per_line ? 1 : warps), p->cluster) : tiles_of(o);
    if (wanted[i] > most) wanted[i] = most;
  }
  int64_t shares[2] = {wanted[0], wanted[1]};
  if (wanted[0] + wanted[1] > available) {
    int64_t share = static_cast<int64_t>(static_cast<double>(available) * bytes[0] / (bytes[0] + bytes[1]) + 0.5);
    if (share < available - wanted[1]) share = available - wanted[1];
    for (int i = 0; i < operands; ++i, share = available - shares[0]) {
      if (share < 1) share = 1;
      if (wanted[i] > share && (p->operand[i].k_contiguous || wanted[i] > 2 * share)) shares[i] = share;
    }
  }
  for (int i = 0; i < operands; ++i) {
    Operand& o = p->operand[i];
    o.workers = static_cast<uint32_t>(o.k_contiguous ? shares[i] * p->cluster : shares[i]);
  }
  p->second = operands == 2 ? static_cast<uint32_t>(shares[0] * p->cluster) : UINT_MAX;
  return static_cast<unsigned>((shares[0] + shares[1]) * p->cluster);
}

// Distributes blocks for a launch that communicates through the workspace. Returns the grid.
unsigned share_phase(Params* p, int operands) {
  unsigned grid = 0;
  p->second = UINT_MAX;
  for (int i = 0; i < operands; ++i) {
    Operand& o = p->operand[i];
    if (i == 1) p->second = grid;
    if (o.k_contiguous) {
      o.workers = p->phase == find_maxima ? at_most(GPK_GUARD_WORDS, over(lines_of(o), o.block_per_line ? 1 : warps)) : 0;
    } else if (p->phase == collect_counts) {
      o.workers = at_most(GPK_GUARD_WORDS, tiles_of(o));
    } else {
      o.workers = at_most(1u << 20, tiles_of(o) * p->chunks);
    }
    grid += o.workers;
  }
  return grid;
}

}  // namespace
}  // namespace gpk
