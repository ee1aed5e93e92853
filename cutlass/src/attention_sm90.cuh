// attention_sm90.cuh: attention of 16-bit operands for Hopper, after FlashAttention-3 (Shah et al.,
// arXiv:2407.08608). One producer warp loads blocks of keys and of values by TMA. Consumer warpgroups of 64 queries each
// multiply by wgmma, and have scores, weights and sums in registers.
//
//   step of a warpgroup      tensor cores         other units
//   issue both products      S' = Q K'^T
//                            O += P V
//   after S' is complete                          P' = exp2(S' - max), while P V and the other warpgroups' products run
//   after O is complete                           O *= factor
//
// The warpgroups issue their products one after the other in a fixed order, so that the products of one hide the softmax
// of another. Blocks of keys are processed from the last to the first, so that the blocks with masked keys come first.
//
// CTAs are persistent. The first scores of the next tile are computed while the last product of a tile runs and its rows
// are stored.
//
// A row's sum of weights has the float32 weights. The products have weights rounded to the operands' type.
//
// The result of a tile does not depend on the CTA, and a tile belongs to one sequence. So the bits of a sequence do not
// depend on the rest of the batch.
#pragma once
#include <limits.h>

#include "attention_softmax_sm90.cuh"
#include "attention_tiles_sm90.cuh"
#include "dependent.cuh"
#include "gpk_attention.h"
#include "sm90.cuh"

namespace gpk {
namespace attention90 {

using namespace sm90;

// A pipeline's stages in shared memory, and the state of a producer or consumer, as CUTLASS's PipelineState.
template <int Stages>
struct Pipeline {
  uint32_t data;  // address of the first stage
  Barriers full_barriers, empty_barriers;
  int stage_bytes;
  int index = 0;
  uint32_t phase = 0;

  CUTLASS_DEVICE uint32_t stage_address() const { return data + index * stage_bytes; }
  CUTLASS_DEVICE uint32_t full_barrier() const { return full_barriers[index]; }
  CUTLASS_DEVICE uint32_t empty_barrier() const { return empty_barriers[index]; }
  CUTLASS_DEVICE void consumer_wait() const { mbarrier_wait(full_barriers[index], phase); }
  CUTLASS_DEVICE void producer_acquire() const { mbarrier_wait(empty_barriers[index], phase ^ 1); }
  CUTLASS_DEVICE void consumer_release(int lane) const {
    if (lane == 0) mbarrier_arrive(empty_barriers[index]);
  }
  CUTLASS_DEVICE void advance() {
    phase ^= index == Stages - 1;
    index = index == Stages - 1 ? 0 : index + 1;
  }
};

// D: head size. N: keys per block. Groups: consumer warpgroups. Stages: stages for blocks of keys, and as many for blocks of
// values. Buffers: stages for tiles of queries.
template <class T, int D, int N, int Groups, int Stages, int Buffers>
struct Kernel {
  static constexpr int threads = (Groups + 1) * 128;
  static constexpr int consumer_registers = Groups == 2 ? 232 : Groups == 3 ? 160 : 112;
  static constexpr int producer_registers = Groups == 2 ? 40 : Groups == 3 ? 32 : 24;
  static constexpr bool ordered = Groups < 4;  // whether warpgroups issue in a fixed order; four overlap without it
  static constexpr int tile = 64 * Groups;  // queries

  // A tile is in shared memory in swizzled lines of 64 elements, 128 bytes: the first 64 elements of all rows, then the
  // next 64, and so on. The elements of the last line beyond D are zeros and are not multiplied.
  static constexpr int line = 128, lines = (D + 63) / 64;
  static constexpr int q_bytes = 64 * lines * line, block_bytes = N * lines * line;
  static constexpr int barriers = 2 * Groups * Buffers + 4 * Stages + 1;
  static constexpr int reserved = 1024 + 512;  // bytes for alignment and barriers
  static constexpr int shared = reserved + Groups * Buffers * q_bytes + 2 * Stages * block_bytes;
  static_assert(sizeof(T) == 2 && D % 32 == 0 && N % 16 == 0 && shared <= 227 << 10 && 8 * barriers <= 512 && Groups >= 2 && Groups <= 4);

  struct Params {
    CUtensorMap q, k, v;
    Tiles tiles;
    T* out;
    int64_t out_batch, out_head, out_row;
    float scale;  // includes log2(e)
  };

