#pragma once

// The two products of attention in fp32 without tensor cores, by one warp for sixteen rows, on the
// same fragments as with tensor cores.

#include <kernel_dialect.h>

#include "cuda/kernels/element.cuh"
#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

struct ScalarProducts {
  using Element = float;
  static constexpr int kKeysPerStep = 8;
  static constexpr int blocks_per_sm(int head_dim) {
    return head_dim <= 64 ? 3 : head_dim <= 192 ? 2 : 1;
  }
  // Weights are exchanged between lanes through shared memory, [16][8].
  static constexpr int kScratch = kTileRows * kKeysPerStep;

  // scores = Q K^T. The dims are summed in four interleaved sums.
  template <int kHeadDim, int kKeys>
  __device__ static void multiply_keys(const float* query, const float* keys, int lane,
                                       Fragment (&scores)[kKeys / 8]) {
    using Tile = RowMajorTile<float, kHeadDim>;
    const int row = fragment_row(lane, 0);
    for (int block = 0; block < kKeys / 8; ++block) {
      const int key = block * 8 + fragment_column(lane, 0);
      Four<float> sums[4] = {};
#pragma unroll 1
      for (int dim = 0; dim < kHeadDim; dim += 4) {
        const Four<float> upper = Fours::load(query + Tile::index(row, dim), 0, 4);
        const Four<float> lower = Fours::load(query + Tile::index(row + 8, dim), 0, 4);
        const Four<float> first = Fours::load(keys + Tile::index(key, dim), 0, 4);
        const Four<float> second = Fours::load(keys + Tile::index(key + 1, dim), 0, 4);
        add_product(upper, first, sums[0]);
        add_product(upper, second, sums[1]);
        add_product(lower, first, sums[2]);
        add_product(lower, second, sums[3]);
      }
      for (int i = 0; i < 4; ++i) scores[block][i] = sum_of(sums[i]);
    }
  }

  // weighted += P V. One loop serves both orders: two would keep the addresses of both in
  // registers.
  template <int kHeadDim, int kKeys>
  __device__ static void add_values(const Fragment (&weights)[kKeys / 8],
                                    const ValueTile<float>& values, float* scratch, int lane,
                                    Fragment (&weighted)[kHeadDim / 8]) {
    for (int block = 0; block < kKeys / 8; ++block) {
      __syncwarp();
      for (int half = 0; half < 2; ++half) {
        float* pair =
            scratch + scratch_index(fragment_row(lane, half * 2), fragment_column(lane, 0));
        *reinterpret_cast<float2*>(pair) =
            make_float2(weights[block][half * 2], weights[block][half * 2 + 1]);
      }
      __syncwarp();
#pragma unroll 1
      for (int key = 0; key < 8; ++key) {
        const float* pair = scratch + scratch_index(fragment_row(lane, 0), key);
        add_value<kHeadDim>(pair[0], pair[8 * 8],
                            lane_values<kHeadDim, kKeys>(values, block * 8 + key, lane), weighted);
      }
    }
  }

 private:
  // Every fourth row is in the same banks. The halves of every second one of these rows are
  // swapped, so that eight rows can read one key's weights without conflicts.
  __device__ static int scratch_index(int row, int key) {
    return row * kKeysPerStep + (key ^ (row & 4));
  }

  template <int kHeadDim>
  __device__ static void add_value(float upper, float lower, LaneValues<float> values,
                                   Fragment (&weighted)[kHeadDim / 8]) {
#pragma unroll
    for (Fragment& sums : weighted) {
      const float first = *values.first;
      const float second = *values.second;
      values.first += values.next;
      values.second += values.next;
      sums[0] += upper * first;
      sums[1] += upper * second;
      sums[2] += lower * first;
      sums[3] += lower * second;
    }
  }
};

}  // namespace recto::kernels
