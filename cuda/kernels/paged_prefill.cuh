#pragma once

// Each warp of a thread block has sixteen rows, and all warps share the keys, in larger tiles than
// in decode: prefill is compute-bound, and memory is read once for 64 rows.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/key_stream.cuh"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/softmax_state.cuh"

namespace recto::kernels {

inline constexpr int kPrefillWarps = 4;
inline constexpr int kPrefillThreads = kPrefillWarps * kWarpLanes;
// Shared memory has room for this many thread blocks, or for one.
inline constexpr int kPrefillBlocksPerSm = 2;
inline constexpr int kPrefillRows = kPrefillWarps * kTileRows;

template <typename Products, typename Stored, int kDims>
struct PrefillStream : StreamShape<BlockTeam<kPrefillThreads>, Numbers<Products, Stored>, kDims,
                                   (kDims <= 128 ? 4 : 2) * Products::kKeysPerStep> {
  static constexpr Sight kSight = Sight::kOfEachRow;
};

template <typename Products, typename Stored, int kDims>
struct PrefillShape : PrefillStream<Products, Stored, kDims> {
  using Stream = PrefillStream<Products, Stored, kDims>;
  static constexpr int kQueryBytes =
      Stream::RowTile::size(kPrefillRows) * static_cast<int>(sizeof(typename Stream::Element));
  static constexpr int kSharedBytes = kQueryBytes + Stream::kBytes;
};

// The rows of a thread block for one (sequence, KV head). Row r, counted from the sequence's first,
// is head r % group of query r / group.
struct PrefillRows {
  std::int64_t sequence;
  std::int64_t kv_head;
  std::int64_t first_query;  // first query of the sequence among all queries
  int group;
  int queries;
  int context;
  int first;  // first row of the thread block
  int count;  // not positive without rows

  __device__ int query_of(int row) const { return (first + row) / group; }
  __device__ std::int64_t head_of(int row) const { return kv_head * group + (first + row) % group; }
  __device__ int position_of(int row) const { return context - queries + query_of(row); }
  // Offset of a row in q or out, in elements.
  template <typename View>
  __device__ std::int64_t offset_of(int row, const View& view) const {
    return (first_query + query_of(row)) * view.row_stride + head_of(row) * view.head_stride;
  }
};

// Thread blocks of `tile_rows` rows. The last rows of a sequence see the most keys, so the first
// thread blocks process them: those that run last, with others idle, are short.
__device__ inline PrefillRows prefill_rows(const PagedPrefillParams& params, int tile_rows) {
  const std::int64_t sequence = blockIdx.z;
  const int group = static_cast<int>(params.q.num_heads / params.kv.k.num_kv_heads);
  const int first_query = params.query_start[sequence];
  const int queries = params.query_start[sequence + 1] - first_query;
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * tile_rows;
  return {sequence,    static_cast<std::int64_t>(blockIdx.y),
          first_query, group,
          queries,     params.context_length[sequence],
          first,       min(tile_rows, queries * group - first)};
}

// The keys that a query at `position` sees. The launch function sets a window.
__device__ inline KeyRange visible_from(const PagedPrefillParams& params, int position,
                                        int context) {
  const int end = max(params.options.causal ? min(position + 1, context) : context, 0);
  const std::int64_t begin = position - *params.options.window + 1;
  return {begin <= 0 ? 0 : min(static_cast<int>(begin), end), end};
}

// The keys that at least one row of the thread block sees, and those that all of them see.
__device__ inline TeamKeys keys_of(const PagedPrefillParams& params, const PrefillRows& rows) {
  const KeyRange first = visible_from(params, rows.position_of(0), rows.context);
  const KeyRange last = visible_from(params, rows.position_of(rows.count - 1), rows.context);
  return {{first.begin, last.end}, {last.begin, first.end}};
}

// Fills missing rows with zeros. One warp loads each row.
template <typename Shape>
__device__ inline void load_query_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                       typename Shape::Element* tile) {
  using Element = typename Shape::Element;
  const auto* q = static_cast<const Element*>(params.q.data);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int row = static_cast<int>(threadIdx.x) / kWarpLanes; row < kPrefillRows;
       row += kPrefillWarps) {
    const std::int64_t from = rows.offset_of(row, params.q);
    for (int dim = lane; dim < Shape::kHeadDim; dim += kWarpLanes) {
      tile[Shape::RowTile::index(row, dim)] =
          row < rows.count ? q[from + dim] : convert<Element>(0.0F);
    }
    // The trip counts of the lanes may differ by one.
    if constexpr (Shape::kHeadDim % kWarpLanes != 0) __syncwarp();
  }
}

