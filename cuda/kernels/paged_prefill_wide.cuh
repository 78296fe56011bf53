#pragma once

// Prefill for the usual caches and options, see find_wide() in paged_prefill.cu: 128 rows of a KV
// head in each thread block, two fragments of sixteen rows in each warp, so that a fragment of keys
// or values that is loaded serves 32 rows. Tiles and arithmetic are those of paged_prefill.cuh: no
// bit of a result depends on which of the two kernels computes it.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/non_finite_values.cuh"
#include "cuda/kernels/paged_prefill.cuh"
#include "cuda/kernels/paged_prefill_wide_copy.cuh"
#include "cuda/kernels/paged_prefill_wide_products.cuh"
#include "cuda/kernels/team.cuh"

namespace recto::kernels {

inline constexpr int kWideThreads = 4 * kWarpLanes;
inline constexpr int kWideRows = kWideThreads;
// A thread may have all 255 registers: the accumulators take 192 of them at head dim 128.
inline constexpr int kWideBlocksPerSm = 2;

// What a thread block needs in each tile, or after the last one, kept in shared memory, because
// registers are scarce.
struct WideNotes {
  PrefillRows rows;
  KeyRange seen_by_all;
  RunSource source;
};

template <typename T, int kDims>
struct WideShape {
  using Element = T;
  using Stored = T;
  using Team = BlockTeam<kWideThreads>;
  static constexpr int kHeadDim = kDims;
  static constexpr int kKeys = 64;
  static constexpr int kWarpFragments = 2;
  static constexpr int kWarpRows = kWarpFragments * kTileRows;
  static constexpr int kRows = kWideThreads / kWarpLanes * kWarpRows;
  static_assert(kRows == kWideRows);
  using RowTile = RowMajorTile<Element, kHeadDim>;
  // Q, K and V, and what each row sees. While the scores of a tile are computed its values are
  // copied, and the next tile's keys while values are added.
  static constexpr int kQueryElements = RowTile::size(kRows);
  static constexpr int kTileElements = RowTile::size(kKeys);
  static constexpr int kElements = kQueryElements + 2 * kTileElements;
  static constexpr int kSharedBytes = kElements * static_cast<int>(sizeof(Element)) +
                                      kRows * static_cast<int>(sizeof(KeyRange)) +
                                      static_cast<int>(sizeof(WideNotes));
};

// The shared memory of a thread block.
template <typename Shape>
struct WideMemory {
  using Element = typename Shape::Element;

  std::uint32_t* begin;

  __device__ Element* rows_of(int warp) const {
    return reinterpret_cast<Element*>(begin) + Shape::RowTile::index(warp * Shape::kWarpRows, 0);
  }
  __device__ Element* keys() const { return rows_of(0) + Shape::kQueryElements; }
  __device__ Element* values() const { return keys() + Shape::kTileElements; }
  // [kRows]: what each row sees.
  __device__ KeyRange* visible() const {
    return reinterpret_cast<KeyRange*>(values() + Shape::kTileElements);
  }
  __device__ WideNotes* notes() const {
    return reinterpret_cast<WideNotes*>(visible() + Shape::kRows);
  }
};

// Called by each warp for its own rows; missing rows become zeros.
template <typename Shape>
__device__ inline void copy_query_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                       int warp, int lane, typename Shape::Element* warp_tile) {
  using Element = typename Shape::Element;
  using Lanes = LaneChunks<Element, Shape::kHeadDim>;
  const auto* q = static_cast<const Element*>(params.q.data);
  const int own = warp * Shape::kWarpRows + lane;
  const std::int64_t own_offset = own < rows.count ? rows.offset_of(own, params.q) : kNoKey;
#pragma unroll 4
  for (int first = 0; first < Shape::kWarpRows; first += Lanes::kRows) {
    const int row = first + Lanes::row(lane);
    const std::int64_t offset = __shfl_sync(kAllLanes, own_offset, row);
    const bool is_there = offset != kNoKey;
    copy_async_16(warp_tile + Shape::RowTile::index(row, Lanes::dim(lane)),
                  is_there ? q + offset + Lanes::dim(lane) : q, is_there ? kChunkBytes : 0);
  }
}

