#pragma once

// Handles NaN and infinities among the values of a tile whose rows see different keys, as
// non_finite_values.cuh does: adds them to the rows that see them. The product takes copies of the
// values with zeros in their place, because the other consumer still reads the tile.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cmath>
#include <type_traits>

#include "cuda/kernels/element.cuh"
#include "cuda/kernels/hopper_consumer.cuh"
#include "cuda/kernels/paged_prefill_hopper_shape.cuh"
#include "cuda/kernels/row_weights.cuh"

namespace recto::kernels {

// The values of a tile. Called by all threads of a consumer.
template <typename Shape>
class FiniteValues {
 public:
  using Element = typename Shape::Element;
  using Tile = typename Shape::Tile;
  using States = RowStates<Shape::kHeadDim>;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kSliceKeys = Shape::kSliceKeys;

  // `slice` has room for copies of the values of kSliceKeys keys.
  __device__ FiniteValues(const Element* tile, Element* slice, const Consumer& consumer)
      : tile_(tile), slice_(slice), consumer_(consumer) {}

  __device__ bool are_all() const {
    unsigned found = 0;
#pragma unroll 8
    for (int i = consumer_.thread(); i < chunks(kKeys); i += kWarpgroupThreads) {
      const Chunk chunk = reinterpret_cast<const Chunk*>(tile_)[i];
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) found |= non_finite_in(chunk.pairs[pair]);
    }
    return !consumer_.any(found != 0 ? 1 : 0);
  }

  // weighted += P V with zeros in place of values that are not finite.
  template <int kSteps>
  __device__ void add(unsigned (&weights)[kSteps][4], States& states) const {
#pragma unroll
    for (int key = 0; key < kKeys; key += kSliceKeys) {
      copy_finite(key);
      fence_async_proxy();
      consumer_.meet();
      hold(states.weighted);
      begin_products();
      multiply_registers<Element>(states.weighted, weights[key / kSliceKeys],
                                  Tile::by_rows(slice_));
      commit_products();
      wait_for_products<0>();
      hold(states.weighted);
      consumer_.meet();
    }
  }

  // Adds the values that are not finite to the rows that see them. The tile's first key is at
  // position `first`.
  __device__ void add_non_finite_where_seen(int first, const KeyRange* visible,
                                            States& states) const {
    const KeyRange seen[2] = {visible[consumer_.row(0)], visible[consumer_.row(1)]};
#pragma unroll 1
    for (int key = 0; key < kKeys; ++key) {
#pragma unroll
      for (int dim = 0; dim < Shape::kHeadDim; dim += 8) {
        const Element* at = tile_ + Tile::index(key, dim + fragment_column(consumer_.lane, 0));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const Element value = at[i % 2];
          if (seen[i / 2].has(first + key) && !is_finite(value)) {
            states.weighted[dim / 8][i] += convert<float>(value);
          }
        }
      }
    }
  }

 private:
  static constexpr int kPairs = kChunk<Element> / 2;
  struct alignas(kChunkBytes) Chunk {
    unsigned pairs[kPairs];
  };

  static constexpr int chunks(int keys) { return Tile::size(keys) / kChunk<Element>; }

  // The sign bits of the elements of a pair that are not finite: adding 1 to an exponent of ones
  // carries into the place of the sign.
  __device__ static unsigned non_finite_in(unsigned pair) {
    constexpr bool kIsHalf = std::is_same_v<Element, __half>;
    constexpr unsigned kExponents = kIsHalf ? 0x7c007c00 : 0x7f807f80;
    constexpr unsigned kLowestBits = kIsHalf ? 0x04000400 : 0x00800080;
    return ((pair & kExponents) + kLowestBits) & 0x80008000;
  }
  __device__ static bool is_finite(Element element) {
    return fabsf(convert<float>(element)) < INFINITY;
  }

  // Chunks of a slice have the same order as in the tile, because slices have whole groups of rows.
  __device__ void copy_finite(int first_key) const {
    for (int i = consumer_.thread(); i < chunks(kSliceKeys); i += kWarpgroupThreads) {
      Chunk chunk = reinterpret_cast<const Chunk*>(tile_ + Tile::size(first_key))[i];
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        chunk.pairs[pair] &= ~((non_finite_in(chunk.pairs[pair]) >> 15) * 0xffff);
      }
      reinterpret_cast<Chunk*>(slice_)[i] = chunk;
    }
  }

  const Element* tile_;
  Element* slice_;
  const Consumer consumer_;
};

}  // namespace recto::kernels
