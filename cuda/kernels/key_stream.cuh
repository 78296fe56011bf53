#pragma once

// Streams keys and values from the cache tile by tile in the background, and computes scores,
// softmax and weighted values for the rows that see them.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>
#include <type_traits>

#include "cuda/kernels/block_fetch.cuh"
#include "cuda/kernels/head_cache.cuh"
#include "cuda/kernels/limits.h"
#include "cuda/kernels/non_finite_values.cuh"
#include "cuda/kernels/row_fetch.cuh"
#include "cuda/kernels/row_softmax.cuh"
#include "cuda/kernels/settle.cuh"
#include "cuda/kernels/stream_shape.cuh"
#include "cuda/kernels/tile_fetch.cuh"

namespace recto::kernels {

template <typename Shape, Transfer kHow>
struct FetchOf;
template <typename Shape>
struct FetchOf<Shape, Transfer::kRows> : std::type_identity<RowFetch<Shape>> {};
template <typename Shape>
struct FetchOf<Shape, Transfer::kBlocks> : std::type_identity<BlockFetch<Shape>> {};
template <typename Shape>
struct FetchOf<Shape, Transfer::kTiles> : std::type_identity<TileFetch<Shape>> {};
template <typename Shape>
using Fetch = typename FetchOf<Shape, Shape::kTransfer>::type;

// The keys that at least one row of a team sees, and those that all its rows see; the size of the
// latter range may be negative.
struct TeamKeys {
  KeyRange any;
  KeyRange all;
};

// Used by a team, with sixteen rows for each of its warps.
template <typename Shape>
class KeyStream {
 public:
  using Team = typename Shape::Team;
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;
  using Products = typename Shape::Products;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;
  // The tile after a context's last one must begin within int, as must the positions of its
  // threads.
  static_assert(kContextLengthMax % kKeys == 0);
  static_assert(kContextLengthMax + Team::kThreads - 1 <= INT32_MAX);

  // `rows` are the rows of the calling lane.
  __device__ KeyStream(const HeadCache<Stored>& cache, const TeamKeys& keys,
                       const StreamMemory<Shape>& memory, const RowRules& rows)
      : cache_(cache), keys_(keys.any), seen_by_all_(keys.all), memory_(memory), rows_(rows) {}

  // Returns the rows' states after all keys. query: the warp's rows, see RowMajorTile.
  __device__ RowStates<kHeadDim> run(const Element* query) {
    return run(query, [] {});
  }

  // get_ready() is called once by each thread, while the first tiles are being fetched and before
  // the query is read.
  template <typename GetReady>
  __device__ RowStates<kHeadDim> run(const Element* query, const GetReady& get_ready) {
    RowStates<kHeadDim> states;
    if (keys_.size() <= 0) {
      get_ready();
      states.close();
      return states;
    }
    // Tiles begin at multiples of their size, so a sequence is always divided into the same tiles.
    const int first = keys_.begin / kKeys;
    const int end = (keys_.end + kKeys - 1) / kKeys;
    Fetch<Shape> fetch(cache_, keys_, memory_);
    for (int i = 0; i < Shape::kStages - 1; ++i) {
      fetch.start(first + i, (first + i) % Shape::kStages);
    }
    get_ready();
    for (int tile = first; tile < end; ++tile) {
      const int next = tile + Shape::kStages - 1;
      fetch.start(next, next % Shape::kStages);
      const int stage = tile % Shape::kStages;
      fetch.wait(stage);
      attend(tile, stage, query, states);
      Team::meet();  // before the stage just read is overwritten
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
    if constexpr (Shape::kHasPlainScores) {
      if (!seen_by_all_.has_all(tile * kKeys, kKeys)) {
        hide_unseen(rows_, tile * kKeys, lane, scores);
      }
      weigh_scores(rows_.plain_factor, scores, states);
    } else {
      weigh(rows_, tile * kKeys, seen_by_all_, lane, scores, states);
    }
    Element* values = wide_values(stage);
    if constexpr (Shape::kSight == Sight::kOfEachRow) {
      if (!is_seen_by_all(tile)) keep_to_seers(tile, values, lane, states.weighted);
    }
    Products::template add_values<kHeadDim, kKeys>(scores,
                                                   ValueTile<Element>{values, value_order()},
                                                   memory_.scratch(warp), lane, states.weighted);
  }

  // Whether all rows see all keys of the tile.
  __device__ bool is_seen_by_all(int tile) const {
    return max(tile * kKeys, keys_.begin) >= seen_by_all_.begin &&
           min(tile * kKeys + kKeys, keys_.end) <= seen_by_all_.end;
  }

  // Non-finite values must reach only the rows that see them: hidden keys get weight 0, and 0 times
  // NaN or infinity is NaN.
  __device__ void keep_to_seers(int tile, Element* values, int lane,
                                Fragment (&weighted)[kHeadDim / 8]) const {
    const NonFiniteValues<Shape> found(values, value_order());
    if (Team::any(found.are_there() ? 1 : 0) == 0) return;
    found.add_where_seen(rows_, tile * kKeys, lane, weighted);
    Team::meet();
    found.clear();
    Team::meet();
  }

  // Packed caches are never fetched in whole tiles.
  __device__ ValueOrder value_order() const {
    return Shape::kTransfer == Transfer::kTiles ? ValueOrder::kKeyRows : cache_.value_order;
  }

  // The tile in the form that the products read.
  __device__ const Element* wide_keys(int stage) const {
    if constexpr (Shape::kIsStaged) {
      return settled_rows(memory_.keys(stage));
    } else {
      return memory_.keys(stage);
    }
  }
  __device__ Element* wide_values(int stage) const {
    if constexpr (!Shape::kIsStaged) {
      return memory_.values(stage);
    } else {
      Team::meet();  // the keys in this memory have been read
      if (value_order() == ValueOrder::kKeyRows) return settled_rows(memory_.values(stage));
      settle<Shape, StoredTile<kHeadDim, kKeys, Shape::kStoredDimStride>>(
          memory_.values(stage), cache_.codes, memory_.settled(), &Shape::DimTile::index,
          Workers{Team::rank(), Team::kThreads});
      Team::meet();
      return memory_.settled();
    }
  }
  __device__ Element* settled_rows(const Stored* codes) const {
    settle<Shape, StoredTile<kKeys, kHeadDim, Shape::kStoredStride>>(
        codes, cache_.codes, memory_.settled(), &Shape::RowTile::index,
        Workers{Team::rank(), Team::kThreads});
    Team::meet();
    return memory_.settled();
  }

  const HeadCache<Stored>& cache_;
  const KeyRange keys_;
  const KeyRange seen_by_all_;
  const StreamMemory<Shape> memory_;
  const RowRules rows_;
};

}  // namespace recto::kernels