// The visible keys of each row, for tiles that some rows see only in part. Missing rows see
// nothing.
template <typename Shape>
__device__ inline void note_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                 const WideMemory<Shape>& memory) {
  static_assert(Shape::kRows == kWideThreads);  // a thread for each row
  const int row = static_cast<int>(threadIdx.x);
  memory.visible()[row] =
      row < rows.count ? visible_from(params, rows.position_of(row), rows.context) : KeyRange{0, 0};
  if (row == 0) {
    const TeamKeys keys = keys_of(params, rows);
    WideNotes& notes = *memory.notes();
    notes.rows = rows;
    notes.seen_by_all = keys.all;
    notes.source = {keys.any,
                    params.block_table.data + rows.sequence * params.block_table.row_stride,
                    rows.kv_head * params.kv.k.head_stride};
  }
}

// One thread block's tiles of keys.
template <typename Shape>
class WidePass {
 public:
  using Element = typename Shape::Element;
  using Products = WideProducts<Shape>;
  using Team = typename Shape::Team;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kHeadDim = Shape::kHeadDim;

  __device__ WidePass(float factor, const WideMemory<Shape>& memory)
      : factor_(factor), memory_(memory) {}

  // The warp's queries are in memory, or will be with the copies in flight.
  __device__ void run(const PagedKvView& kv, RunCopy<Shape>& copy, int warp, int lane,
                      typename Products::States& states) const {
    TileSource source = copy.source();
    copy.start(kv.k.data, source, memory_.keys());
    const int& end = memory_.notes()->source.visible.end;
#pragma unroll 1
    while (copy.first() < end) {
      arrive();  // the keys; and the values of the tile before have been read
      copy.start(kv.v.data, source, memory_.values());
      const int first = copy.first();
      copy.advance();
      source = copy.source();
      const bool is_last = copy.first() >= end;
      const bool is_seen = is_seen_by_all(first);
      typename Products::Scores scores;
      Products::multiply_keys(memory_.rows_of(warp), memory_.keys(), lane, scores);
      arrive();  // the values; and the keys have been read
      if (!is_last) copy.start(kv.k.data, source, memory_.keys());
      if (!is_seen) hide_unseen_keys(first, warp, lane, scores);
#pragma unroll
      for (int f = 0; f < Shape::kWarpFragments; ++f) weigh_scores(factor_, scores[f], states[f]);
      typename Products::Weights weights;
      Products::round(scores, weights);
      if (!is_seen) keep_to_seers(first, warp, lane, states);
      Products::add_values(weights, memory_.values(), lane, states);
    }
    arrive();  // of a row without keys, the queries
#pragma unroll
    for (auto& state : states) state.close();
  }

 private:
  // Waits until the copies of all threads have arrived.
  __device__ static void arrive() {
    wait_for_all_copies();
    Team::meet();
  }

  __device__ bool is_seen_by_all(int first) const {
    const KeyRange& all = memory_.notes()->seen_by_all;
    return first >= all.begin && first + kKeys <= all.end;
  }

  // What the lane's rows see: row g of a fragment, or row g + 8.
  __device__ KeyRange visible_to(int warp, int lane, int fragment, int half) const {
    return memory_
        .visible()[warp * Shape::kWarpRows + fragment * kTileRows + fragment_row(lane, half * 2)];
  }

