#pragma once

// The two products of attention in fp32, by one warp for sixteen rows, without tensor cores; in the
// same fragments as theirs.

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
  // Weights change lanes through shared memory, [16][8].
  static constexpr int kScratch = kTileRows * kKeysPerStep;

  // scores = Q K^T. Every fourth dim has a sum of its own.
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

  // weighted += P V.
  template <int kHeadDim, int kKeys>
  __device__ static void add_values(const Fragment (&weights)[kKeys / 8], const float* values,
                                    float* scratch, int lane, Fragment (&weighted)[kHeadDim / 8]) {
    add_products<kHeadDim, kKeys>(weights, scratch, lane, weighted, [&](int key, int dim) {
      return values[RowMajorTile<float, kHeadDim>::index(key, dim)];
    });
  }

  // The same with a row of V for each dim.
  template <int kHeadDim, int kKeys>
  __device__ static void add_values_by_dims(const Fragment (&weights)[kKeys / 8],
                                            const float* values, float* scratch, int lane,
                                            Fragment (&weighted)[kHeadDim / 8]) {
    add_products<kHeadDim, kKeys>(weights, scratch, lane, weighted, [&](int key, int dim) {
      return values[DimMajorTile<float, kKeys>::index(dim, key)];
    });
  }

 private:
  template <int kHeadDim, int kKeys, typename Value>
  __device__ static void add_products(const Fragment (&weights)[kKeys / 8], float* scratch,
                                      int lane, Fragment (&weighted)[kHeadDim / 8],
                                      const Value& value) {
    for (int block = 0; block < kKeys / 8; ++block) {
      __syncwarp();
      for (int half = 0; half < 2; ++half) {
        float* pair = scratch + fragment_row(lane, half * 2) * 8 + fragment_column(lane, 0);
        *reinterpret_cast<float2*>(pair) =
            make_float2(weights[block][half * 2], weights[block][half * 2 + 1]);
      }
      __syncwarp();
#pragma unroll 1
      for (int key = 0; key < 8; key += 4) {
        const float* from = scratch + fragment_row(lane, 0) * 8 + key;
        const Four<float> upper = Fours::load(from, 0, 4);
        const Four<float> lower = Fours::load(from, 8 * 8, 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          add_value<kHeadDim>(upper.at[i], lower.at[i], block * 8 + key + i, lane, weighted, value);
        }
      }
    }
  }

  template <int kHeadDim, typename Value>
  __device__ static void add_value(float upper, float lower, int key, int lane,
                                   Fragment (&weighted)[kHeadDim / 8], const Value& value) {
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += 8) {
      const int own = dim + fragment_column(lane, 0);
      const float first = value(key, own);
      const float second = value(key, own + 1);
      Fragment& sums = weighted[dim / 8];
      sums[0] += upper * first;
      sums[1] += upper * second;
      sums[2] += lower * first;
      sums[3] += lower * second;
    }
  }
};

}  // namespace recto::kernels
