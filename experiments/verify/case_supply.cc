#include "experiments/verify/case_supply.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "verify/cases/served_domain.h"
#include "verify/library/kernel_library_report.h"

namespace recto::experiments {
namespace {

using verify::Backend;
using verify::CaseSpec;
using verify::DescribedCase;
using verify::DrawnCases;

// Draws to find one case that a backend supports. Most backends support one case in a few. After
// kWideDraws, the supply probes what the backend supports; after kDrawsMax without success the
// backend gets no more cases.
constexpr int kWideDraws = 64;
constexpr int kDrawsMax = 400;

// For small cases of a backend's domain, whose head dims may be those of models.
constexpr std::int64_t kServedQHeadsMax = 32;
constexpr std::int64_t kServedBlockSizeMax = 64;

// Head dims that models do not have, in half of the cases that have models' head dims: kernels
// round them up, or pad them.
constexpr std::int64_t kOtherHeadDims[] = {40,  48,  56,  72,  88,  104, 112,
                                           120, 136, 144, 160, 168, 224};

void add_other_head_dims(std::vector<std::int64_t>& head_dims) {
  const std::vector<std::int64_t> of_models = head_dims;
  head_dims.insert(head_dims.end(), of_models.begin(), of_models.end());
  head_dims.insert(head_dims.end(), std::begin(kOtherHeadDims), std::end(kOtherHeadDims));
}

CaseSets sets_within(std::uint64_t seed, const verify::SizeLimits& limits,
                     const SupplyOptions& options) {
  CaseSets sets{.small = verify::library_cases(1), .serving = verify::serving_kinds(limits)};
  for (DrawnCases& set : sets.small)
    if (set.name == "model") add_other_head_dims(set.domain.head_dims);
  sets.small.push_back(verify::chunk_cases(1));
  narrow(options.demands, options.kinds, limits, sets);
  const auto finish = [&](DrawnCases& set) {
    set.seed = seed;
    set.domain.gap_units = options.gap_units;
  };
  for (DrawnCases& set : sets.small) finish(set);
  for (verify::ServingKind& kind : sets.serving) finish(kind.cases);
  return sets;
}

// The union of the domains of all sets.
verify::CaseDomain union_of(const std::vector<DrawnCases>& sets) {
  verify::CaseDomain domain = sets.front().domain;
  const auto add = [](std::vector<std::int64_t>& all, const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values)
      if (std::ranges::find(all, value) == all.end()) all.push_back(value);
  };
  for (const DrawnCases& set : sets) {
    add(domain.head_dims, set.domain.head_dims);
    add(domain.groups, set.domain.groups);
    add(domain.block_sizes, set.domain.block_sizes);
  }
  return domain;
}

}  // namespace

SupplyOptions library_supply() {
  return {.large_every = kLibraryLargeEvery,
          .gap_units = {verify::kGapUnits.begin(), verify::kGapUnits.end()}};
}

CaseSupply::CaseSupply(const std::vector<Backend>& backends, std::uint64_t seed,
                       const verify::SizeLimits& limits, const SupplyOptions& options)
    : all_(sets_within(seed, limits, options)),
      sets_(all_.small),
      demands_(options.demands),
      large_(all_.serving, options.demands),
      large_every_(options.large_every) {
  for (const Backend& backend : backends)
    if (backend.computes_attention()) supplied_.push_back({.backend = &backend, .sets = sets_});
  if (!supplied_.empty()) return;
  for (const Backend& backend : backends) supplied_.push_back({.backend = &backend, .sets = sets_});
}

std::optional<DescribedCase> CaseSupply::next(const std::function<bool()>& is_time_up) {
  if (is_time_up()) return std::nullopt;
  if (supplied_.empty()) return draw(sets_);
  std::optional<DescribedCase> drawn;
  const bool is_large_turn = issued_ % large_every_ == large_every_ - 1;
  if (is_large_turn && !all_.serving.empty()) drawn = draw_large(is_time_up);
  is_of_serving_size_ = drawn.has_value();
  if (!drawn) drawn = draw_small(is_time_up);
  if (!drawn) return std::nullopt;
  for (SuppliedBackend& supplied : supplied_) {
    if (why_refused_as_placed(*supplied.backend, drawn->law_case)) continue;
    ++(is_of_serving_size_ ? supplied.served_large : supplied.served);
    if (is_of_serving_size_) large_.count_for(*supplied.backend);
  }
  ++issued_;
  return drawn;
}

std::optional<DescribedCase> CaseSupply::find(
    const Backend& backend, const std::function<bool(const DescribedCase&)>& is_wanted) {
  const auto supplied = std::ranges::find(supplied_, &backend, &SuppliedBackend::backend);
  const std::vector<DrawnCases>& sets = supplied == supplied_.end() ? sets_ : supplied->sets;
  for (int tried = 0; tried < kWideDraws; ++tried) {
    std::optional<DescribedCase> drawn = draw(sets);
    if (!drawn || is_wanted(*drawn)) return drawn;
  }
  return std::nullopt;
}

std::optional<DescribedCase> CaseSupply::draw_large(const std::function<bool()>& is_time_up) {
  SuppliedBackend* const supplied = whose_large_turn();
  if (supplied == nullptr) return std::nullopt;
  ++supplied->large_turns;
  const auto draw = [&] {
    return large_.draw_for(*supplied->backend, supplied->domain ? &*supplied->domain : nullptr,
                           is_time_up, refusals_);
  };
  std::optional<DescribedCase> drawn = draw();
  if (!drawn && !supplied->domain && !is_time_up()) {
    narrow(*supplied);
    drawn = draw();
  }
  return drawn;
}

