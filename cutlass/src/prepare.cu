// prepare.cu: the conversion of operands for scaled and split kernels; see gpk_prepare.
//
// One launch converts both operands; each has a share of the blocks. A line (a row of A or a column of B) is read from
// memory once, stays in shared memory until its largest element is known, and is written once.
//
// All arithmetic except the rounding to float16 is exact, so that all variants give the same bits. Maxima propagate NaN.
// They are compared as bits, whose order has infinities and NaN above all numbers. An element is small if |x| < 2^-10 max
// in float32; the product is exact for maxima in range.
#include "prepare_plan.cuh"

namespace gpk {
namespace {

// Plans and launches the conversion of one or two operands.
cudaError_t run(Device const& m, Params& p, int operands, Partition partition, bool split, int device, uint64_t stream) {
  unsigned shared = 0;
  int64_t tiles = 0;
  for (int i = 0; i < operands; ++i) {
    Operand& o = p.operand[i];
    if (!o.k_contiguous) {
      tiles += tiles_of(o);
      continue;
    }
    unsigned const bytes = plan_lines(m, &o);
    if (bytes > shared) shared = bytes;
  }
  if (tiles == 0) {
    partition = {1, 1, 1, true};
  } else {
    // Few tiles are divided among more blocks.
    while (partition.single_launch && partition.cluster < 8 && partition.cluster < m.cluster &&
           tiles * partition.cluster < int64_t{2} * m.processors && partition.chunk >= 64) {
      partition.cluster *= 2;
      partition.chunk = static_cast<unsigned>(over(p.operand[0].rows, partition.cluster));
    }
    // Two stages pay off if a cluster processes several tiles.
    bool const many = tiles * partition.cluster > int64_t{2} * max_blocks * m.processors;
    bool const two = partition.single_launch && 2 * partition.bytes() <= buffer_bytes && many;
    for (int i = 0; i < operands; ++i) {
      if (!p.operand[i].k_contiguous) p.operand[i].stages = two ? 2 : 1;
    }
    unsigned const bytes = partition.bytes() * (two ? 2 : 1);
    if (bytes > shared) shared = bytes;
  }
  p.cluster = partition.cluster;
  p.chunk = partition.chunk;
  p.chunks = partition.chunks;
  p.stage = partition.stage();

  Kernel const kernel = split ? prepare<true> : prepare<false>;
  cudaError_t e = allow(m, kernel, split, device);
  Launch launch(m, p.cluster, shared, stream);
  if (partition.single_launch) {
    int64_t blocks = 0;
    if (e == cudaSuccess) e = capacity(m, kernel, launch, p.cluster, device, &blocks);
    if (e != cudaSuccess) return e;
    p.phase = single_launch;
    launch.config.gridDim = dim3(share_blocks(&p, operands, blocks));
    return cudaLaunchKernelEx(&launch.config, kernel, p);
  }
  for (Phase const phase : {find_maxima, convert_lines, collect_counts}) {
    if (e != cudaSuccess) break;
    p.phase = phase;
    launch.config.gridDim = dim3(share_phase(&p, operands));
    e = cudaLaunchKernelEx(&launch.config, kernel, p);
  }
  return e;
}

bool known(int type, int form) {
  return (type == GPK_F32 || type == GPK_C64) && (form == GPK_FORM_SCALED || form == GPK_FORM_SPLIT);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch) {
  if (!known(type, form)) return -GPK_ERR_UNSUPPORTED;
  if (m < 0 || n < 0 || m > INT_MAX || n > INT_MAX || !fits(k) || !fits(batch)) return -GPK_ERR_ARGUMENT;
  Device properties;
  if (int const code = query_machine(device, &properties)) return -code;
  // For strided k in both operands, which needs the most.
  Partition const c = partition_columns(properties, k);
  return 2 * static_cast<int64_t>(sizeof(uint32_t)) * partials(c, (m + n) * (type == GPK_C64 ? 2 : 1), batch);
}

int gpk_prepare(int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a, uint64_t b,
                int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high, uint64_t b_low,
                int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b, uint64_t workspace,
                int64_t workspace_bytes) {
  if (!known(type, form)) return GPK_ERR_UNSUPPORTED;
  if (m < 0 || n < 0 || m > INT_MAX || n > INT_MAX || !fits(k) || !fits(batch)) return GPK_ERR_ARGUMENT;
  Params p = {};
  int operands = 0;
  if (m > 0) {
    Arguments const g = {a, a_line, a_step, stride_a, conj_a, a_high, a_low, a_pitch, a_member, scale_a, guard_a};
    if (int const code = make_operand(g, type, form, false, m, k, batch, &p.operand[operands++])) return code;
  }
  if (n > 0) {
    Arguments const g = {b, b_line, b_step, stride_b, conj_b, b_high, b_low, b_pitch, b_member, scale_b, guard_b};
    if (int const code = make_operand(g, type, form, true, n, k, batch, &p.operand[operands++])) return code;
  }
  if (operands == 0) return GPK_OK;
  Device properties;
  if (int const code = query_machine(device, &properties)) return code;
  Partition const partition = partition_columns(properties, k);
  uint32_t* at = reinterpret_cast<uint32_t*>(workspace);
  int64_t left = workspace_bytes / static_cast<int64_t>(sizeof(uint32_t));
  for (int i = 0; i < operands; ++i) {
    Operand& o = p.operand[i];
    if (o.k_contiguous || partition.single_launch) continue;
    int64_t const each = partials(partition, o.width, o.members);
    if (workspace == 0 || workspace % sizeof(uint32_t) != 0 || left < 2 * each) return GPK_ERR_WORKSPACE;
    if (tiles_of(o) * partition.chunks >= max_items) return GPK_ERR_ARGUMENT;
    o.maxima = at;
    o.counts = at + each;
    at += 2 * each;
    left -= 2 * each;
  }
  bool const split = form == GPK_FORM_SPLIT;
  cudaError_t e = cudaSuccess;
  if (operands == 2 && p.operand[0].k_contiguous != p.operand[1].k_contiguous && partition.single_launch && partition.bytes() > buffer_bytes) {
    // With so much shared memory per block, too few blocks would run for the operand with contiguous k.
    for (int i = 0; i < 2 && e == cudaSuccess; ++i) {
      Params one = {};
      one.operand[0] = p.operand[i];
      e = run(properties, one, 1, partition, split, device, stream);
    }
  } else {
    e = run(properties, p, operands, partition, split, device, stream);
  }
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}