  // Sets the scores of hidden keys to -infinity.
  __device__ void hide_unseen_keys(int first, int warp, int lane,
                                   typename Products::Scores& scores) const {
#pragma unroll
    for (int row = 0; row < Shape::kWarpFragments * 2; ++row) {
      const KeyRange visible = visible_to(warp, lane, row / 2, row % 2);
      const int begin = visible.begin - first - fragment_column(lane, 0);
      const int end = visible.end - first - fragment_column(lane, 0);
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int key = block * 8 + i;
          if (key < begin || key >= end) scores[row / 2][block][row % 2 * 2 + i] = -INFINITY;
        }
      }
    }
  }

  // As in KeyStream: a hidden key has the weight 0, and 0 times NaN or infinity is NaN.
  __device__ void keep_to_seers(int first, int warp, int lane,
                                typename Products::States& states) const {
    const NonFiniteValues<Shape> found(memory_.values(), ValueOrder::kKeyRows);
    if (Team::any(found.are_there() ? 1 : 0) == 0) return;
#pragma unroll
    for (int f = 0; f < Shape::kWarpFragments; ++f) {
      RowRules rules = {};
      for (int half = 0; half < 2; ++half) rules.visible[half] = visible_to(warp, lane, f, half);
      found.add_where_seen(rules, first, lane, states[f].weighted);
    }
    Team::meet();
    found.clear();
    Team::meet();
  }

  const float factor_;
  const WideMemory<Shape> memory_;
};

// Writes a warp's rows by way of `warp_tile`, so that a lane writes 16 bytes at a time.
template <typename Shape>
__device__ inline void write_wide_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                       int warp, int lane,
                                       const typename WideProducts<Shape>::States& states,
                                       typename Shape::Element* warp_tile) {
  using Element = typename Shape::Element;
  using Lanes = LaneChunks<Element, Shape::kHeadDim>;
  struct alignas(kChunkBytes) Chunk {
    Element at[kChunk<Element>];
  };
#pragma unroll
  for (int f = 0; f < Shape::kWarpFragments; ++f) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = f * kTileRows + fragment_row(lane, half * 2);
      const SoftmaxState<1> state{states[f].maximum[half], states[f].sum[half], {1.0F}};
      const float factor = output_factor(params, rows, warp * Shape::kWarpRows + row, state, lane);
      Element* to = warp_tile + Shape::RowTile::index(row, fragment_column(lane, 0));
#pragma unroll
      for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
        const Fragment& weighted = states[f].weighted[dim / 8];
        *reinterpret_cast<unsigned*>(to + dim) =
            rounded_pair<Element>(weighted[half * 2] * factor, weighted[half * 2 + 1] * factor);
      }
    }
  }
  __syncwarp();
  auto* out = static_cast<Element*>(params.out.data);
  const int own = warp * Shape::kWarpRows + lane;
  const std::int64_t own_offset = own < rows.count ? rows.offset_of(own, params.out) : kNoKey;
#pragma unroll 4
  for (int first = 0; first < Shape::kWarpRows; first += Lanes::kRows) {
    const int row = first + Lanes::row(lane);
    const std::int64_t offset = __shfl_sync(kAllLanes, own_offset, row);
    if (offset == kNoKey) continue;
    *reinterpret_cast<Chunk*>(out + offset + Lanes::dim(lane)) =
        *reinterpret_cast<const Chunk*>(warp_tile + Shape::RowTile::index(row, Lanes::dim(lane)));
  }
}

// Grid: (tiles of 128 rows, num_kv_heads, num_seqs).
template <typename Shape>
__global__ void __launch_bounds__(kWideThreads, kWideBlocksPerSm)
    paged_prefill_wide(const PagedPrefillParams params) {
  KERNEL_DYNAMIC_SHARED(std::uint32_t, prefill_memory);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const PrefillRows rows = prefill_rows(params, Shape::kRows);
  if (rows.count <= 0) return;

  const WideMemory<Shape> memory = {prefill_memory};
  copy_query_rows<Shape>(params, rows, warp, lane, memory.rows_of(warp));
  note_rows<Shape>(params, rows, memory);
  __syncthreads();
  RunCopy<Shape> copy(params.kv.k, memory.notes()->source);
  const WidePass<Shape> pass(plain_factor_of(params.options, params.options.scale), memory);
  typename WideProducts<Shape>::States states;
  pass.run(params.kv, copy, warp, lane, states);
  write_wide_rows<Shape>(params, memory.notes()->rows, warp, lane, states, memory.rows_of(warp));
}

}  // namespace recto::kernels
