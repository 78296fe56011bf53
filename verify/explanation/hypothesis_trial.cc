#include "verify/explanation/hypothesis_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/attention_gate.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;

// Some seconds.
constexpr double kProductsMax = 4e9;

// Unlike a comparison it takes what no bound is known of: a fault may read NaN.
bool is_one_as(double seen, double exact, double bound) {
  return seen == exact || (std::isnan(seen) && std::isnan(exact)) ||
         std::abs(seen - exact) <= bound;
}

bool is_as(const std::vector<double>& seen, const std::vector<double>& exact,
           const std::vector<double>& bound) {
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!is_one_as(seen[i], exact[i], bound[i])) return false;
  return true;
}

struct Elements {
  std::int64_t first;
  std::int64_t count;
};

// 0 if nothing was seen: lse_ln may be missing.
std::int64_t count_wrong(const std::vector<double>& seen, const std::vector<double>& exact,
                         const std::vector<double>& bound, const Elements& of) {
  if (seen.empty()) return 0;
  std::int64_t wrong = 0;
  for (std::int64_t at = of.first; at < of.first + of.count; ++at) {
    const auto i = static_cast<std::size_t>(at);
    wrong += is_one_as(seen[i], exact[i], bound[i]) ? 0 : 1;
  }
  return wrong;
}

double sum_of_squares(const std::vector<double>& seen, const std::vector<double>& exact,
                      const std::vector<double>& bound) {
  double sum = 0.0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != exact[i] && bound[i] > 0) sum += std::pow((seen[i] - exact[i]) / bound[i], 2);
  return sum;
}

}  // namespace

std::string either_of(const std::vector<std::string>& names) {
  // All of five, rather than that there is one other.
  const std::size_t named = names.size() <= 5 ? names.size() : 4;
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " or " : ", ") + names[i];
  }
  return names.size() > named ? text + fmt::format(" or {} others", names.size() - named) : text;
}

HypothesisTrial::HypothesisTrial(const Backend& backend, const PagedAttentionInputs& inputs,
                                 const AttentionResult& seen, BoundKind bound_kind,
                                 const StaleResults* stale)
    : backend_(backend),
      inputs_(inputs),
      seen_(seen),
      bound_kind_(bound_kind),
      stale_(stale),
      right_(bounded(inputs)) {}

BoundedResult HypothesisTrial::bounded(const PagedAttentionInputs& inputs) const {
  return reference::bounded_attention(inputs, backend_.numerics(inputs));
}

bool HypothesisTrial::is_right(std::int64_t row, std::int64_t head) const {
  const AttentionResult& bound = bound_kind_ == BoundKind::kHard ? right_.hard : right_.sharp;
  const std::int64_t at = row * right_.exact.num_heads + head;
  const std::int64_t dims = right_.exact.head_dim;
  return count_wrong(seen_.lse_ln, right_.exact.lse_ln, bound.lse_ln, {at, 1}) +
             count_wrong(seen_.out, right_.exact.out, bound.out, {at * dims, dims}) ==
         0;
}

void HypothesisTrial::add(const std::string& what, const PagedAttentionInputs& inputs) {
  if (!check_contents(inputs).is_ok()) return leave_out(what + ": impossible");
  add(what, bounded(inputs));
}

void HypothesisTrial::add(const std::string& what, const BoundedResult& faulty) {
  if (explains(faulty)) name(what);
}

bool HypothesisTrial::explains(const BoundedResult& faulty) {
  if (fits(faulty.exact, right_)) return false;
  ++report_.tried;
  return fits(seen_, faulty);
}

void HypothesisTrial::add_roundings(const std::vector<Variant>& variants) {
  // A NaN that is expected fails every comparison, and says nothing of roundings.
  if (fits(seen_, right_)) return;
  const Variant* closest = nullptr;
  std::int64_t fitting = 0;
  for (const Variant& variant : variants) {
    const bool changes_nothing =
        variant.exact.out == right_.exact.out && variant.exact.lse_ln == right_.exact.lse_ln;
    if (changes_nothing) continue;
    ++report_.tried;
    BoundedResult faulty = right_;
    faulty.exact = variant.exact;
    if (!fits(seen_, faulty)) continue;
    ++fitting;
    if (closest == nullptr || squared_distance(variant.exact) < squared_distance(closest->exact))
      closest = &variant;
  }
  if (closest == nullptr) return;
  report_.fitting.push_back(
      fitting == 1 ? closest->what
                   : fmt::format("{} (the closest of {} of its kind)", closest->what, fitting));
}

bool HypothesisTrial::affords(const std::string& what, std::int64_t faults) {
  double products = 0.0;
  for (std::size_t s = 0; s < inputs_.context_length.size(); ++s) {
    const std::int64_t rows = inputs_.query_start[s + 1] - inputs_.query_start[s];
    products += static_cast<double>(rows) * inputs_.context_length[s];
  }
  products *= static_cast<double>(inputs_.q.num_heads) *
              static_cast<double>(inputs_.q.head_dim + inputs_.kv.v.head_dim) *
              static_cast<double>(faults);
  if (products <= kProductsMax) return true;
  leave_out(fmt::format("{}: {:.2g} products, more than {:.2g}", what, products, kProductsMax));
  return false;
}

HypothesisReport HypothesisTrial::take() {
  if (!report_.fitting.empty()) report_.weak = why_weak();
  return std::move(report_);
}

bool HypothesisTrial::fits(const AttentionResult& seen, const BoundedResult& result) const {
  const AttentionResult& bound = bound_kind_ == BoundKind::kHard ? result.hard : result.sharp;
  return is_as(seen.out, result.exact.out, bound.out) &&
         is_as(seen.lse_ln, result.exact.lse_ln, bound.lse_ln);
}

double HypothesisTrial::squared_distance(const AttentionResult& exact) const {
  const AttentionResult& bound = bound_kind_ == BoundKind::kHard ? right_.hard : right_.sharp;
  return sum_of_squares(seen_.out, exact.out, bound.out) +
         sum_of_squares(seen_.lse_ln, exact.lse_ln, bound.lse_ln);
}

// Wrong elements of out and lse_ln, and the most keys that a row with some may see.
std::optional<std::string> HypothesisTrial::why_weak() const {
  const AttentionResult& bound = bound_kind_ == BoundKind::kHard ? right_.hard : right_.sharp;
  const AttentionResult& exact = right_.exact;
  std::int64_t num_wrong = 0;
  std::int64_t most_keys = 0;
  reference::HeadOptions masks;
  masks.causal = inputs_.options.causal;
  masks.window = inputs_.options.window;
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs_)) {
    for (std::int64_t row = 0; row < sequence.num_rows; ++row) {
      const std::int64_t first = (sequence.first_row + row) * exact.num_heads;
      const std::int64_t wrong =
          count_wrong(seen_.lse_ln, exact.lse_ln, bound.lse_ln, {first, exact.num_heads}) +
          count_wrong(seen_.out, exact.out, bound.out,
                      {first * exact.head_dim, exact.num_heads * exact.head_dim});
      num_wrong += wrong;
      const auto keys =
          reference::visible_keys(masks, row, sequence.num_rows, sequence.context_length);
      if (wrong > 0) most_keys = std::max(most_keys, keys.size());
    }
  }
  if (most_keys == 0) return "no row that is wrong has a key to attend to";
  if (most_keys == 1) return "no row that is wrong sees more than one key";
  if (num_wrong == 1) return "a single element is wrong";
  return std::nullopt;
}

}  // namespace recto::verify