std::optional<DescribedCase> CaseSupply::draw_small(const std::function<bool()>& is_time_up) {
  std::optional<DescribedCase> drawn;
  if (supplied_.size() > 1 && issued_ % 2 == 0) drawn = draw_for_anybody(is_time_up);
  while (SuppliedBackend* const supplied = drawn || is_time_up() ? nullptr : whose_turn()) {
    drawn = draw_for(*supplied, is_time_up);
    // The first case is kept nevertheless, to report why it is refused.
    if (supplied->gets_no_more && issued_ > 0) drawn.reset();
  }
  return drawn;
}

// Draws from the original sets, so that a backend that supports nearly everything also gets cases
// that the others refuse.
std::optional<DescribedCase> CaseSupply::draw_for_anybody(const std::function<bool()>& is_time_up) {
  for (int tried = 0; tried < kWideDraws && !is_time_up(); ++tried) {
    std::optional<DescribedCase> drawn = draw(sets_);
    if (!drawn) return drawn;
    std::vector<std::string> reasons;
    for (const SuppliedBackend& supplied : supplied_) {
      const auto why = why_refused_as_placed(*supplied.backend, drawn->law_case);
      if (!why) return drawn;
      reasons.push_back(*why);
    }
    for (const std::string& why : reasons) ++refusals_[why];
  }
  return std::nullopt;
}

CaseSupply::SuppliedBackend* CaseSupply::whose_turn() {
  SuppliedBackend* next = nullptr;
  for (SuppliedBackend& supplied : supplied_) {
    if (supplied.gets_no_more) continue;
    if (next == nullptr || supplied.served < next->served) next = &supplied;
  }
  return next;
}

// First backends that lack a kind that others have had, then in turn, so that a backend that
// supports all kinds gets the kinds that others refuse.
CaseSupply::SuppliedBackend* CaseSupply::whose_large_turn() {
  SuppliedBackend* next = nullptr;
  const auto rank = [this](const SuppliedBackend& supplied) {
    return std::tuple(large_.cases_of_each_kind(*supplied.backend), supplied.large_turns,
                      supplied.served_large);
  };
  for (SuppliedBackend& supplied : supplied_) {
    if (supplied.gets_no_more) continue;
    if (next == nullptr || rank(supplied) < rank(*next)) next = &supplied;
  }
  return next;
}

std::optional<DescribedCase> CaseSupply::draw(const std::vector<DrawnCases>& sets) {
  constexpr int kDraws = 2000;
  for (int tried = 0; tried < kDraws; ++tried) {
    const std::uint64_t number = drawn_++;
    const CaseSpec spec = drawn_spec(sets[number % sets.size()], number / sets.size());
    if (demands_.are_met_by(spec)) return verify::drawn_case(spec, "");
  }
  return std::nullopt;
}

// Returns the last case drawn if the backend gets no more cases; nullopt once it is late.
std::optional<DescribedCase> CaseSupply::draw_for(SuppliedBackend& supplied,
                                                  const std::function<bool()>& is_time_up) {
  for (int tried = 0;; ++tried) {
    std::optional<DescribedCase> drawn = draw(supplied.sets);
    if (!drawn) supplied.gets_no_more = true;
    if (!drawn) return drawn;
    const std::optional<std::string> why =
        why_refused_as_placed(*supplied.backend, drawn->law_case);
    if (!why) return drawn;
    ++refusals_[*why];
    if (is_time_up()) return std::nullopt;
    if (tried == kWideDraws && supplied.sets.size() == sets_.size()) narrow(supplied);
    if (tried < kDrawsMax) continue;
    if (std::optional<DescribedCase> found = take_found(supplied)) return found;
    supplied.gets_no_more = true;
    return drawn;
  }
}

// A library that did not return from some calls is not probed further: only the cases found by
// probing can be tried on it.
std::optional<DescribedCase> CaseSupply::take_found(SuppliedBackend& supplied) {
  while (!supplied.found.empty()) {
    DescribedCase found = verify::drawn_case(supplied.found.back(), "");
    supplied.found.pop_back();
    if (!why_refused_as_placed(*supplied.backend, found.law_case)) return found;
  }
  return std::nullopt;
}

// From now on every fourth case is drawn from the backend's domain.
void CaseSupply::narrow(SuppliedBackend& supplied) {
  const auto why_refused = [&supplied](const CaseSpec& spec) {
    std::optional<std::string> why =
        why_refused_as_placed(*supplied.backend, {make_problem(spec), spec.placement});
    if (!why) supplied.found.push_back(spec);
    return why;
  };
  std::vector<DrawnCases> asked = sets_;
  for (const verify::ServingKind& kind : all_.serving) asked.push_back(kind.cases);
  std::optional<verify::CaseDomain> served = served_domain(union_of(asked), why_refused);
  if (!served) return;
  supplied.domain = served;
  DrawnCases set = sets_.front();
  set.name = "served";
  set.domain = std::move(*served);
  std::vector<std::int64_t> block_sizes = set.domain.block_sizes;
  std::erase_if(block_sizes, [](std::int64_t size) { return size > kServedBlockSizeMax; });
  if (!block_sizes.empty()) set.domain.block_sizes = std::move(block_sizes);
  set.domain.num_q_heads_max =
      std::min(kServedQHeadsMax, set.domain.num_q_heads_max.value_or(kServedQHeadsMax));
  supplied.sets.push_back(std::move(set));
}

}  // namespace recto::experiments