  struct Shared {
    uint32_t landed_barrier;  // full barrier of a block of values that the producer modifies before it arrives at v's
    Pipeline<Buffers> q;  // of the first warpgroup; the memory and barriers of the other warpgroups follow
    Pipeline<Stages> k, v;
  };

  CUTLASS_DEVICE static void run(Params const& p, char* memory) {
    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    uint32_t const begin = (shared_address(memory) + 1023) / 1024 * 1024;
    uint32_t const k = begin + Groups * Buffers * q_bytes, v = k + Stages * block_bytes, q_full = v + Stages * block_bytes;
    uint32_t const q_empty = q_full + 8 * Groups * Buffers, k_full = q_empty + 8 * Groups * Buffers, v_full = k_full + 16 * Stages;
    Shared const s{v_full + 16 * Stages,
                   {begin, {q_full}, {q_empty}, q_bytes},
                   {k, {k_full}, {k_full + 8 * Stages}, block_bytes},
                   {v, {v_full}, {v_full + 8 * Stages}, block_bytes}};
    if (warp == 0 && lane == 0) {
      for (CUtensorMap const* map : {&p.q, &p.k, &p.v}) prefetch_tensormap(map);
      for (int i = 0; i < Groups * Buffers; ++i) {
        mbarrier_init(s.q.full_barriers[i], 1);
        mbarrier_init(s.q.empty_barriers[i], 4);
      }
      for (int i = 0; i < Stages; ++i) {
        mbarrier_init(s.k.full_barriers[i], 1), mbarrier_init(s.k.empty_barriers[i], 4 * Groups);
        mbarrier_init(s.v.full_barriers[i], 1), mbarrier_init(s.v.empty_barriers[i], 4 * Groups);
      }
      mbarrier_init(s.landed_barrier, 1);
      mbarrier_init_fence();
    }
    __syncthreads();
    griddepcontrol_wait();
    if (warp < 4) {
      warpgroup_reg_dealloc<producer_registers>();
      if (warp == 0) produce(p, s, lane);
    } else {
      warpgroup_reg_alloc<consumer_registers>();
      consume(p, s, warp - 4, lane);
    }
  }

  // Loads a block of keys or values.
  CUTLASS_DEVICE static void load_block(CUtensorMap const* map, Pipeline<Stages> const& pipeline, uint32_t barrier, int row, Tile const& t) {
    mbarrier_arrive_expect_tx(barrier, block_bytes);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < lines; ++i) {
      tma_load(pipeline.stage_address() + i * N * line, map, i * 64, row, t.kv_head, t.member, barrier);
    }
  }

  // The producer warp.
  CUTLASS_DEVICE static void produce(Params const& p, Shared const& s, int lane) {
    Pipeline<Buffers> q = s.q;
    Pipeline<Stages> k = s.k, v = s.v;
    uint32_t landed_phase = 0;
    CUTLASS_PRAGMA_NO_UNROLL
    for (int i = 0; i < p.tiles.rounds(); ++i) {
      Tile const t = p.tiles.at(i, tile, lane);
      int const blocks = t.blocks(N, tile);
      if (blocks == 0) continue;
      if (lane == 0) {
        CUTLASS_PRAGMA_UNROLL
        for (int g = 0; g < Groups; ++g) {
          uint32_t const barrier = q.full_barrier() + 8 * g * Buffers, to = q.stage_address() + g * Buffers * q_bytes;
          mbarrier_wait(q.empty_barrier() + 8 * g * Buffers, q.phase ^ 1);
          mbarrier_arrive_expect_tx(barrier, q_bytes);
          CUTLASS_PRAGMA_UNROLL
          for (int c = 0; c < lines; ++c) {
            tma_load(to + c * 64 * line, &p.q, c * 64, t.first + t.query + g * 64, t.head, t.member, barrier);
          }
        }
        k.producer_acquire();
        load_block(&p.k, k, k.full_barrier(), t.first + (blocks - 1) * N, t);
      }
      q.advance();
      k.advance();
      // The last block of a sequence of a ragged batch also has values of the next sequence. Their weights are 0, but 0
      // times NaN is NaN. So this warp overwrites them with zeros before the consumers read the block.
      int const left = t.keys - (blocks - 1) * N;
      bool const ragged = p.tiles.ragged() && left < N;
      CUTLASS_PRAGMA_NO_UNROLL
      for (int b = blocks - 1; b >= 0; --b) {
        if (lane == 0) {
          if (b > 0) {
            k.producer_acquire();
            load_block(&p.k, k, k.full_barrier(), t.first + (b - 1) * N, t);
          }
          v.producer_acquire();
        }
        if (b > 0) k.advance();
        if (ragged && b == blocks - 1) {
          if (lane == 0) load_block(&p.v, v, s.landed_barrier, t.first + b * N, t);
          __syncwarp();
          mbarrier_wait(s.landed_barrier, landed_phase);
          landed_phase ^= 1;
          for (int c = 0; c < lines; ++c) {
            for (int at = left * line + lane * 16; at < N * line; at += 32 * 16) {
              asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(v.stage_address() + c * N * line + at), "r"(0) : "memory");
            }
          }
          fence_proxy_async();
          __syncwarp();
          if (lane == 0) mbarrier_arrive(v.full_barrier());
        } else if (lane == 0) {
          load_block(&p.v, v, v.full_barrier(), t.first + b * N, t);
        }
        v.advance();
      }
      __syncwarp();
    }
    launch_dependents();
  }

