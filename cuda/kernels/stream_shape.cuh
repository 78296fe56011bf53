#pragma once

// What a stream of keys keeps in shared memory, known when it is compiled.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/team.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// In what is computed, tensor_core_products.cuh or scalar_products.cuh, and what the cache holds;
// bytes are fp8 codes, which become elements of the products' type in a tile of their own.
template <typename ProductsType, typename StoredElement>
struct Numbers {
  using Products = ProductsType;
  using Stored = StoredElement;
};

// A team of threads shares each tile of kTileKeys keys.
template <typename TeamType, typename NumbersType, int kDims, int kTileKeys>
struct StreamShape {
  using Team = TeamType;
  using Products = typename NumbersType::Products;
  using Element = typename Products::Element;
  using Stored = typename NumbersType::Stored;
  static constexpr int kHeadDim = kDims;
  static constexpr int kKeys = kTileKeys;
  static_assert(kKeys % Products::kKeysPerStep == 0 && kKeys <= Team::kThreads);
  // While one tile is worked on, the next one is under way.
  static constexpr int kStages = 2;
  static constexpr bool kIsCoded = sizeof(Stored) != sizeof(Element);

  using RowTile = RowMajorTile<Element, kHeadDim>;
  using DimTile = DimMajorTile<Element, kKeys>;
  // Codes lie side by side: nobody reads the same part of several rows at once.
  static constexpr int kStoredStride = kIsCoded ? kHeadDim : RowTile::kStride;
  static constexpr int kStoredTile = kStoredStride * kKeys;
  static constexpr int kWideTile = kIsCoded ? RowTile::size(kKeys) : 0;
  static_assert(DimTile::size(kHeadDim) <= RowTile::size(kKeys));

  // Of one team, in this order; all are multiples of 16. Scratch is each warp's own.
  static constexpr int kStageBytes = 2 * kStoredTile * static_cast<int>(sizeof(Stored));
  static constexpr int kWideBytes = kWideTile * static_cast<int>(sizeof(Element));
  static constexpr int kScratchBytes = Products::kScratch * static_cast<int>(sizeof(Element));
  static constexpr int kOffsetBytes = 2 * kKeys * static_cast<int>(sizeof(std::int64_t));
  static constexpr int kBytes = kStages * kStageBytes + kWideBytes +
                                Team::kThreads / kWarpLanes * kScratchBytes + kOffsetBytes;
};

// What a team has of shared memory.
template <typename Shape>
struct StreamMemory {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;

  std::uint32_t* begin;

  __device__ Stored* keys(int stage) const { return at<Stored>(stage * Shape::kStageBytes); }
  __device__ Stored* values(int stage) const { return keys(stage) + Shape::kStoredTile; }
  __device__ Element* wide() const { return at<Element>(kWideAt); }
  __device__ std::int64_t* key_offsets() const {  // [kKeys]
    return at<std::int64_t>(kWideAt + Shape::kWideBytes);
  }
  __device__ std::int64_t* value_offsets() const { return key_offsets() + Shape::kKeys; }
  __device__ Element* scratch(int warp) const {
    return at<Element>(kWideAt + Shape::kWideBytes + Shape::kOffsetBytes +
                       warp * Shape::kScratchBytes);
  }

 private:
  static constexpr int kWideAt = Shape::kStages * Shape::kStageBytes;

  template <typename T>
  __device__ T* at(int bytes) const {
    return reinterpret_cast<T*>(begin + bytes / static_cast<int>(sizeof(std::uint32_t)));
  }
};

}  // namespace recto::kernels
