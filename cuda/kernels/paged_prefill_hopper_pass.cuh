#pragma once

// A consumer of paged_prefill_hopper.cuh: a warpgroup that computes attention of 64 rows. Products
// are asynchronous: while the scores of one tile become weights, P V of the tile before is added.
// Also, two consumers take turns: one starts its products while the other's scores become weights.
// (Shah et al., FlashAttention-3, 2024.)

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/hopper_consumer.cuh"
#include "cuda/kernels/paged_prefill_hopper_finite.cuh"
#include "cuda/kernels/paged_prefill_hopper_shape.cuh"
#include "cuda/kernels/paged_prefill_hopper_softmax.cuh"
#include "cuda/kernels/paged_prefill_wide_products.cuh"

namespace recto::kernels {

template <typename Shape>
class HopperPass {
 public:
  using Element = typename Shape::Element;
  using Tile = typename Shape::Tile;
  using States = RowStates<Shape::kHeadDim>;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kHeadDim = Shape::kHeadDim;

  __device__ HopperPass(float factor, HopperMemory<Shape>& memory, const Consumer& consumer)
      : factor_(factor),
        memory_(memory),
        consumer_(consumer),
        queries_(Tile::by_dims(memory.rows + Tile::size(consumer.index * Shape::kConsumerRows))),
        keys_(Tile::by_dims(memory.keys.tiles[0])),
        values_(Tile::by_rows(memory.values.tiles[0])) {}

  // The queries are in memory.
  __device__ void run(const TileRange& tiles, States& states) {
    first_tile_ = tiles.first;
    int tile = tiles.first;
#pragma unroll 1
    while (tile < tiles.last) {
      if (tile >= tiles.whole_first && tile < tiles.whole_last) {
        attend_to_whole(tiles, states);
        tile = tiles.whole_last;
      } else {
        attend_to_edge(tile, states);
        ++tile;
      }
    }
    states.close();
  }

 private:
  using Scores = Fragment[kKeys / 8];
  using Weights = unsigned[kKeys / 16][4];

  // Starts scores = Q K^T.
  __device__ void multiply_keys(int index, Scores& scores) const {
    memory_.keys.wait_until_full(index);
    const std::uint64_t keys = keys_ + TileRing<Shape>::stage(index) * Tile::step_of_rows(kKeys);
    hold(scores);
    begin_products();
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += 16) {
      multiply_shared<Element>(scores, queries_ + Tile::step_of_dims(dim),
                               keys + Tile::step_of_dims(dim),
                               dim > 0 ? Sums::kAddedTo : Sums::kNew);
    }
    commit_products();
  }

  // Starts weighted += P V. The values have arrived.
  __device__ void add_values(int index, Weights& weights, States& states) const {
    const std::uint64_t values =
        values_ + TileRing<Shape>::stage(index) * Tile::step_of_rows(kKeys);
    hold(weights);
    hold(states.weighted);
    begin_products();
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
      multiply_registers<Element>(states.weighted, weights[key / 16],
                                  values + Tile::step_of_rows(key));
    }
    commit_products();
  }

  // Waits for products, until kGroupsLeft groups are left.
  template <int kGroupsLeft, int kBlocks>
  __device__ static void end(Fragment (&sums)[kBlocks]) {
    wait_for_products<kGroupsLeft>();
    hold(sums);
  }

  // This warp has read the tile.
  __device__ void release(TileRing<Shape>& ring, int index) const {
    ring.release(index, consumer_.lane);
  }

  // Converts scores to weights. No P V is being added to o.
  __device__ void weigh(Scores& scores, States& states) const {
    grow_maxima(factor_, scores, states).apply(states);
    to_weights(factor_, scores, states);
  }

  // The operands of P V in the type of V.
  __device__ static void round(const Scores& scores, Weights& weights) {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
      const Fragment& from = scores[i / 2];
      weights[i / 4][i % 4] = rounded_pair<Element>(from[i % 2 * 2], from[i % 2 * 2 + 1]);
    }
  }

  // Tiles whose keys all rows see.
  __device__ void attend_to_whole(const TileRange& tiles, States& states) const {
    const int last = tiles.whole_last - 1 - first_tile_;
    int index = tiles.whole_first - first_tile_;
    Turns<Shape::kConsumers> turns(consumer_, last - index);
    Scores scores;
    Weights weights;
    multiply_keys(index, scores);
    end<0>(scores);
    release(memory_.keys, index);
    weigh(scores, states);
    round(scores, weights);
    memory_.values.wait_until_full(index);
#pragma unroll 1
    for (; index < last; ++index) {
      turns.wait();
      multiply_keys(index + 1, scores);
      add_values(index, weights, states);
      turns.pass();
      end<1>(scores);
      release(memory_.keys, index + 1);
      const RowGrowth growth = grow_maxima(factor_, scores, states);
      to_weights(factor_, scores, states);
      // Otherwise ptxas computes the exponentials after the wait for P V.
      complete_before_waits(states.sum[0] + states.sum[1], memory_.finite[consumer_.index]);
      memory_.values.wait_until_full(index + 1);
      end<0>(states.weighted);
      release(memory_.values, index);
      round(scores, weights);
      growth.apply(states);
    }
    add_values(index, weights, states);
    end<0>(states.weighted);
    release(memory_.values, index);
  }

  // A tile some of whose keys some rows do not see.
  __device__ void attend_to_edge(int tile, States& states) const {
    const int index = tile - first_tile_;
    Scores scores;
    Weights weights;
    multiply_keys(index, scores);
    end<0>(scores);
    release(memory_.keys, index);
    hide_unseen_keys(tile * kKeys, scores);
    weigh(scores, states);
    round(scores, weights);
    memory_.values.wait_until_full(index);
    const FiniteValues<Shape> values(memory_.values.tiles[TileRing<Shape>::stage(index)],
                                     memory_.finite[consumer_.index], consumer_);
    if (values.are_all()) {
      add_values(index, weights, states);
      end<0>(states.weighted);
    } else {
      values.add(weights, states);
      values.add_non_finite_where_seen(tile * kKeys, memory_.visible, states);
      __syncwarp();
    }
    release(memory_.values, index);
  }

  // Sets the scores of hidden keys to -infinity. The tile's first key is at position `first`.
  __device__ void hide_unseen_keys(int first, Scores& scores) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const KeyRange visible = memory_.visible[consumer_.row(half)];
      const int begin = visible.begin - first - fragment_column(consumer_.lane, 0);
      const int end = visible.end - first - fragment_column(consumer_.lane, 0);
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int key = block * 8 + i;
          if (key < begin || key >= end) scores[block][half * 2 + i] = -INFINITY;
        }
      }
    }
  }

  const float factor_;  // a weight is 2^(factor * product - maximum)
  HopperMemory<Shape>& memory_;
  const Consumer consumer_;
  const std::uint64_t queries_;
  const std::uint64_t keys_;
  const std::uint64_t values_;
  int first_tile_ = 0;
};

}  // namespace recto::kernels
