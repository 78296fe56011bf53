#pragma once

// The two products of attention on tensor cores, by one warp for sixteen rows: fp16 and bf16, with
// sums in fp32. kernel_ptx.h describes the fragments of an instruction.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include "cuda/kernels/element.cuh"
#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// Two neighbouring elements of a row, the first in the lower half.
__device__ inline unsigned packed_pair(__half first, __half second) {
  return __half_as_ushort(first) | static_cast<unsigned>(__half_as_ushort(second)) << 16;
}
__device__ inline unsigned packed_pair(__nv_bfloat16 first, __nv_bfloat16 second) {
  return __bfloat16_as_ushort(first) | static_cast<unsigned>(__bfloat16_as_ushort(second)) << 16;
}

template <typename T>
struct TensorCoreProducts {
  using Element = T;
  static constexpr int kKeysPerStep = 16;
  // Elements of shared memory that a warp needs besides the tiles.
  static constexpr int kScratch = 0;
  // Thread blocks of four warps, with sixteen rows each, that fit into a multiprocessor's
  // registers.
  static constexpr int blocks_per_sm(int head_dim) { return head_dim <= 128 ? 3 : 2; }

  // scores = Q K^T.
  template <int kHeadDim, int kKeys>
  __device__ static void multiply_keys(const Element* query, const Element* keys, int lane,
                                       Fragment (&scores)[kKeys / 8]) {
    using Tile = RowMajorTile<Element, kHeadDim>;
    for (Fragment& fragment : scores) {
      for (float& score : fragment) score = 0.0F;
    }
    const Element* query_at = query + Tile::index(lane % 16, lane / 16 * 8);
    const Element* keys_at = keys + Tile::index(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8);
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += 16) {
      unsigned a[4];
      load_matrix_x4(a, query_at + dim);
#pragma unroll
      for (int key = 0; key < kKeys; key += 16) {
        unsigned b[4];
        load_matrix_x4(b, keys_at + Tile::index(key, dim));
        multiply_pair(a, b, scores[key / 8], scores[key / 8 + 1]);
      }
    }
  }

  // weighted += P V, P rounded to the type of V.
  template <int kHeadDim, int kKeys>
  __device__ static void add_values(const Fragment (&weights)[kKeys / 8],
                                    const ValueTile<Element>& values, Element* /*scratch*/,
                                    int lane, Fragment (&weighted)[kHeadDim / 8]) {
    if (values.order == ValueOrder::kKeyRows) {
      const Element* own =
          values.elements + RowMajorTile<Element, kHeadDim>::index(lane % 16, lane / 16 * 8);
      add_products<kHeadDim, kKeys>(weights, weighted, [&](unsigned(&b)[4], int key, int dim) {
        load_matrix_transposed_x4(b, own + RowMajorTile<Element, kHeadDim>::index(key, dim));
      });
    } else {
      const int own_dim = lane % 8 + lane / 16 * 8;
      const int own_key = lane / 8 % 2 * 8;
      add_products<kHeadDim, kKeys>(weights, weighted, [&](unsigned(&b)[4], int key, int dim) {
        using Tile = DimMajorTile<Element, kKeys>;
        load_matrix_x4(b, values.elements + Tile::index(dim + own_dim, key + own_key));
      });
    }
  }

 private:
  // load(b, key, dim): the two fragments of 16 keys by 16 dims.
  template <int kHeadDim, int kKeys, typename Load>
  __device__ static void add_products(const Fragment (&weights)[kKeys / 8],
                                      Fragment (&weighted)[kHeadDim / 8], const Load& load) {
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
      unsigned a[4];
      for (int i = 0; i < 4; ++i) {
        const Fragment& from = weights[key / 8 + i / 2];
        a[i] =
            packed_pair(convert<Element>(from[i % 2 * 2]), convert<Element>(from[i % 2 * 2 + 1]));
      }
#pragma unroll
      for (int dim = 0; dim < kHeadDim; dim += 16) {
        unsigned b[4];
        load(b, key, dim);
        multiply_pair(a, b, weighted[dim / 8], weighted[dim / 8 + 1]);
      }
    }
  }

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
