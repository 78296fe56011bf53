#pragma once

// The pools on which KV-cache operations are tried: as placed, and with blocks that lie beyond 2^31
// elements and 2^32 bytes.

#include <functional>
#include <memory>
#include <string>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/law.h"
#include "verify/laws/cache_operations/distant_pools.h"
#include "verify/laws/cache_operations/kv_pools.h"

namespace recto::verify {

enum class PoolDistance : std::uint8_t { kNear, kDistant };

class TriedPools {
 public:
  // Pools with the shape of `cache` that hold `contents`. Fails like DistantPools::create().
  static Result<TriedPools> create(PoolDistance distance, const PagedKvView& cache,
                                   const KvPools& contents);

  MutablePagedKvView kv();

  // Their current contents, in near pools' layout.
  KvPools contents() const;
  // DistantPools::stray_writes(), for distant pools.
  std::string stray_writes() const;

 private:
  TriedPools(const PagedKvView& cache, const KvPools& contents) : cache_(cache), near_(contents) {}

  PagedKvView cache_;
  KvPools near_;
  std::unique_ptr<const DistantPools> distant_;  // if null, near_ is used
};

// Checks a case as it is and then, if it passed, with high block ids in distant pools. The second
// part is skipped if distant pools cannot be created or are refused.
LawVerdict near_and_distant(
    const LawCase& law_case,
    const std::function<LawVerdict(const LawCase& law_case, PoolDistance distance)>& check);

}  // namespace recto::verify
