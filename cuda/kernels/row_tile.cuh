#pragma once

// Sixteen rows of 16-bit elements in shared memory, for the tensor cores: copied asynchronously
// (cp.async), loaded as fragments (ldmatrix).

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

// The number of dims that one mma.sync consumes.
inline constexpr int kStepDims = 16;

// A unit is the data that one lane copies, and one row of ldmatrix.
inline constexpr int kUnitBytes = 16;
inline constexpr int kUnitDims = 8;
// The number of lanes that together copy one row, 128 bytes at a time.
inline constexpr int kCopyLanes = 8;

// Row stride in elements. It is one unit more than a row, which has an even number of units. So
// eight consecutive rows, from each of which ldmatrix reads one unit, are in different banks.
__host__ __device__ constexpr int row_tile_stride(int head_dim) { return head_dim + kUnitDims; }

template <typename Element>
struct RowTile {
  Element* data;  // [kTileRows, stride]
  int stride;

  __device__ Element* row(int index) const { return data + index * stride; }
};

// Called by kCopyLanes neighbouring lanes, of which this is lane `part`. `unit_bytes` is
// kUnitBytes, or 0 for a row of zeros, for which nothing is read.
template <typename Element>
__device__ inline void copy_row_async(const Element* source, unsigned unit_bytes, int head_dim,
                                      int part, Element* row) {
  for (int dim = part * kUnitDims; dim < head_dim; dim += kCopyLanes * kUnitDims) {
    copy_async_16(row + dim, source + dim, unit_bytes);
  }
}

// Loads dims [dim, dim + kStepDims) of all rows, by one warp. Rows below 8 are in fragment[0] and
// [2], the others in [1] and [3]; the upper half of the dims is in [2] and [3]. This is operand a
// of the product; its two pairs are operands b of two products, each with eight rows as its
// columns.
template <typename Element>
__device__ inline void load_fragment(unsigned (&fragment)[4], const RowTile<Element>& tile,
                                     int dim) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  load_matrix_x4(fragment, tile.row(lane % kTileRows) + dim + lane / kTileRows * kUnitDims);
}

}  // namespace recto::kernels
