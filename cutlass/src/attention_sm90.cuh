// attention_sm90.cuh: attention of 16-bit operands for Hopper, after FlashAttention-3 (Shah et al.,
// arXiv:2407.08608). One producer warp copies keys and values by TMA into two rings of blocks in shared memory.
// Consumer warpgroups of 64 queries each multiply with wgmma, and keep scores, weights and sums in registers.
//
//   step of a warpgroup    tensor cores         arithmetic units
//   issue                  S' = Q K'^T
//                          O += P V             (runs on)
//   when S' is there                            P' = exp2(S' - max), while P V and the other
//   when O is there                             warpgroup's products run; O *= factor
//
// The warpgroups issue in turn, so that the products of one hide the softmax of the other. Blocks of keys are visited
// from the last to the first: those that need a mask come first.
//
// CTAs are persistent and compute tile after tile. While the last product of a tile runs and its rows are stored, the
// first scores of the next tile are computed.
//
// The sums of weights use the float32 weights; the products use the weights rounded to the operands' type.
//
// The result of a tile does not depend on its CTA, and a tile belongs to one sequence: the bits of a sequence do not
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

// A ring of blocks in shared memory, and the position of a producer or consumer in it.
template <int Stages>
struct Ring {
  uint32_t data;  // address of the first block
  Barriers full_barriers, empty_barriers;
  int block;  // bytes per block
  int at = 0;
  uint32_t parity = 0;

  CUTLASS_DEVICE uint32_t place() const { return data + at * block; }
  CUTLASS_DEVICE uint32_t filled() const { return full_barriers[at]; }
  CUTLASS_DEVICE uint32_t freed() const { return empty_barriers[at]; }
  CUTLASS_DEVICE void await_filled() const { mbarrier_wait(full_barriers[at], parity); }
  CUTLASS_DEVICE void await_free() const { mbarrier_wait(empty_barriers[at], parity ^ 1); }
  CUTLASS_DEVICE void release(int lane) const {
    if (lane == 0) mbarrier_arrive(empty_barriers[at]);
  }
  CUTLASS_DEVICE void advance() {
    parity ^= at == Stages - 1;
    at = at == Stages - 1 ? 0 : at + 1;
  }
};

// D: head size. N: keys per block. Groups: consumer warpgroups. Stages: blocks of keys, and of values, in shared
// memory. Buffers: tiles of queries in shared memory.
template <class T, int D, int N, int Groups, int Stages, int Buffers>
struct Kernel {
  static constexpr int threads = (Groups + 1) * 128;
  static constexpr int registers = Groups == 2 ? 232 : Groups == 3 ? 160 : 112;
  static constexpr int registers_copy = Groups == 2 ? 40 : Groups == 3 ? 32 : 24;
  static constexpr bool turns = Groups < 4;  // four warpgroups overlap without taking turns
  static constexpr int tile = 64 * Groups;  // queries

  // Rows are stored in swizzled lines of 64 elements, 128 bytes; the next 64 elements of all rows follow. The part of
  // the last line beyond D is zeros and is not multiplied.
  static constexpr int line = 128, lines = (D + 63) / 64;
  static constexpr int q_bytes = 64 * lines * line, block = N * lines * line;
  static constexpr int barriers = 2 * Groups * Buffers + 4 * Stages + 1;
  static constexpr int kept = 1024 + 512;  // bytes for alignment and barriers
  static constexpr int shared = kept + Groups * Buffers * q_bytes + 2 * Stages * block;
  static_assert(sizeof(T) == 2 && D % 32 == 0 && N % 16 == 0 && shared <= 227 << 10 && 8 * barriers <= 512 && Groups >= 2 && Groups <= 4);

  struct Params {
    CUtensorMap q, k, v;
    Tiles tiles;
    T* out;
    int64_t out_batch, out_head, out_row;
    float scale;  // includes log2(e)
  };

  struct Shared {
    uint32_t landed;
    Ring<Buffers> q;  // ring of the first warpgroup; the memory and barriers of the next one follow
    Ring<Stages> k, v;
  };

