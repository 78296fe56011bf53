#pragma once

// Compile-time layout of the shared memory of a stream of keys.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/team.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// How tiles are fetched from the cache: row_fetch.cuh, block_fetch.cuh or tile_fetch.cuh.
enum class Transfer : std::uint8_t { kRows, kBlocks, kTiles };

// Whether all rows of a team see the same keys, or each row its own.
enum class Sight : std::uint8_t { kShared, kOfEachRow };

// The products, from tensor_core_products.cuh or scalar_products.cuh, and the element type of the
// cache; bytes are fp8 codes.
template <typename ProductsType, typename StoredElement, Transfer kHow = Transfer::kRows>
struct Numbers {
  using Products = ProductsType;
  using Stored = StoredElement;
  static constexpr Transfer kTransfer = kHow;
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
  // While one tile is processed, the next one is being fetched.
  static constexpr int kStages = 2;
  static constexpr Transfer kTransfer = NumbersType::kTransfer;
  // All rows of a team see the same keys; PrefillStream overrides this.
  static constexpr Sight kSight = Sight::kShared;
  // Whether whole tiles can be fetched: a warp's copies of neighbouring chunks cover no more keys.
  static constexpr bool kHasWholeTiles =
      sizeof(Stored) <= 2 && kWarpLanes / kCopySide<kDims / kChunk<Stored>> <= kKeys;
  // Whether the kernel is launched only where scores are a factor times the products. (The scales
  // of fp8 are in device memory, and the factor may underflow.)
  static constexpr bool kHasPlainScores = kTransfer == Transfer::kTiles && sizeof(Stored) == 2;
  // Whether fetched data is converted into a tile before the products read it: fp8 codes, which
  // become elements, and whole blocks, whose rows would have bank conflicts.
  static constexpr bool kIsStaged =
      sizeof(Stored) != sizeof(Element) || kTransfer == Transfer::kBlocks;

  using RowTile = RowMajorTile<Element, kHeadDim>;
  using DimTile = DimMajorTile<Element, kKeys>;
  // Bulk copies leave rows contiguous.
  static constexpr int kStoredStride =
      kTransfer == Transfer::kBlocks ? kHeadDim : odd_stride<Stored>(kHeadDim);
  static constexpr int kStoredDimStride = kKeys;  // when staged with a row for each dim
  static constexpr int kStoredTile = kStoredStride * kKeys;
  static constexpr int kSettledTile = kIsStaged ? RowTile::size(kKeys) : 0;
  static_assert(DimTile::size(kHeadDim) <= RowTile::size(kKeys));

  // The memory of one team, in this order; all sizes are multiples of 16. Each warp has its own
  // scratch.
  static constexpr int kStageBytes = 2 * kStoredTile * static_cast<int>(sizeof(Stored));
  static constexpr int kSettledBytes = kSettledTile * static_cast<int>(sizeof(Element));
  static constexpr int kScratchBytes = Products::kScratch * static_cast<int>(sizeof(Element));
  static constexpr int kOffsetBytes = 2 * kKeys * static_cast<int>(sizeof(std::int64_t));
  static constexpr int kBytes = kStages * kStageBytes + kSettledBytes +
                                Team::kThreads / kWarpLanes * kScratchBytes + kOffsetBytes;
};

// The shared memory of a team.
template <typename Shape>
struct StreamMemory {
  using Stored = typename Shape::Stored;
  using Element = typename Shape::Element;

  std::uint32_t* begin;

  __device__ Stored* keys(int stage) const { return at<Stored>(stage * Shape::kStageBytes); }
  __device__ Stored* values(int stage) const { return keys(stage) + Shape::kStoredTile; }
  __device__ Element* settled() const { return at<Element>(kSettledAt); }
  __device__ std::int64_t* key_offsets() const {  // [kKeys], by offset_index()
    return at<std::int64_t>(kSettledAt + Shape::kSettledBytes);
  }
  __device__ std::int64_t* value_offsets() const { return key_offsets() + Shape::kKeys; }
  // In place of the offsets, if blocks are fetched.
  __device__ Mbarrier* mbarriers() const {  // [kStages]
    return reinterpret_cast<Mbarrier*>(key_offsets());
  }
  __device__ Element* scratch(int warp) const {
    return at<Element>(kSettledAt + Shape::kSettledBytes + Shape::kOffsetBytes +
                       warp * Shape::kScratchBytes);
  }

 private:
  static constexpr int kSettledAt = Shape::kStages * Shape::kStageBytes;

  template <typename T>
  __device__ T* at(int bytes) const {
    return reinterpret_cast<T*>(begin + bytes / static_cast<int>(sizeof(std::uint32_t)));
  }
};

}  // namespace recto::kernels
