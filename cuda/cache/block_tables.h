#pragma once

// The block tables of sequences into one pool: for each (sequence, layer group) a row of physical
// blocks by logical index. Memory is touched only as far as sequences have reached.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

// One entry: a logical block of a sequence in a group.
struct TablePlace {
  std::int32_t sequence = 0;
  std::int32_t group = 0;
  std::int64_t block = 0;
};

class BlockTables {
 public:
  static Result<BlockTables> create(const CacheGeometry& geometry, std::int32_t max_sequences);
  BlockTables() = default;

  BlockId& at(const TablePlace& place) {
    return entries_[row_begin(place.sequence, place.group) + place.block];
  }
  BlockId at(const TablePlace& place) const {
    return entries_[row_begin(place.sequence, place.group) + place.block];
  }
  std::span<const BlockId> row(std::int32_t sequence, std::int32_t group,
                               std::int64_t blocks) const {
    return entries_.all().subspan(static_cast<std::size_t>(row_begin(sequence, group)),
                                  static_cast<std::size_t>(blocks));
  }

  // The index of a row's first entry that is not out of the group's window; those before it are
  // kNoBlock.
  std::int32_t& first(std::int32_t sequence, std::int32_t group) {
    return first_[std::int64_t{sequence} * num_groups_ + group];
  }
  std::int32_t first(std::int32_t sequence, std::int32_t group) const {
    return first_[std::int64_t{sequence} * num_groups_ + group];
  }

  std::int64_t bytes() const { return entries_.bytes() + first_.bytes(); }

 private:
  std::int64_t row_begin(std::int32_t sequence, std::int32_t group) const {
    return (std::int64_t{sequence} * num_groups_ + group) * max_blocks_;
  }

  std::int64_t num_groups_ = 1;
  std::int64_t max_blocks_ = 0;
  FixedArray<BlockId> entries_;     // [max_sequences, num_groups, max_blocks]
  FixedArray<std::int32_t> first_;  // [max_sequences, num_groups]
};

}  // namespace recto::cache
