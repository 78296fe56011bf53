#include "verify/explain/second_run.h"

#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

#include "reference/rounding.h"

namespace recto::verify {

Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs,
                                           const CallOptions& options) {
  CallOutcome outcome = backend.call(inputs, options);
  if (const auto* refused = std::get_if<Unsupported>(&outcome))
    return Status::failed(refused->reason);
  if (const auto* failed = std::get_if<Failed>(&outcome)) return Status::failed(failed->message);
  return std::get<Done>(std::move(outcome)).result;
}

std::optional<StaleRows> find_stale_rows(const Backend& backend, const PagedAttentionInputs& inputs,
                                         CallOptions options) {
  if (!backend.capabilities.takes_stale_memory) return std::nullopt;
  // Zeros, and a pattern that is not zero in any type.
  constexpr std::uint32_t kPatterns[] = {0, 0x3c003c00U};
  std::vector<reference::AttentionResult> results;
  for (const std::uint32_t pattern : kPatterns) {
    options.stale_memory = pattern;
    auto result = try_run(backend, inputs, options);
    if (!result.is_ok()) return std::nullopt;
    results.push_back(std::move(result).value());
  }
  const auto follows = [&](double first, double second, ElementType type, StaleRow& row) {
    if (first == second || (std::isnan(first) && std::isnan(second))) return false;
    const std::uint32_t mask = element_bytes(type) == 2 ? 0xffffU : 0xffffffffU;
    row.is_unwritten &= first == reference::decode(kPatterns[0] & mask, type) &&
                        second == reference::decode(kPatterns[1] & mask, type);
    return true;
  };
  const auto& [first, second] = std::tie(results[0], results[1]);
  StaleRows rows(static_cast<std::size_t>(first.num_rows * first.num_heads));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t dim = 0; dim < first.head_dim; ++dim) {
      const std::size_t at =
          i * static_cast<std::size_t>(first.head_dim) + static_cast<std::size_t>(dim);
      if (follows(first.out[at], second.out[at], inputs.q.type, rows[i]))
        rows[i].dims.push_back(dim);
    }
    if (first.lse_ln.empty()) continue;
    rows[i].has_lse_ln = follows(first.lse_ln[i], second.lse_ln[i], ElementType::kFp32, rows[i]);
  }
  return rows;
}

}  // namespace recto::verify
