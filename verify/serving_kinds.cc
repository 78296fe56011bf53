#include "verify/serving_kinds.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "verify/chunk_kinds.h"
#include "verify/decode_kinds.h"

namespace recto::verify {

std::vector<ServingKind> serving_kinds(const SizeLimits& limits) {
  const std::vector<ServingKind> decodes = decode_kinds(limits);
  const std::vector<ServingKind> chunks = chunk_kinds(limits);
  std::vector<ServingKind> kinds;
  for (std::size_t i = 0; i < std::max(decodes.size(), chunks.size()); ++i) {
    if (i < decodes.size()) kinds.push_back(decodes[i]);
    if (i < chunks.size()) kinds.push_back(chunks[i]);
  }
  for (ServingKind& kind : kinds) kind.cases.domain = within(limits, std::move(kind.cases.domain));
  return kinds;
}

CaseDomain within(const SizeLimits& limits, CaseDomain domain) {
  const auto lower = [](std::int64_t& size, std::int64_t limit) { size = std::min(size, limit); };
  lower(domain.context_max, limits.context_max);
  lower(domain.first_context_min, limits.context_max);
  lower(domain.num_rows_max, limits.num_rows_max);
  lower(domain.first_rows_min, std::min(limits.num_rows_max, limits.context_max - 1));
  lower(domain.num_seqs_max, limits.num_seqs_max);
  lower(domain.num_seqs_min, limits.num_seqs_max);
  const std::int64_t q_heads_max = limits.num_q_heads_max;
  domain.num_q_heads_max = std::min(domain.num_q_heads_max.value_or(q_heads_max), q_heads_max);
  std::erase_if(domain.groups, [&](std::int64_t group) { return group > q_heads_max; });
  if (domain.groups.empty()) domain.groups = {q_heads_max};
  return domain;
}

}  // namespace recto::verify