  // The wgmma descriptor of lines of 128 bytes. `chunk`: the distance in bytes from 64 elements to the next 64; it is used
  // only if rows are the product's k.
  CUTLASS_DEVICE static uint64_t descriptor(uint32_t at, int chunk) {
    return matrix_descriptor(at >> 4, chunk >> 4, 8 * line / 16, 1);
  }

  // Starts scores = Q K^T.
  CUTLASS_DEVICE static void start_scores(float (&scores)[N / 2], uint64_t q, uint64_t k) {
    cute::warpgroup_arrive();
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < D / 16; ++i) {
      wgmma<Scores<T, N>>(scores, q + i / 4 * (64 * line >> 4) + i % 4 * 2, k + i / 4 * (N * line >> 4) + i % 4 * 2, i > 0);
    }
    cute::warpgroup_commit_batch();
  }

  // Starts out += P V.
  CUTLASS_DEVICE static void start_values(float (&out)[D / 2], uint32_t const (&weights)[N / 4], uint64_t v) {
    cute::warpgroup_arrive();
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N / 16; ++i) {
      wgmma<Values<T, D>>(out, weights + 4 * i, v + i * (16 * line >> 4), true);
    }
    cute::warpgroup_commit_batch();
  }

  // A thread's registers for a tile.
  struct State {
    float out[D / 2], scores[N / 2];
    uint32_t weights[N / 4];
    Softmax softmax;
  };

  // Computes the scores of one block of keys, and multiplies the weights of the previous block by its values. q_done: the
  // barrier to arrive at after the last use of the queries, or 0. Turns are named barriers.
  template <bool Masked>
  CUTLASS_DEVICE static void step(State& x, Pipeline<Stages>& k, Pipeline<Stages>& v, uint64_t q, float scale, int column, int const (&last)[2],
                                  int own_turn, int next_turn, uint32_t q_done, int lane) {
    k.consumer_wait();
    if constexpr (ordered) named_barrier_sync(own_turn, 256);
    warpgroup_fence_operand(x.scores);
    warpgroup_fence_operand(x.out);
    start_scores(x.scores, q, descriptor(k.stage_address(), 16));
    v.consumer_wait();
    start_values(x.out, x.weights, descriptor(v.stage_address(), N * line));
    if constexpr (ordered) named_barrier_arrive(next_turn, 256);
    cute::warpgroup_wait<1>();
    warpgroup_fence_operand(x.scores);
    k.consumer_release(lane);
    k.advance();
    if (q_done != 0 && lane == 0) mbarrier_arrive(q_done);
    if constexpr (Masked) Softmax::mask(x.scores, column, last);
    float factor[2];
    bool const raised = x.softmax.to_weights(x.scores, factor, scale);
    x.softmax.force_weights(v.stage_address());
    cute::warpgroup_wait<0>();
    warpgroup_fence_operand(x.out);
    v.consumer_release(lane);
    v.advance();
    round_weights<T>(x.weights, x.scores);
    if (__any_sync(~0u, raised)) scale_rows(x.out, factor);
  }

  // Starts the scores of a tile's first block of keys.
  CUTLASS_DEVICE static void start_tile(State& x, Pipeline<Stages> const& k, Pipeline<Buffers> const& q) {
    q.consumer_wait();
    k.consumer_wait();
    warpgroup_fence_operand(x.scores);
    start_scores(x.scores, descriptor(q.stage_address(), 16), descriptor(k.stage_address(), 16));
  }

  // Starts a tile's last product of weights and values.
  CUTLASS_DEVICE static void end_tile(State& x, Pipeline<Stages> const& v) {
    v.consumer_wait();
    warpgroup_fence_operand(x.out);
    start_values(x.out, x.weights, descriptor(v.stage_address(), N * line));
  }

  // Rounds and stores the results of a tile.
  CUTLASS_DEVICE static void store(State& x, T* const (&to)[2], int lane) {
    float inverse[2];
    x.softmax.inverse_sums(inverse);
    scale_rows(x.out, inverse);
    store_rows<T, D>(x.out, to, lane);
  }

  // A consumer warpgroup. It computes the first scores of a tile together with the last product of the previous tile, and
  // while it stores that tile's results.
  CUTLASS_DEVICE static void consume(Params const& p, Shared const& s, int warp, int lane) {
    int const group = warp / 4, rounds = p.tiles.rounds(), column = lane % 4 * 2;
    int const own_turn = 1 + group, next_turn = 1 + (group + 1) % Groups;
    Pipeline<Buffers> q = s.q;
    q.data += group * Buffers * q_bytes, q.full_barriers.first += 8 * group * Buffers, q.empty_barriers.first += 8 * group * Buffers;
    Pipeline<Stages> k = s.k, v = s.v;
    if (ordered && group == Groups - 1) named_barrier_arrive(next_turn, 256);
    State x;
    Tile t = p.tiles.at(0, tile, lane);
    int blocks = t.blocks(N, tile);
    if (blocks > 0) {
      start_tile(x, k, q);
      cute::warpgroup_wait<0>();
      warpgroup_fence_operand(x.scores);
    }
    CUTLASS_PRAGMA_NO_UNROLL
    for (int i = 0; i < rounds; ++i) {
      int const row = t.query + group * 64 + warp % 4 * 16 + lane / 4;
      T* const begin = p.out + t.member * p.out_batch + t.head * p.out_head + (t.first + row) * p.out_row;
      T* const to[2] = {row < t.queries ? begin : nullptr, row + 8 < t.queries ? begin + 8 * p.out_row : nullptr};
      CUTLASS_PRAGMA_UNROLL
      for (int j = 0; j < D / 2; ++j) x.out[j] = 0;
      x.softmax = Softmax{};
      if (blocks > 0) {
        k.consumer_release(lane);
        k.advance();
        int const unmasked = t.unmasked_blocks(N), last[2] = {t.last_key(row), t.last_key(row + 8)};
        int b = blocks - 1;
        if (b == 0) q.consumer_release(lane);
        uint64_t const at = descriptor(q.stage_address(), 16);
        if (b >= unmasked) Softmax::mask(x.scores, column + b * N, last);
        float factor[2];
        x.softmax.to_weights(x.scores, factor, p.scale);
        round_weights<T>(x.weights, x.scores);
        CUTLASS_PRAGMA_NO_UNROLL
        for (--b; b >= unmasked; --b) {
          step<true>(x, k, v, at, p.scale, column + b * N, last, own_turn, next_turn, b == 0 ? q.empty_barrier() : 0, lane);
        }
        CUTLASS_PRAGMA_NO_UNROLL
        for (; b >= 0; --b) step<false>(x, k, v, at, p.scale, 0, last, own_turn, next_turn, b == 0 ? q.empty_barrier() : 0, lane);
        q.advance();
      }
      bool const has_keys = blocks > 0;
      t = i + 1 < rounds ? p.tiles.at(i + 1, tile, lane) : Tile{};
      blocks = t.blocks(N, tile);
      if (has_keys && blocks > 0) {
        end_tile(x, v);
        start_tile(x, k, q);
        cute::warpgroup_wait<1>();
        warpgroup_fence_operand(x.out);
        v.consumer_release(lane);
        v.advance();
        store(x, to, lane);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.scores);
        continue;
      }
      if (has_keys) {
        end_tile(x, v);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.out);
        v.consumer_release(lane);
        v.advance();
      }
      store(x, to, lane);
      if (blocks > 0) {
        start_tile(x, k, q);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.scores);
      }
    }
    if (ordered && group == 0) named_barrier_sync(own_turn, 256);  // completes the barrier's last phase
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) attend(__grid_constant__ typename Kernel::Params const params) {
  extern __shared__ char memory[];
  Kernel::run(params, memory);
}

}  // namespace attention90
}  // namespace gpk