// The rules of the calling lane's rows. Missing rows see nothing.
template <typename Shape>
__device__ inline RowRules prefill_rules(const PagedPrefillParams& params, const PrefillRows& rows,
                                         int warp, int lane) {
  const AttentionOptions& options = params.options;
  const float scale =
      options.scale * stored_scale<typename Shape::Stored>(params.kv.k, rows.kv_head);
  RowRules rules;
  rules.plain_factor = plain_factor_of(options, scale);
  for (int half = 0; half < 2; ++half) {
    const int row = warp * kTileRows + fragment_row(lane, half * 2);
    rules.rule[half] = {scale, options.softcap, 0.0F, 0};
    rules.visible[half] = {0, 0};
    if (row >= rows.count) continue;
    const int position = rows.position_of(row);
    if (!options.alibi_slopes.empty()) {
      rules.rule[half].alibi_slope = options.alibi_slopes[rows.head_of(row)];
    }
    rules.rule[half].newest = position;
    rules.visible[half] = visible_from(params, position, rows.context);
  }
  return rules;
}

// The factor by which a row's o becomes its output, after the sink has been merged into the row's
// `state`, whose o is 1. One of the four lanes of a row writes its log-sum-exp. Missing rows write
// nothing.
__device__ inline float output_factor(const PagedPrefillParams& params, const PrefillRows& rows,
                                      int row, SoftmaxState<1> state, int lane) {
  if (row >= rows.count) return 0.0F;
  const std::int64_t head = rows.head_of(row);
  const float* sink = sink_of(params.options, head);
  if (sink != nullptr) state = merge(state, sink_state<1>(*sink));
  if (lane % 4 == 0 && params.lse_ln != nullptr) {
    const std::int64_t query = rows.first_query + rows.query_of(row);
    params.lse_ln[query * params.q.num_heads + head] = lse_ln_of(state);
  }
  // The merge has multiplied o by state.weighted.
  return normalised(state.weighted[0], state.sum);
}

template <typename Shape>
__device__ inline void write_rows(const PagedPrefillParams& params, const PrefillRows& rows,
                                  int warp, int lane, const RowStates<Shape::kHeadDim>& states) {
  using Element = typename Shape::Element;
  const float value_scale = stored_scale<typename Shape::Stored>(params.kv.v, rows.kv_head);
  for (int half = 0; half < 2; ++half) {
    const int row = warp * kTileRows + fragment_row(lane, half * 2);
    if (row >= rows.count) continue;
    const SoftmaxState<1> state{states.maximum[half], states.sum[half], {1.0F}};
    const float factor = value_scale * output_factor(params, rows, row, state, lane);
    auto* out = static_cast<Element*>(params.out.data) + rows.offset_of(row, params.out) +
                fragment_column(lane, 0);
    for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
      for (int i = 0; i < 2; ++i) {
        out[dim + i] = convert<Element>(states.weighted[dim / 8][half * 2 + i] * factor);
      }
    }
  }
}

// Grid: (tiles of 64 rows, num_kv_heads, num_seqs).
template <typename Shape>
__global__ void __launch_bounds__(kPrefillThreads, kPrefillBlocksPerSm)
    paged_prefill(const PagedPrefillParams params) {
  KERNEL_DYNAMIC_SHARED(std::uint32_t, prefill_memory);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const PrefillRows rows = prefill_rows(params, kPrefillRows);
  if (rows.count <= 0) return;

  auto* queries = reinterpret_cast<typename Shape::Element*>(prefill_memory);
  load_query_rows<Shape>(params, rows, queries);
  __syncthreads();

  using Stream = typename Shape::Stream;
  const HeadCache<typename Shape::Stored> cache = head_cache<typename Shape::Stored>(
      params.kv, params.block_table, rows.sequence, rows.kv_head);
  const StreamMemory<Stream> memory = {prefill_memory + Shape::kQueryBytes / sizeof(std::uint32_t)};
  KeyStream<Stream> stream(cache, keys_of(params, rows), memory,
                           prefill_rules<Shape>(params, rows, warp, lane));
  const RowStates<Shape::kHeadDim> states =
      stream.run(queries + Shape::RowTile::index(warp * kTileRows, 0));
  write_rows<Shape>(params, rows, warp, lane, states);
}

}  // namespace recto::kernels
