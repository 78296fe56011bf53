#pragma once

// The pools that something which moves K and V about is tried on: as they are, and with blocks that
// lie beyond 2^31 elements and 2^32 bytes.

#include <functional>
#include <memory>
#include <string>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/kv_moves/distant_pools.h"
#include "verify/kv_moves/kv_pools.h"
#include "verify/law.h"

namespace recto::verify {

enum class PoolDistance : std::uint8_t { kNear, kDistant };

class TriedPools {
 public:
  // Of the shape of `cache`, holding `contents`. Failed as DistantPools::create.
  static Result<TriedPools> create(PoolDistance distance, const PagedKvView& cache,
                                   const KvPools& contents);

  MutablePagedKvView kv();

  // What they hold now, however far.
  KvPools contents() const;
  // Of distant ones: DistantPools::stray_writes().
  std::string stray_writes() const;

 private:
  TriedPools(const PagedKvView& cache, const KvPools& contents) : cache_(cache), near_(contents) {}

  PagedKvView cache_;
  KvPools near_;
  std::unique_ptr<const DistantPools> distant_;  // null: near_ counts
};

// What is found on a case as it is, and then, if that held, on the same with high block ids in
// distant pools. Distant pools that cannot be had, or are refused, are a part that is skipped.
LawVerdict near_and_distant(
    const LawCase& law_case,
    const std::function<LawVerdict(const LawCase& law_case, PoolDistance distance)>& check);

}  // namespace recto::verify
