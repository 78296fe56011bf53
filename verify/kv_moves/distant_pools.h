#pragma once

// The blocks of a cache once more, in pools that are far wider: most of them lie beyond 2^31
// elements and the last ones beyond 2^32 bytes, in address space of which few pages are ever used.

#include <cstddef>
#include <memory>
#include <string>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/kv_moves/kv_pools.h"
#include "verify/kv_moves/narrow_offsets.h"
#include "verify/law.h"

namespace recto::verify {

// Owns the pools; what else a view names, such as scales, is that of the cache it was made of.
class DistantPools {
 public:
  // Pools of two blocks at least. Each block keeps its id and its bytes, gaps included; between
  // blocks there is NaN where narrow offsets lead, and zero elsewhere. Block ids from half of the
  // pool on lie beyond 2^31 elements. Failed where the system gives no addresses: 24 GiB for each
  // pool of two blocks in fp32.
  static Result<std::unique_ptr<const DistantPools>> create(const PagedKvView& near);
  DistantPools(const DistantPools&) = delete;
  DistantPools& operator=(const DistantPools&) = delete;
  ~DistantPools();

  const MutablePagedKvView& kv() const { return kv_; }

  // The blocks as they are now, as they would lie in pools like those that these were made of.
  KvPools near_pools() const;
  // The first write that went where a narrow offset leads, in each pool: a line that says which, or
  // nothing. Looks nowhere else between blocks. O(blocks block_stride), of near blocks.
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

// With the last blocks of a pool at least twice as large as what is held: those lie far.
LawCase with_high_ids(LawCase law_case);

}  // namespace recto::verify
