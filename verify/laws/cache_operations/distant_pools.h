#pragma once

// Copies the blocks of a cache to far larger pools: most of the blocks lie beyond 2^31 elements and
// the last ones beyond 2^32 bytes, in sparse address space of which few pages are ever used.

#include <cstddef>
#include <memory>
#include <string>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/law.h"
#include "verify/laws/cache_operations/kv_pools.h"
#include "verify/laws/cache_operations/narrow_offsets.h"

namespace recto::verify {

// Owns the pools; other data of a view, such as scales, belongs to the original cache.
class DistantPools {
 public:
  // Pools have at least two blocks. Each block keeps its id and its bytes, gaps included. The space
  // between blocks is NaN where narrow offsets lead, and zero elsewhere. Block ids in the upper
  // half of the pool lie beyond 2^31 elements. Fails if the system cannot provide the addresses: 24
  // GiB for each pool of two blocks in fp32.
  static Result<std::unique_ptr<const DistantPools>> create(const PagedKvView& near);
  DistantPools(const DistantPools&) = delete;
  DistantPools& operator=(const DistantPools&) = delete;
  ~DistantPools();

  const MutablePagedKvView& kv() const { return kv_; }

  // The current blocks, laid out as in the original pools.
  KvPools near_pools() const;
  // One line per pool that describes the first write to a place where a narrow offset leads, if
  // there is one. Checks no other place between blocks. O(blocks block_stride), with the near
  // pools' stride.
  std::string stray_writes() const;

 private:
  struct Mapping {
    void* data = nullptr;
    std::size_t bytes = 0;
    FarBlocks blocks = {};
  };

  DistantPools() = default;
  static Status spread(const KvTensorView& near, MutableKvTensorView& pool, Mapping& mapping);

  MutablePagedKvView kv_ = {};
  Mapping mappings_[2];  // of K and of V
};

// Moves the case to the last blocks of a pool at least twice as large as needed, so that they are
// distant.
LawCase with_high_ids(LawCase law_case);

}  // namespace recto::verify
