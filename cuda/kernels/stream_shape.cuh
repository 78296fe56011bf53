#pragma once

// What a stream of keys keeps in shared memory, known when it is compiled.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/team.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {

// How tiles come from the cache: row_fetch.cuh or block_fetch.cuh.
enum class Transfer : std::uint8_t { kRows, kBlocks };

// Which keys the rows of a team see: all the same, or each its own.
enum class Sight : std::uint8_t { kShared, kOfEachRow };

// In what is computed, tensor_core_products.cuh or scalar_products.cuh, and what the cache holds,
// of which bytes are fp8 codes.
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
  // While one tile is worked on, the next one is under way.
  static constexpr int kStages = 2;
  static constexpr Transfer kTransfer = NumbersType::kTransfer;
  // All rows of a team see the same keys; PrefillStream has others.
  static constexpr Sight kSight = Sight::kShared;
  // What comes as it lies in the cache is settled into a tile before the products read it: codes,
  // which become elements, and whole blocks, whose rows lie bank upon bank.
  static constexpr bool kIsStaged =
      sizeof(Stored) != sizeof(Element) || kTransfer == Transfer::kBlocks;

  using RowTile = RowMajorTile<Element, kHeadDim>;
  using DimTile = DimMajorTile<Element, kKeys>;
  // Bulk copies leave rows side by side.
  static constexpr int kStoredStride =
      kTransfer == Transfer::kBlocks ? kHeadDim : odd_stride<Stored>(kHeadDim);
  static constexpr int kStoredDimStride = kKeys;  // of a row for each dim, where they are staged
  static constexpr int kStoredTile = kStoredStride * kKeys;
  static constexpr int kSettledTile = kIsStaged ? RowTile::size(kKeys) : 0;
  static_assert(DimTile::size(kHeadDim) <= RowTile::size(kKeys));

  // Of one team, in this order; all are multiples of 16. Scratch is each warp's own.
  static constexpr int kStageBytes = 2 * kStoredTile * static_cast<int>(sizeof(Stored));
  static constexpr int kSettledBytes = kSettledTile * static_cast<int>(sizeof(Element));
  static constexpr int kScratchBytes = Products::kScratch * static_cast<int>(sizeof(Element));
  static constexpr int kOffsetBytes = 2 * kKeys * static_cast<int>(sizeof(std::int64_t));
  static constexpr int kBytes = kStages * kStageBytes + kSettledBytes +
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
  __device__ Element* settled() const { return at<Element>(kSettledAt); }
  __device__ std::int64_t* key_offsets() const {  // [kKeys], by offset_index()
    return at<std::int64_t>(kSettledAt + Shape::kSettledBytes);
  }
  __device__ std::int64_t* value_offsets() const { return key_offsets() + Shape::kKeys; }
  // Instead of offsets, where blocks are fetched.
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
