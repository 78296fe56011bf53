#pragma once

// What a thread block of a group-packed kernel keeps in shared memory, known when it is compiled.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// Products: tensor_core_products.cuh or scalar_products.cuh. StoredElement: what the cache holds;
// bytes are fp8 codes, which become elements of the products' type in a tile of their own.
template <typename ProductsType, typename StoredElement, int kDims>
struct GroupShape {
  using Products = ProductsType;
  using Element = typename Products::Element;
  using Stored = StoredElement;
  static constexpr int kHeadDim = kDims;
  // A warp's tile. While it works on one, the next one is under way.
  static constexpr int kKeys = Products::kKeysPerStep;
  static constexpr int kStages = 2;
  static constexpr bool kIsCoded = sizeof(Stored) != sizeof(Element);

  using KeyTile = RowTile<Element, kHeadDim>;
  using DimMajorTile = DimTile<Element, kKeys>;
  // Codes lie side by side: nobody reads the same part of several rows at once.
  static constexpr int kStoredStride = kIsCoded ? kHeadDim : KeyTile::kStride;
  static constexpr int kStoredTile = kStoredStride * kKeys;
  static constexpr int kWideTile = kIsCoded ? KeyTile::size(kKeys) : 0;
  static_assert(DimMajorTile::size(kHeadDim) <= KeyTile::size(kKeys));

  // Of one warp, in this order; all are multiples of 16.
  static constexpr int kStageBytes = 2 * kStoredTile * static_cast<int>(sizeof(Stored));
  static constexpr int kWideBytes = kWideTile * static_cast<int>(sizeof(Element));
  static constexpr int kScratchBytes = Products::kScratch * static_cast<int>(sizeof(Element));
  static constexpr int kOffsetBytes = 2 * kKeys * static_cast<int>(sizeof(std::int64_t));
  static constexpr int kWarpBytes =
      kStages * kStageBytes + kWideBytes + kScratchBytes + kOffsetBytes;

  // At the end a warp's part holds its sums of weighted values instead. Rows are eight banks apart.
  static constexpr int kSumStride = kHeadDim + 8;
  static_assert(kTileRows * kSumStride * static_cast<int>(sizeof(float)) <= kWarpBytes);

  static constexpr int kQueryBytes = KeyTile::size(kTileRows) * static_cast<int>(sizeof(Element));
  // Thread blocks that a multiprocessor is to hold at least: it has registers for so many.
  static constexpr int kBlocksPerSm = kHeadDim <= 64 ? 3 : kHeadDim <= 192 ? 2 : 1;
  static constexpr int kSharedBytes = kQueryBytes + kDecodeWarps * kWarpBytes;
};

// One warp's part of it.
template <typename Shape>
struct WarpMemory {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;

  std::uint32_t* begin;

  __device__ Stored* keys(int stage) const { return at<Stored>(stage * Shape::kStageBytes); }
  __device__ Stored* values(int stage) const { return keys(stage) + Shape::kStoredTile; }
  __device__ Element* wide() const { return at<Element>(kWideAt); }
  __device__ Element* scratch() const { return at<Element>(kWideAt + Shape::kWideBytes); }
  __device__ std::int64_t* key_offsets() const {  // [kKeys]
    return at<std::int64_t>(kWideAt + Shape::kWideBytes + Shape::kScratchBytes);
  }
  __device__ std::int64_t* value_offsets() const { return key_offsets() + Shape::kKeys; }
  __device__ float* sums() const { return at<float>(0); }  // [kTileRows][kSumStride]

 private:
  static constexpr int kWideAt = Shape::kStages * Shape::kStageBytes;

  template <typename T>
  __device__ T* at(int bytes) const {
    return reinterpret_cast<T*>(begin + bytes / static_cast<int>(sizeof(std::uint32_t)));
  }
};

// The warps' parts lie one after the other.
template <typename Shape>
__device__ inline WarpMemory<Shape> warp_memory(std::uint32_t* warps_begin, int warp) {
  return {warps_begin + warp * (Shape::kWarpBytes / static_cast<int>(sizeof(std::uint32_t)))};
}

}  // namespace recto::kernels
