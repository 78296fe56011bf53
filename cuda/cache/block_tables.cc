#include "cuda/cache/block_tables.h"

#include <limits>
#include <utility>

namespace recto::cache {

Result<BlockTables> BlockTables::create(const CacheGeometry& geometry, std::int32_t max_sequences) {
  BlockTables tables;
  tables.num_groups_ = geometry.num_groups();
  tables.max_blocks_ = geometry.max_blocks();
  const std::int64_t rows = max_sequences * tables.num_groups_;
  const bool is_countable = rows <= std::numeric_limits<std::int64_t>::max() / tables.max_blocks_;
  auto entries = FixedArray<BlockId>::create(is_countable ? rows * tables.max_blocks_ : -1,
                                             "entries of block tables");
  if (!entries.is_ok()) return entries.status();
  auto first = FixedArray<std::int32_t>::create(rows, "rows of block tables", 0);
  if (!first.is_ok()) return first.status();
  tables.entries_ = std::move(entries).value();
  tables.first_ = std::move(first).value();
  return tables;
}

}  // namespace recto::cache
