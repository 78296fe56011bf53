#pragma once

// Keys and values, tile after tile, as they come from the cache in the background: scores, softmax
// and weighted values of the rows that see them.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>
#include <type_traits>

#include "cuda/kernels/block_fetch.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/row_fetch.cuh"
#include "cuda/kernels/row_softmax.cuh"
#include "cuda/kernels/settle.cuh"
#include "cuda/kernels/stream_shape.cuh"

namespace recto::kernels {

template <typename Shape>
using Fetch =
    std::conditional_t<Shape::kTransfer == Transfer::kBlocks, BlockFetch<Shape>, RowFetch<Shape>>;

// By a team, for sixteen rows of each of its warps.
template <typename Shape>
class KeyStream {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  using Products = typename Shape::Products;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;

  // Of `keys` some are seen by some row of the team; `rows` are the calling lane's.
  __device__ KeyStream(const HeadCache<Stored>& cache, const KeyRange& keys,
                       const StreamMemory<Shape>& memory, const RowRules& rows)
      : cache_(cache), keys_(keys), memory_(memory), rows_(rows) {}

  // The rows' states after all keys. query: the warp's rows, see RowMajorTile.
  __device__ RowStates<kHeadDim> run(const Element* query) {
    RowStates<kHeadDim> states;
    if (keys_.size() <= 0) return states;
    // Tiles begin at multiples of their size, so that those of one sequence are always the same.
    const int first = keys_.begin / kKeys;
    const int end = (keys_.end + kKeys - 1) / kKeys;
    Fetch<Shape> fetch(cache_, keys_, memory_);
    for (int i = 0; i < Shape::kStages - 1; ++i) fetch.start(first + i, i);
    for (int tile = first; tile < end; ++tile) {
      const int next = tile + Shape::kStages - 1;
      fetch.start(next, (next - first) % Shape::kStages);
      const int stage = (tile - first) % Shape::kStages;
      fetch.wait(stage);
      attend(tile, stage, query, states);
      Team::meet();  // before what was read is overwritten
    }
    fetch.end();
    states.close();
    return states;
  }

 private:
  __device__ void attend(int tile, int stage, const Element* query,
                         RowStates<kHeadDim>& states) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const int warp = Team::rank() / kWarpLanes;
    Fragment scores[kKeys / 8];
    Products::template multiply_keys<kHeadDim, kKeys>(query, wide_keys(stage), lane, scores);
    weigh(rows_, tile * kKeys, lane, scores, states);
    Products::template add_values<kHeadDim, kKeys>(
        scores, ValueTile<Element>{wide_values(stage), cache_.value_order}, memory_.scratch(warp),
        lane, states.weighted);
  }

  // A tile as the products take it.
  __device__ const Element* wide_keys(int stage) const {
    if constexpr (Shape::kIsStaged) {
      return settled_rows(memory_.keys(stage));
    } else {
      return memory_.keys(stage);
    }
  }
  __device__ const Element* wide_values(int stage) const {
    if constexpr (!Shape::kIsStaged) {
      return memory_.values(stage);
    } else {
      Team::meet();  // the keys that stood there have been read
      if (cache_.value_order == ValueOrder::kKeyRows) return settled_rows(memory_.values(stage));
      settle<Shape, StoredTile<kHeadDim, kKeys, Shape::kStoredDimStride>>(
          memory_.values(stage), cache_.codes, memory_.settled(), &Shape::DimTile::index,
          Workers{Team::rank(), Team::kThreads});
      Team::meet();
      return memory_.settled();
    }
  }
  __device__ const Element* settled_rows(const Stored* codes) const {
    settle<Shape, StoredTile<kKeys, kHeadDim, Shape::kStoredStride>>(
        codes, cache_.codes, memory_.settled(), &Shape::RowTile::index,
        Workers{Team::rank(), Team::kThreads});
    Team::meet();
    return memory_.settled();
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const StreamMemory<Shape> memory_;
  const RowRules rows_;
};

}  // namespace recto::kernels
