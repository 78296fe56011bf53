#include "verify/laws/law_trial.h"

#include <cstddef>
#include <utility>

#include "core/attention_gate.h"
#include "core/contract.h"
#include "reference/error_bound.h"

namespace recto::verify {
namespace {

void add_to(std::vector<double>& sums, const std::vector<double>& terms) {
  RECTO_CHECK_EQ(sums.size(), terms.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
}

}  // namespace

std::optional<LawSide> LawTrial::run(const LawCase& law_case, const std::string& variant,
                                     const CallOptions& options) {
  if (verdict_.call_failure) return std::nullopt;
  LawSide side{.placed = std::make_unique<const PlacedProblem>(
                   law_case.problem, backend_.tolerated(law_case.placement)),
               .options = options,
               .seen = {}};
  RECTO_CHECK_EQ(check_contents(side.inputs()), Status::ok());
  side.options.out_gaps = backend_.options_for(law_case.placement).out_gaps;
  std::optional<reference::AttentionResult> seen = run_again(side.inputs(), side.options, variant);
  if (!seen) return std::nullopt;
  side.seen = std::move(*seen);
  return side;
}

std::optional<LawSide> LawTrial::run_aside(const LawCase& law_case, const CallOptions& options) {
  const std::size_t skips = skips_.size();
  std::optional<LawSide> side = run(law_case, "", options);
  skips_.resize(skips);
  return side;
}

std::optional<reference::AttentionResult> LawTrial::run_again(const PagedAttentionInputs& inputs,
                                                              const CallOptions& options,
                                                              const std::string& variant) {
  if (verdict_.call_failure) return std::nullopt;
  CallOutcome outcome = backend_.call(inputs, options);
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) {
    record_skip(variant.empty() ? refused->reason : variant + ": " + refused->reason);
    return std::nullopt;
  }
  if (auto* failed = std::get_if<Failed>(&outcome)) {
    verdict_.call_failure = std::move(*failed);
    return std::nullopt;
  }
  Done& done = std::get<Done>(outcome);
  if (printed_.size() < kPrintedBytesKept) printed_ += done.printed;
  return std::move(done.result);
}

reference::AttentionResult LawTrial::bound_of(const LawSide& side) const {
  reference::BoundedResult bounded =
      reference::bounded_attention(side.inputs(), backend_.numerics(side.inputs(), side.options));
  return std::move(bound_kind_ == BoundKind::kWorstCase ? bounded.worst_case
                                                        : bounded.probabilistic);
}

void LawTrial::compare_within_bounds(const LawCase& base, const std::vector<Variant>& variants) {
  const std::optional<LawSide> base_side = run(base);
  if (!base_side) return;
  const reference::AttentionResult base_bound = bound_of(*base_side);
  for (const Variant& variant : variants) {
    const std::optional<LawSide> side = run(variant.law_case, variant.what);
    if (!side) continue;
    record(variant.what, compare(side->inputs(), side->seen, base_side->seen,
                                 sum_of(bound_of(*side), base_bound)));
  }
}

void LawTrial::compare_bit_for_bit(const LawCase& base, const std::vector<Variant>& variants) {
  const std::optional<LawSide> base_side = run(base);
  if (!base_side) return;
  for (const Variant& variant : variants) {
    const std::optional<LawSide> side = run(variant.law_case, variant.what);
    if (side) record(variant.what, compare_bits(side->inputs(), side->seen, base_side->seen));
  }
}

void LawTrial::record(const std::string& what, const Comparison& comparison) {
  if (verdict_.comparison.passed() && !comparison.passed()) verdict_.what = what;
  verdict_.comparison.append(comparison);
}

void LawTrial::record_skip(const std::string& why) { skips_.push_back(why); }

LawVerdict LawTrial::verdict() const {
  if (verdict_.call_failure) return {.call_failure = verdict_.call_failure};
  LawVerdict verdict = verdict_;
  if (verdict.failed()) verdict.printed = printed_;
  if (verdict.comparison.elements > 0)
    verdict.skipped_parts = skips_;
  else
    verdict.skipped = skips_.empty() ? "nothing to compare" : skips_.front();
  return verdict;
}

std::optional<std::string> always_applicable(const LawCase& /*law_case*/) { return std::nullopt; }

reference::AttentionResult sum_of(reference::AttentionResult a,
                                  const reference::AttentionResult& b) {
  add_to(a.out, b.out);
  add_to(a.lse_ln, b.lse_ln);
  return a;
}

}  // namespace recto::verify
