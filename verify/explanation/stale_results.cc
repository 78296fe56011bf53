#include "verify/explanation/stale_results.h"

#include <cmath>
#include <utility>

#include "reference/rounding.h"
#include "verify/explanation/row_probe.h"

namespace recto::verify {
namespace {

// Zeros, and numbers that are not zero in any type.
constexpr std::uint32_t kFirst = 0;
constexpr std::uint32_t kSecond = 0x3c003c00U;

bool differ(double a, double b) { return a != b && !(std::isnan(a) && std::isnan(b)); }

}  // namespace

StaleResults::StaleResults(Run first, Run second)
    : first_(std::move(first)), second_(std::move(second)) {}

StaleResults::Run StaleResults::made(const reference::AttentionResult& result,
                                     const PagedAttentionInputs& inputs, std::uint32_t pattern) {
  const std::uint32_t code = element_bytes(inputs.q.type) == 2 ? pattern & 0xffffU : pattern;
  return {.result = result,
          .out_before = reference::decode(code, inputs.q.type),
          .lse_ln_before = reference::decode(pattern, ElementType::kFp32)};
}

std::optional<StaleResults> StaleResults::find(const Backend& backend,
                                               const PagedAttentionInputs& inputs) {
  if (!backend.with_stale_memory) return std::nullopt;
  const auto first = try_run(backend.with_stale_memory(kFirst), inputs);
  const auto second = try_run(backend.with_stale_memory(kSecond), inputs);
  if (!first.is_ok() || !second.is_ok()) return std::nullopt;
  return StaleResults(made(first.value(), inputs, kFirst), made(second.value(), inputs, kSecond));
}

StaleRow StaleResults::at(std::int64_t row, std::int64_t head) const {
  StaleRow stale;
  for (std::int64_t dim = 0; dim < first_.result.head_dim; ++dim) {
    const double first = first_.result.out_at(row, head, dim);
    const double second = second_.result.out_at(row, head, dim);
    if (!differ(first, second)) continue;
    stale.dims.push_back(dim);
    if (first != first_.out_before || second != second_.out_before) stale.is_unwritten = false;
  }
  const double first = first_.result.lse_ln_at(row, head);
  const double second = second_.result.lse_ln_at(row, head);
  stale.has_lse_ln = differ(first, second);
  if (stale.has_lse_ln && (first != first_.lse_ln_before || second != second_.lse_ln_before))
    stale.is_unwritten = false;
  return stale;
}

}  // namespace recto::verify
