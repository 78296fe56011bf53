#include "verify/laws/cache_operations/block_move_laws.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "verify/laws/cache_operations/kv_pools.h"
#include "verify/laws/cache_operations/single_backend_law.h"
#include "verify/laws/cache_operations/tried_pools.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kSpareBlocks = 4;  // in the smallest pool

LawCase with_spare_blocks(LawCase law_case) {
  std::int64_t& spare = law_case.placement.spare_blocks;
  spare = std::max(kSpareBlocks, spare);
  return law_case;
}

std::int64_t below(RandomStream& stream, std::int64_t end) {
  return static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(end)));
}

std::vector<std::int32_t> shuffled_ids(std::int64_t count, RandomStream& stream) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) std::swap(ids[i], ids[below(stream, i + 1)]);
  return ids;
}

// Pairs in which no destination is a source; one source may have several destinations.
std::vector<BlockPair> pairs_within(std::int64_t num_blocks, RandomStream stream) {
  const std::vector<std::int32_t> ids = shuffled_ids(num_blocks, stream);
  const std::int64_t sources = 1 + below(stream, num_blocks - 1);
  std::vector<BlockPair> pairs;
  for (std::int64_t i = sources; i < num_blocks; ++i) {
    if (below(stream, 4) == 0) continue;  // a block that is neither source nor destination
    pairs.push_back({ids[below(stream, sources)], ids[i]});
  }
  return pairs;
}

std::vector<BlockPair> pairs_between(std::int64_t from_blocks, std::int64_t to_blocks,
                                     RandomStream stream) {
  std::vector<BlockPair> pairs;
  for (const std::int32_t destination : shuffled_ids(to_blocks, stream)) {
    if (below(stream, 4) == 0) continue;
    pairs.push_back({static_cast<std::int32_t>(below(stream, from_blocks)), destination});
  }
  return pairs;
}

LawVerdict verdict_of(std::int64_t num_codes, const std::string& differences) {
  LawVerdict verdict;
  verdict.comparison.elements = verdict.comparison.by_bits = num_codes;
  return with_findings(std::move(verdict), "against the reference's copies", differences);
}

LawVerdict skipped(const std::string& why) {
  LawVerdict verdict;
  verdict.skipped = why;
  return verdict;
}

LawVerdict check_copy(const CopyBlocks& copy, const LawCase& law_case, PoolDistance distance) {
  const LawCase roomy = with_spare_blocks(law_case);
  const PlacedProblem placed(roomy.problem, roomy.placement);
  const PagedKvView& kv = placed.inputs().kv;
  const std::vector<BlockPair> pairs =
      pairs_within(kv.k.num_blocks, RandomStream(roomy.placement.seed).split("copies"));
  const KvPools before = other_pools(kv);
  KvPools expected = before;
  reference::copy_blocks(expected.over(kv), pairs);
  Result<TriedPools> pools = TriedPools::create(distance, kv, before);
  if (!pools.is_ok()) return skipped(pools.status().message());
  LawVerdict verdict;
  const CallOutcome outcome = guarded([&] { return copy(pools.value().kv(), pairs); });
  if (done_or_verdict(outcome, verdict) == nullptr) return verdict;
  return verdict_of(
      num_codes(expected, kv),
      pool_differences({before, expected, pools.value().contents()}, kv, NanCodes::kSame) +
          pools.value().stray_writes());
}

LawVerdict check_swap(const SwapBlocks& swap, const LawCase& law_case, PoolDistance distance) {
  const LawCase roomy = with_spare_blocks(law_case);
  LawCase other = roomy;
  other.placement.layout = roomy.placement.layout == KvLayout::kTokenMajor ? KvLayout::kHeadMajor
                                                                           : KvLayout::kTokenMajor;
  ++other.placement.spare_blocks;
  const PlacedProblem source(roomy.problem, roomy.placement);
  const PlacedProblem target(other.problem, other.placement);
  const PagedKvView& from = source.inputs().kv;
  const PagedKvView& to = target.inputs().kv;
  const std::vector<BlockPair> pairs = pairs_between(
      from.k.num_blocks, to.k.num_blocks, RandomStream(roomy.placement.seed).split("swaps"));
  const KvPools before = other_pools(to);
  KvPools expected = before;
  reference::swap_blocks(from, expected.over(to), pairs);
  const KvPools held = copied_pools(from);
  Result<TriedPools> sources = TriedPools::create(distance, from, held);
  Result<TriedPools> targets = TriedPools::create(distance, to, before);
  for (const Result<TriedPools>* pools : {&sources, &targets})
    if (!pools->is_ok()) return skipped(pools->status().message());
  LawVerdict verdict;
  const CallOutcome outcome =
      guarded([&] { return swap(as_const(sources.value().kv()), targets.value().kv(), pairs); });
  if (done_or_verdict(outcome, verdict) == nullptr) return verdict;
  return verdict_of(
      num_codes(expected, to),
      pool_differences({before, expected, targets.value().contents()}, to, NanCodes::kSame) +
          pool_differences({held, held, sources.value().contents()}, from, NanCodes::kSame) +
          targets.value().stray_writes() + sources.value().stray_writes());
}

using CheckPools = std::function<LawVerdict(const LawCase&, PoolDistance)>;

Law law_of(const std::string& name, const std::string& statement, const std::string& backend,
           CheckPools check) {
  return single_backend_law(
      {.name = name,
       .statement = statement,
       .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
       .check = {}},
      backend, "it copies no blocks", [check = std::move(check)](const LawCase& law_case) {
        return near_and_distant(law_case, check);
      });
}

}  // namespace

Law block_copy_law(const std::string& backend, const CopyBlocks& copy) {
  return law_of("block_copy", "blocks are copied, and no other byte of the pools changes", backend,
                [copy](const LawCase& law_case, PoolDistance distance) {
                  return check_copy(copy, law_case, distance);
                });
}

Law block_swap_law(const std::string& backend, const SwapBlocks& swap) {
  return law_of("block_swap",
                "blocks are copied to another cache, and no other byte of either cache changes",
                backend, [swap](const LawCase& law_case, PoolDistance distance) {
                  return check_swap(swap, law_case, distance);
                });
}

}  // namespace recto::verify
