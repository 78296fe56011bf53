#include "verify/laws/cache_operations/kv_append_law.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "verify/laws/cache_operations/kv_write_case.h"
#include "verify/laws/cache_operations/single_backend_law.h"
#include "verify/laws/cache_operations/tried_pools.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kColumns = 3;
constexpr std::int32_t kNobodysBlock = 1 << 30;  // in columns that must not be read

// Block tables and lengths that lead to the given slots.
struct Places {
  std::vector<std::int32_t> table;          // [tokens, kColumns]
  std::vector<std::int32_t> cached_length;  // [tokens]
  std::vector<std::int32_t> context_length;

  Places(std::span<const std::int64_t> slots, std::int64_t block_size) {
    for (std::size_t token = 0; token < slots.size(); ++token) {
      const std::int64_t slot = slots[token];
      const auto column = static_cast<std::int64_t>(token) % kColumns;
      const bool is_padding = slot < 0 && token % 2 == 0;
      const std::int64_t block = slot < 0 ? -1 : slot / block_size;
      const std::int64_t offset = slot < 0 ? 0 : slot % block_size;
      const std::int64_t length = is_padding ? -1 : column * block_size + offset;
      for (std::int64_t i = 0; i < kColumns; ++i)
        table.push_back(i == column ? static_cast<std::int32_t>(block) : kNobodysBlock);
      cached_length.push_back(static_cast<std::int32_t>(length));
      const std::int64_t context = is_padding ? 0 : length + (slot < 0 ? 0 : 1);
      context_length.push_back(static_cast<std::int32_t>(context));
    }
  }
};

std::string length_differences(const Places& places, const std::vector<std::int32_t>& seen) {
  for (std::size_t token = 0; token < seen.size(); ++token) {
    if (seen[token] == places.context_length[token]) continue;
    return fmt::format("context_length[{}] is {}, not {}\n", token, seen[token],
                       places.context_length[token]);
  }
  return {};
}

LawVerdict check(const KvAppender& appender, const LawCase& law_case, PoolDistance distance) {
  const KvWriteCase write_case(law_case);
  Result<TriedPools> pools = TriedPools::create(distance, write_case.kv(), write_case.before());
  LawVerdict verdict;
  if (!pools.is_ok()) verdict.skipped = pools.status().message();
  if (verdict.skipped) return verdict;
  const KvWriteInputs write = write_case.inputs(pools.value().kv());
  const Places places(write.slot_mapping, write.kv.k.block_size);
  std::vector<std::int32_t> context_length(places.cached_length.size(), -7);
  const KvAppendInputs inputs{.k = write.k,
                              .v = write.v,
                              .block_table = {.data = places.table.data(),
                                              .num_seqs = write_case.num_tokens(),
                                              .max_blocks = kColumns,
                                              .row_stride = kColumns},
                              .cached_length = places.cached_length,
                              .kv = write.kv,
                              .context_length = context_length};
  const CallOutcome outcome = guarded([&] { return appender.append(inputs); });
  if (done_or_verdict(outcome, verdict) == nullptr) return verdict;
  verdict.comparison.elements = verdict.comparison.by_bits = write_case.num_codes();
  return with_findings(std::move(verdict), "against the reference's write",
                       write_case.differences(pools.value().contents()) +
                           pools.value().stray_writes() +
                           length_differences(places, context_length));
}

}  // namespace

Law kv_append_law(const KvAppender& appender) {
  return single_backend_law(
      {.name = "kv_append",
       .statement = "newest tokens are written to the slots of their block tables, and no other "
                    "byte changes",
       .why_not_applicable = why_no_token,
       .check = {}},
      appender.backend, "it appends no K and V", [appender](const LawCase& law_case) {
        return near_and_distant(law_case, [&](const LawCase& tried, PoolDistance distance) {
          return check(appender, tried, distance);
        });
      });
}

}  // namespace recto::verify