  CUTLASS_DEVICE static void run(Params const& p, char* memory) {
    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    uint32_t const begin = (shared_address(memory) + 1023) / 1024 * 1024;
    uint32_t const k = begin + Groups * Buffers * q_bytes, v = k + Stages * block, q_full = v + Stages * block;
    uint32_t const q_empty = q_full + 8 * Groups * Buffers, k_full = q_empty + 8 * Groups * Buffers, v_full = k_full + 16 * Stages;
    Shared const s{v_full + 16 * Stages,
                   {begin, {q_full}, {q_empty}, q_bytes},
                   {k, {k_full}, {k_full + 8 * Stages}, block},
                   {v, {v_full}, {v_full + 8 * Stages}, block}};
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
      mbarrier_init(s.landed, 1);
      mbarrier_init_fence();
    }
    __syncthreads();
    wait_for_previous();
    if (warp < 4) {
      warpgroup_reg_dealloc<registers_copy>();
      if (warp == 0) load(p, s, lane);
    } else {
      warpgroup_reg_alloc<registers>();
      compute(p, s, warp - 4, lane);
    }
  }

  // Copies the keys or values of a block.
  CUTLASS_DEVICE static void load_block(CUtensorMap const* map, Ring<Stages> const& ring, uint32_t barrier, int row, Tile const& t) {
    mbarrier_arrive_expect_tx(barrier, block);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < lines; ++i) {
      tma_load(ring.place() + i * N * line, map, i * 64, row, t.kv_head, t.member, barrier);
    }
  }

  // The producer: the warp that fills the rings.
  CUTLASS_DEVICE static void load(Params const& p, Shared const& s, int lane) {
    Ring<Buffers> q = s.q;
    Ring<Stages> k = s.k, v = s.v;
    uint32_t landed_parity = 0;
    CUTLASS_PRAGMA_NO_UNROLL
    for (int i = 0; i < p.tiles.rounds(); ++i) {
      Tile const t = p.tiles.at(i, tile, lane);
      int const blocks = t.blocks(N, tile);
      if (blocks == 0) continue;
      if (lane == 0) {
        CUTLASS_PRAGMA_UNROLL
        for (int g = 0; g < Groups; ++g) {
          uint32_t const barrier = q.filled() + 8 * g * Buffers, to = q.place() + g * Buffers * q_bytes;
          mbarrier_wait(q.freed() + 8 * g * Buffers, q.parity ^ 1);
          mbarrier_arrive_expect_tx(barrier, q_bytes);
          CUTLASS_PRAGMA_UNROLL
          for (int c = 0; c < lines; ++c) {
            tma_load(to + c * 64 * line, &p.q, c * 64, t.first + t.query + g * 64, t.head, t.member, barrier);
          }
        }
        k.await_free();
        load_block(&p.k, k, k.filled(), t.first + (blocks - 1) * N, t);
      }
      q.advance();
      k.advance();
      // Rows after the last one of a sequence belong to another sequence, and a weight of 0 times NaN is NaN. So this
      // warp overwrites such values with zeros before it releases the block.
      int const left = t.keys - (blocks - 1) * N;
      bool const ragged = p.tiles.ragged() && left < N;
      CUTLASS_PRAGMA_NO_UNROLL
      for (int b = blocks - 1; b >= 0; --b) {
        if (lane == 0) {
          if (b > 0) {
            k.await_free();
            load_block(&p.k, k, k.filled(), t.first + (b - 1) * N, t);
          }
          v.await_free();
        }
        if (b > 0) k.advance();
        if (ragged && b == blocks - 1) {
          if (lane == 0) load_block(&p.v, v, s.landed, t.first + b * N, t);
          __syncwarp();
          mbarrier_wait(s.landed, landed_parity);
          landed_parity ^= 1;
          for (int c = 0; c < lines; ++c) {
            for (int at = left * line + lane * 16; at < N * line; at += 32 * 16) {
              asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(v.place() + c * N * line + at), "r"(0) : "memory");
            }
          }
          fence_proxy_async();
          __syncwarp();
          if (lane == 0) mbarrier_arrive(v.filled());
        } else if (lane == 0) {
          load_block(&p.v, v, v.filled(), t.first + b * N, t);
        }
        v.advance();
      }
      __syncwarp();
    }
    let_next_start();
  }

  // The descriptor of swizzled lines in shared memory, 8 lines per KiB. `chunk`: bytes from 64 elements to the next
  // 64, which matters only if rows are the depth of the product.
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

  // A lane's registers for a tile.
  struct State {
    float out[D / 2], scores[N / 2];
    uint32_t weights[N / 4];
    Softmax softmax;
  };

  // Computes the scores of one block of keys, and the product with the values of the block after it.
  template <bool Masked>
  CUTLASS_DEVICE static void step(State& x, Ring<Stages>& k, Ring<Stages>& v, uint64_t q, float scale, int column, int const (&last)[2],
                                  int turn, int next, uint32_t q_done, int lane) {
    k.await_filled();
    if constexpr (turns) named_barrier_sync(turn, 256);
    warpgroup_fence_operand(x.scores);
    warpgroup_fence_operand(x.out);
    start_scores(x.scores, q, descriptor(k.place(), 16));
    v.await_filled();
    start_values(x.out, x.weights, descriptor(v.place(), N * line));
    if constexpr (turns) named_barrier_arrive(next, 256);
    cute::warpgroup_wait<1>();
    warpgroup_fence_operand(x.scores);
    k.release(lane);
    k.advance();
    if (q_done != 0 && lane == 0) mbarrier_arrive(q_done);
    if constexpr (Masked) Softmax::mask(x.scores, column, last);
    float factor[2];
    bool const rises = x.softmax.weigh(x.scores, factor, scale);
    x.softmax.settle(v.place());
    cute::warpgroup_wait<0>();
    warpgroup_fence_operand(x.out);
    v.release(lane);
    v.advance();
    round_weights<T>(x.weights, x.scores);
    if (__any_sync(~0u, rises)) scale_rows(x.out, factor);
  }

  // Starts the scores of a tile's first block.
  CUTLASS_DEVICE static void start_tile(State& x, Ring<Stages> const& k, Ring<Buffers> const& q) {
    q.await_filled();
    k.await_filled();
    warpgroup_fence_operand(x.scores);
    start_scores(x.scores, descriptor(q.place(), 16), descriptor(k.place(), 16));
  }

  // Starts a tile's last product.
  CUTLASS_DEVICE static void end_tile(State& x, Ring<Stages> const& v) {
    v.await_filled();
    warpgroup_fence_operand(x.out);
    start_values(x.out, x.weights, descriptor(v.place(), N * line));
  }

  // Rounds and stores the results of a tile.
  CUTLASS_DEVICE static void store(State& x, T* const (&to)[2], int lane) {
    float inverse[2];
    x.softmax.finish(inverse);
    scale_rows(x.out, inverse);
    store_rows<T, D>(x.out, to, lane);
  }

  // A consumer warpgroup. The first scores of a tile are computed together with the last product of the previous
  // tile, and while its result is stored.
  CUTLASS_DEVICE static void compute(Params const& p, Shared const& s, int warp, int lane) {
    int const group = warp / 4, rounds = p.tiles.rounds(), column = lane % 4 * 2;
    int const turn = 1 + group, next_turn = 1 + (group + 1) % Groups;
    Ring<Buffers> q = s.q;
    q.data += group * Buffers * q_bytes, q.full_barriers.first += 8 * group * Buffers, q.empty_barriers.first += 8 * group * Buffers;
    Ring<Stages> k = s.k, v = s.v;
    if (turns && group == Groups - 1) named_barrier_arrive(next_turn, 256);
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
        k.release(lane);
        k.advance();
        int const whole = t.whole_blocks(N), last[2] = {t.last_key(row), t.last_key(row + 8)};
        int b = blocks - 1;
        if (b == 0) q.release(lane);
        uint64_t const at = descriptor(q.place(), 16);
        if (b >= whole) Softmax::mask(x.scores, column + b * N, last);
        float factor[2];
        x.softmax.weigh(x.scores, factor, p.scale);
        round_weights<T>(x.weights, x.scores);
        CUTLASS_PRAGMA_NO_UNROLL
        for (--b; b >= whole; --b) {
          step<true>(x, k, v, at, p.scale, column + b * N, last, turn, next_turn, b == 0 ? q.freed() : 0, lane);
        }
        CUTLASS_PRAGMA_NO_UNROLL
        for (; b >= 0; --b) step<false>(x, k, v, at, p.scale, 0, last, turn, next_turn, b == 0 ? q.freed() : 0, lane);
        q.advance();
      }
      bool const any = blocks > 0;
      t = i + 1 < rounds ? p.tiles.at(i + 1, tile, lane) : Tile{};
      blocks = t.blocks(N, tile);
      if (any && blocks > 0) {
        end_tile(x, v);
        start_tile(x, k, q);
        cute::warpgroup_wait<1>();
        warpgroup_fence_operand(x.out);
        v.release(lane);
        v.advance();
        store(x, to, lane);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.scores);
        continue;
      }
      if (any) {
        end_tile(x, v);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.out);
        v.release(lane);
        v.advance();
      }
      store(x, to, lane);
      if (blocks > 0) {
        start_tile(x, k, q);
        cute::warpgroup_wait<0>();
        warpgroup_fence_operand(x.scores);
      }
    }
    if (turns && group == 0) named_barrier_sync(turn, 256);  // consumes the last arrival
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) attend(__grid_constant__ typename Kernel::Params const params) {
  extern __shared__ char memory[];
  Kernel::run(params, memory);
}

}  // namespace attention90
}  // namespace gpk
