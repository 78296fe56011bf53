#include "verify/laws/cache_operations/tried_pools.h"

#include <fmt/format.h>

#include <utility>

namespace recto::verify {

Result<TriedPools> TriedPools::create(PoolDistance distance, const PagedKvView& cache,
                                      const KvPools& contents) {
  TriedPools pools(cache, contents);
  if (distance == PoolDistance::kDistant) {
    auto distant = DistantPools::create(as_const(pools.near_.over(cache)));
    RECTO_RETURN_IF_ERROR(distant.status());
    pools.distant_ = std::move(distant).value();
  }
  return pools;
}

MutablePagedKvView TriedPools::kv() { return distant_ ? distant_->kv() : near_.over(cache_); }

KvPools TriedPools::contents() const { return distant_ ? distant_->near_pools() : near_; }

std::string TriedPools::stray_writes() const { return distant_ ? distant_->stray_writes() : ""; }

LawVerdict near_and_distant(
    const LawCase& law_case,
    const std::function<LawVerdict(const LawCase& law_case, PoolDistance distance)>& check) {
  LawVerdict verdict = check(law_case, PoolDistance::kNear);
  if (verdict.skipped || verdict.failed()) return verdict;
  const LawVerdict distant = check(with_high_ids(law_case), PoolDistance::kDistant);
  const std::string what = fmt::format("blocks {}", kBeyond32Bits);
  verdict.comparison.append(distant.comparison);
  if (distant.skipped) verdict.skipped_parts.push_back(what + ": " + *distant.skipped);
  if (distant.found) verdict.what = distant.what + ", with " + what;
  verdict.found = distant.found;
  verdict.call_failure = distant.call_failure;
  verdict.printed = distant.printed;
  return verdict;
}

}  // namespace recto::verify
