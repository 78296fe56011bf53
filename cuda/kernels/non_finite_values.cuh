#pragma once

// Handles NaN and infinities among the values of a tile whose rows see different keys: adds them to
// the rows that see them and removes them from the tile, so that a weight of 0 always gives 0.

#include <kernel_dialect.h>

#include <cmath>

#include "cuda/kernels/element.cuh"
#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/row_softmax.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// The non-finite values of a tile of a stream. Unless stated otherwise, each thread of the team
// handles its part of the tile.
template <typename Shape>
class NonFiniteValues {
 public:
  using Element = typename Shape::Element;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;

  __device__ NonFiniteValues(Element* tile, ValueOrder order) : tile_(tile), order_(order) {}

  __device__ bool are_there() const {
    bool are_finite = true;
#pragma unroll 2
    for (int i = Shape::Team::rank(); i < kChunks; i += Shape::Team::kThreads) {
      const Chunk chunk = *chunk_at(i);
      for (const Element element : chunk.at) are_finite = are_finite && is_finite(element);
    }
    return !are_finite;
  }

  // Adds all of them to the calling warp's own rows, by one warp. The tile's first key is at
  // position `first`.
  __device__ void add_where_seen(const RowRules& rows, int first, int lane,
                                 Fragment (&weighted)[kHeadDim / 8]) const {
#pragma unroll 1
    for (int key = 0; key < kKeys; ++key) {
      bool is_seen[2];
      for (int half = 0; half < 2; ++half) {
        is_seen[half] = rows.visible[half].has(first + key);
      }
      auto at = lane_values<kHeadDim, kKeys>(ValueTile<Element>{tile_, order_}, key, lane);
#pragma unroll
      for (Fragment& sums : weighted) {
        const Element values[2] = {*at.first, *at.second};
        for (int i = 0; i < 4; ++i) {
          if (is_seen[i / 2] && !is_finite(values[i % 2])) {
            sums[i] += convert<float>(values[i % 2]);
          }
        }
        at.first += at.next;
        at.second += at.next;
      }
    }
  }

  __device__ void clear() const {
#pragma unroll 2
    for (int i = Shape::Team::rank(); i < kChunks; i += Shape::Team::kThreads) {
      for (Element& element : chunk_at(i)->at) {
        if (!is_finite(element)) element = convert<Element>(0.0F);
      }
    }
  }

 private:
  struct alignas(kChunkBytes) Chunk {
    Element at[kChunk<Element>];
  };
  static constexpr int kChunks = kHeadDim * kKeys / kChunk<Element>;

  __device__ static bool is_finite(Element element) {
    return fabsf(convert<float>(element)) < INFINITY;
  }

  // Neighbouring threads access the same chunk of neighbouring keys, or neighbouring chunks of a
  // row of dims, so there are no bank conflicts.
  __device__ Chunk* chunk_at(int i) const {
    Element* at = order_ == ValueOrder::kKeyRows
                      ? tile_ + Shape::RowTile::index(i % kKeys, i / kKeys * kChunk<Element>)
                      : tile_ + i * kChunk<Element>;
    return reinterpret_cast<Chunk*>(at);
  }

  Element* tile_;
  ValueOrder order_;
};

}  // namespace recto::kernels
