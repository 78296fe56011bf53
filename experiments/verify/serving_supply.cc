#include "experiments/verify/serving_supply.h"

#include <algorithm>
#include <utility>

#include "verify/problems/placed_problem.h"

namespace recto::experiments {
namespace {

using verify::Backend;
using verify::CaseDomain;
using verify::CaseSpec;
using verify::DescribedCase;
using verify::DrawnCases;

constexpr int kDrawsOfAKind = 24;

// What both lists have in common; if nothing, what is served.
template <typename Value>
std::vector<Value> common(const std::vector<Value>& wanted, const std::vector<Value>& served) {
  std::vector<Value> both;
  for (const Value& value : wanted)
    if (std::ranges::find(served, value) != served.end()) both.push_back(value);
  return both.empty() ? served : both;
}

CaseDomain as_served(CaseDomain kind, const CaseDomain& served) {
  kind.types = served.types;
  kind.layouts = served.layouts;
  kind.rows = common(kind.rows, served.rows);
  kind.head_dims = common(kind.head_dims, served.head_dims);
  kind.groups = common(kind.groups, served.groups);
  kind.block_sizes = common(kind.block_sizes, served.block_sizes);
  kind.has_softcap = served.has_softcap;
  kind.has_window = served.has_window;
  kind.has_alibi = served.has_alibi;
  kind.has_sinks = served.has_sinks;
  kind.has_scales = served.has_scales;
  kind.has_non_causal = served.has_non_causal;
  kind.has_padding = served.has_padding;
  return kind;
}

// Asks about a small case first, because a large one takes long to draw.
std::optional<std::string> why_refused(const Backend& backend, const CaseSpec& spec,
                                       DescribedCase& drawn) {
  const CaseSpec small = small_likeness(spec);
  const auto why = why_refused_as_placed(backend, {make_problem(small), small.placement});
  if (why) return why;
  drawn = verify::drawn_case(spec, "");
  return why_refused_as_placed(backend, drawn.law_case);
}

}  // namespace

ServingSupply::ServingSupply(std::uint64_t seed, const verify::SizeLimits& limits)
    : kinds_(verify::serving_cases(limits)) {
  for (DrawnCases& kind : kinds_) kind.seed = seed;
}

std::optional<DescribedCase> ServingSupply::draw_for(
    const Backend& backend, const CaseDomain* served, const std::function<bool()>& is_late,
    std::map<std::string, std::int64_t>& refusals) {
  const std::size_t first = next_kind_++;
  for (std::size_t tried = 0; tried < kinds_.size(); ++tried) {
    DrawnCases kind = kinds_[(first + tried) % kinds_.size()];
    if (served != nullptr) kind.domain = as_served(std::move(kind.domain), *served);
    for (int draw = 0; draw < kDrawsOfAKind && !is_late(); ++draw) {
      CaseSpec spec = drawn_spec(kind, drawn_++);
      if (kind.domain.has_padding && first / kinds_.size() % 2 == 0)
        spec = with_longest_last(std::move(spec));
      DescribedCase drawn;
      const auto why = why_refused(backend, spec, drawn);
      if (!why) return drawn;
      ++refusals[*why];
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_refused_as_placed(const Backend& backend,
                                                 const verify::LawCase& law_case) {
  const verify::PlacedProblem placed(law_case.problem, law_case.placement);
  return backend.why_unsupported(placed.inputs());
}

}  // namespace recto::experiments
