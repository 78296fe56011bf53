#include "verify/explanation/stale_results.h"

#include <cmath>
#include <utility>

#include "verify/explanation/row_probe.h"

namespace recto::verify {
namespace {

// Zeros, and numbers that are not zero in any type.
constexpr std::uint32_t kFirst = 0;
constexpr std::uint32_t kSecond = 0x3c003c00U;

bool differ(double a, double b) { return a != b && !(std::isnan(a) && std::isnan(b)); }

}  // namespace

StaleResults::StaleResults(reference::AttentionResult first, reference::AttentionResult second)
    : first_(std::move(first)), second_(std::move(second)) {}

std::optional<StaleResults> StaleResults::find(const Backend& backend,
                                               const PagedAttentionInputs& inputs) {
  if (!backend.with_stale_memory) return std::nullopt;
  const auto first = try_run(backend.with_stale_memory(kFirst), inputs);
  const auto second = try_run(backend.with_stale_memory(kSecond), inputs);
  if (!first.is_ok() || !second.is_ok()) return std::nullopt;
  return StaleResults(first.value(), second.value());
}

bool StaleResults::has_out(std::int64_t row, std::int64_t head) const {
  for (std::int64_t dim = 0; dim < first_.head_dim; ++dim)
    if (differ(first_.out_at(row, head, dim), second_.out_at(row, head, dim))) return true;
  return false;
}

bool StaleResults::has_lse_ln(std::int64_t row, std::int64_t head) const {
  return differ(first_.lse_ln_at(row, head), second_.lse_ln_at(row, head));
}

}  // namespace recto::verify
