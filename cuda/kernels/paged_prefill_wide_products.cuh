#pragma once

// The two products of attention on tensor cores for several row fragments of a warp, which share
// each fragment of keys and values that is loaded. Each row gets the same sums, in the same order,
// as in tensor_core_products.cuh.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstring>
#include <type_traits>

#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/row_weights.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// Two weights in the type of V, the first in the lower half.
template <typename Element>
__device__ inline unsigned rounded_pair(float first, float second) {
  unsigned bits;
  if constexpr (std::is_same_v<Element, __half>) {
    const __half2 pair = __floats2half2_rn(first, second);
    std::memcpy(&bits, &pair, sizeof bits);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    std::memcpy(&bits, &pair, sizeof bits);
  }
  return bits;
}

template <typename Shape>
struct WideProducts {
  using Element = typename Shape::Element;
  using Tile = typename Shape::RowTile;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kFragments = Shape::kWarpFragments;
  using Scores = Fragment[kFragments][kKeys / 8];
  using Weights = unsigned[kFragments][kKeys / 16][4];
  using States = RowStates<kHeadDim>[kFragments];

  // scores = Q K^T. query: the warp's rows, in order of fragments.
  __device__ static void multiply_keys(const Element* query, const Element* keys, int lane,
                                       Scores& scores) {
#pragma unroll
    for (auto& of_fragment : scores) {
#pragma unroll
      for (Fragment& block : of_fragment) block[0] = block[1] = block[2] = block[3] = 0.0F;
    }
    const Element* query_at = query + Tile::index(lane % 16, lane / 16 * 8);
    const Element* keys_at = keys + Tile::index(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += 16) {
      unsigned a[kFragments][4];
#pragma unroll
      for (int f = 0; f < kFragments; ++f) {
        load_matrix_x4(a[f], query_at + Tile::index(f * kTileRows, dim));
      }
#pragma unroll
      for (int key = 0; key < kKeys; key += 16) {
        unsigned b[4];
        load_matrix_x4(b, keys_at + Tile::index(key, dim));
#pragma unroll
        for (int f = 0; f < kFragments; ++f) {
          multiply_pair(a[f], b, scores[f][key / 8], scores[f][key / 8 + 1]);
        }
      }
    }
  }

  // Operands a of P V: the weights in the type of V, which take half the registers of the scores.
  __device__ static void round(const Scores& weights, Weights& rounded) {
#pragma unroll
    for (int f = 0; f < kFragments; ++f) {
#pragma unroll
      for (int i = 0; i < kKeys / 4; ++i) {
        const Fragment& from = weights[f][i / 2];
        rounded[f][i / 4][i % 4] = rounded_pair<Element>(from[i % 2 * 2], from[i % 2 * 2 + 1]);
      }
    }
  }

  // weighted += P V.
  __device__ static void add_values(const Weights& weights, const Element* values, int lane,
                                    States& states) {
    const Element* values_at = values + Tile::index(lane % 16, lane / 16 * 8);
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
#pragma unroll
      for (int dim = 0; dim < kHeadDim; dim += 16) {
        unsigned b[4];
        load_matrix_transposed_x4(b, values_at + Tile::index(key, dim));
#pragma unroll
        for (int f = 0; f < kFragments; ++f) {
          multiply_pair(weights[f][key / 16], b, states[f].weighted[dim / 8],
                        states[f].weighted[dim / 8 + 1]);
        }
      }
    }
  }

 private:
  // Sixteen columns: b holds the fragments of the first eight, then of the other eight.
  __device__ static void multiply_pair(const unsigned (&a)[4], const unsigned (&b)[4],
                                       Fragment& first, Fragment& second) {
    const unsigned first_columns[2] = {b[0], b[1]};
    const unsigned second_columns[2] = {b[2], b[3]};
    multiply_accumulate_m16n8k16<Element>(first, a, first_columns);
    multiply_accumulate_m16n8k16<Element>(second, a, second_columns);
  }
};

}  // namespace recto::kernels
