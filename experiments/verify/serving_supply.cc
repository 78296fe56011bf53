#include "experiments/verify/serving_supply.h"

#include <algorithm>
#include <utility>

#include "verify/cases/placed_problem.h"

namespace recto::experiments {
namespace {

using verify::Backend;
using verify::CaseDomain;
using verify::CaseSpec;
using verify::DescribedCase;
using verify::ServedRows;
using verify::ServingKind;
using verify::ServingValues;

constexpr int kDrawsOfAKind = 24;

// The values that both lists have; if there are none, the supported values.
template <typename Value>
std::vector<Value> common(const std::vector<Value>& wanted, const std::vector<Value>& served) {
  std::vector<Value> both;
  for (const Value& value : wanted)
    if (std::ranges::find(served, value) != served.end()) both.push_back(value);
  return both.empty() ? served : both;
}

CaseDomain as_served(CaseDomain kind, const CaseDomain& served) {
  kind.types = served.types;
  kind.layouts = common(kind.layouts, served.layouts);
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
  kind.has_negative_scale = served.has_negative_scale;
  kind.has_padding = served.has_padding;
  kind.gaps = served.gaps;
  kind.gap_units = served.gap_units;
  return kind;
}

// nullopt if the kind needs several rows and the backend does not support them.
std::optional<ServingKind> as_served(ServingKind kind, const CaseDomain& served) {
  const bool has_rows = std::ranges::any_of(kind.cases.domain.rows, [&](verify::RowsKind rows) {
    return std::ranges::find(served.rows, rows) != served.rows.end();
  });
  if (kind.rows != ServedRows::kOne && !has_rows) return std::nullopt;
  kind.cases.domain = as_served(std::move(kind.cases.domain), served);
  return kind;
}

// Tries a small case first, because a large one takes long to draw.
std::optional<std::string> why_refused(const Backend& backend, const CaseSpec& spec,
                                       DescribedCase& drawn) {
  const CaseSpec small = smaller_case_of_same_kind(spec);
  const auto why = why_refused_as_placed(backend, {make_problem(small), small.placement});
  if (why) return why;
  drawn = verify::drawn_case(spec, "");
  return why_refused_as_placed(backend, drawn.law_case);
}

}  // namespace

ServingSupply::Share& ServingSupply::share_of(const Backend& backend) {
  Share& share = shares_[&backend];
  share.cases.resize(kinds_.size());
  share.is_refused.resize(kinds_.size());
  return share;
}

// Kinds not known to be refused, those with the fewest cases first.
std::vector<std::size_t> ServingSupply::kinds_for(const Share& share) const {
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if (!share.is_refused[kind]) kinds.push_back(kind);
  std::ranges::stable_sort(kinds, {}, [&](std::size_t kind) { return share.cases[kind]; });
  return kinds;
}

std::optional<DescribedCase> ServingSupply::draw_for(
    const Backend& backend, const CaseDomain* served, const std::function<bool()>& is_time_up,
    std::map<std::string, std::int64_t>& refusals) {
  Share& share = share_of(backend);
  // Kinds refused before may be supported within the backend's domain.
  if (served != nullptr && !share.is_narrowed) share.is_refused.assign(kinds_.size(), false);
  share.is_narrowed = served != nullptr;
  for (const std::size_t number : kinds_for(share)) {
    std::optional<ServingKind> kind = kinds_[number];
    if (served != nullptr) kind = as_served(std::move(*kind), *served);
    std::optional<DescribedCase> drawn;
    const auto values =
        share.cases[number] == 0 ? ServingValues::kEveryKeyMatters : ServingValues::kAny;
    if (kind) drawn = draw_of(*kind, backend, values, is_time_up, refusals);
    last_kind_ = number;
    if (drawn || is_time_up()) return drawn;
    share.is_refused[number] = true;
    // A refusal of single rows means that the backend refuses most cases: the caller must probe it.
    if (served == nullptr && kinds_[number].rows == ServedRows::kOne) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<DescribedCase> ServingSupply::draw_of(const ServingKind& kind, const Backend& backend,
                                                    ServingValues values,
                                                    const std::function<bool()>& is_time_up,
                                                    std::map<std::string, std::int64_t>& refusals) {
  const bool is_longest_last = kind.cases.domain.has_padding && kind.rows == ServedRows::kOne &&
                               values == ServingValues::kEveryKeyMatters;
  for (int draw = 0; draw < kDrawsOfAKind && !is_time_up(); ++draw) {
    CaseSpec spec = serving_spec(kind, drawn_++, values);
    if (is_longest_last) spec = with_longest_last(std::move(spec));
    if (!demands_.are_met_by(spec)) continue;
    DescribedCase drawn;
    const auto why = why_refused(backend, spec, drawn);
    if (!why) return drawn;
    ++refusals[*why];
  }
  return std::nullopt;
}

void ServingSupply::count_for(const Backend& backend) { ++share_of(backend).cases[last_kind_]; }

std::int64_t ServingSupply::cases_of_each_kind(const Backend& backend) const {
  const auto found = shares_.find(&backend);
  if (found == shares_.end()) return 0;
  const Share& share = found->second;
  const std::vector<std::size_t> kinds = kinds_for(share);
  return kinds.empty() ? 0 : share.cases[kinds.front()];
}

std::optional<std::string> why_refused_as_placed(const Backend& backend,
                                                 const verify::LawCase& law_case) {
  const verify::PlacedProblem placed(law_case.problem, law_case.placement);
  return backend.why_unsupported(placed.inputs(), backend.options_for(law_case.placement));
}

}  // namespace recto::experiments
