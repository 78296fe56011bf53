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

std::unique_ptr<const PlacedProblem> LawTrial::place(const LawCase& law_case,
                                                     const std::string& variant) {
  auto placed = std::make_unique<const PlacedProblem>(law_case.problem, law_case.placement);
  RECTO_CHECK_EQ(check_contents(placed->inputs()), Status::ok());
  const std::optional<std::string> why =
      as_placed(backend_, law_case.placement).why_unsupported(placed->inputs());
  if (!why) return placed;
  record_skip(variant.empty() ? *why : variant + ": " + *why);
  return nullptr;
}

std::optional<LawSide> LawTrial::run(const LawCase& law_case, const std::string& variant) {
  std::unique_ptr<const PlacedProblem> placed = place(law_case, variant);
  if (!placed) return std::nullopt;
  reference::AttentionResult seen = as_placed(backend_, law_case.placement).run(placed->inputs());
  return LawSide{.placed = std::move(placed), .seen = std::move(seen)};
}

void LawTrial::run_aside(const LawCase& law_case) { LawTrial(backend_, bound_kind_).run(law_case); }

reference::AttentionResult LawTrial::bound_of(const LawSide& side) const {
  reference::BoundedResult bounded =
      reference::bounded_attention(side.inputs(), backend_.numerics(side.inputs()));
  return std::move(bound_kind_ == BoundKind::kHard ? bounded.hard : bounded.sharp);
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
  LawVerdict verdict = verdict_;
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
