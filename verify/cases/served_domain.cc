#include "verify/cases/served_domain.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/dense_kv_view.h"
#include "core/units.h"
#include "verify/cases/reason_kind.h"

namespace recto::verify {
namespace {

constexpr int kAsksMax = 1000;

// One value from each list of a domain, and which options a case has.
struct Choice {
  TypePair types;
  KvLayout layout;
  RowsKind rows;
  std::int64_t head_dim;
  std::int64_t group;
  std::int64_t block_size;
  bool has_own_value_dim = false;
  bool has_softcap = false;
  bool has_window = false;
  bool has_alibi = false;
  bool has_sinks = false;
  bool has_scales = false;
  bool has_non_causal = false;
  bool has_negative_scale = false;
  bool has_padding = false;
  std::vector<Gap> gaps = {};  // the only gaps of the case
  std::int64_t gap_unit = kGapUnits.front();
  ScaleValues scale_values = ScaleValues::kAny;
};

std::vector<SequenceSpec> sequences_of(RowsKind rows) {
  switch (rows) {
    case RowsKind::kDecode:
      return {{.num_rows = 1, .context_length = 9, .id = 0},
              {.num_rows = 1, .context_length = 4, .id = 1}};
    case RowsKind::kChunk:
      return {{.num_rows = 3, .context_length = 9}};
    case RowsKind::kPrefill:
      return {{.num_rows = 5, .context_length = 5}};
    case RowsKind::kBeyondContext:
      return {{.num_rows = 6, .context_length = 4}};
    case RowsKind::kMixed:
      return {{.num_rows = 3, .context_length = 9, .id = 0},
              {.num_rows = 0, .context_length = 4, .id = 1}};
  }
  return {};
}

CaseSpec case_of(const Choice& choice) {
  CaseSpec spec;
  const std::int64_t pack =
      choice.layout == KvLayout::kPacked ? packed_width_k(choice.types.kv) : 1;
  spec.shape = {.num_q_heads = 2 * choice.group,
                .num_kv_heads = 2,
                .head_dim_k = ceil_div(choice.head_dim, pack) * pack,
                .q_type = choice.types.q,
                .kv_type = choice.types.kv};
  spec.shape.head_dim_v = spec.shape.head_dim_k + (choice.has_own_value_dim ? 16 : 0);
  spec.sequences = sequences_of(choice.rows);
  const float sign = choice.has_negative_scale ? -1.0F : 1.0F;
  spec.options.scale = sign / static_cast<float>(spec.shape.head_dim_k);
  spec.options.scale = scale_among(choice.scale_values, spec.options.scale, spec.shape.head_dim_k);
  spec.options.causal = !choice.has_non_causal;
  if (choice.has_softcap) spec.options.softcap = 5.0F;
  if (choice.has_window) spec.options.window = 3;
  if (choice.has_alibi) spec.options.alibi = AlibiFamily::kUsual;
  if (choice.has_sinks) spec.options.sinks = SinkFamily::kNormal;
  if (choice.has_scales && is_fp8(choice.types.kv))
    spec.options.k_scales = spec.options.v_scales = ScaleKind::kPerTensor;
  spec.placement.layout = choice.layout;
  spec.placement.block_size = choice.block_size;
  if (choice.has_padding) {
    spec.placement.block_padding = spec.placement.row_padding = 16;
    spec.placement.table_padding = 3;
  }
  for (const Gap gap : choice.gaps) spec.placement.gaps.*gap = choice.gap_unit;
  return spec;
}

class ServedSearch {
 public:
  ServedSearch(const CaseDomain& domain, const CaseRefusal& why_refused)
      : domain_(domain), why_refused_(why_refused) {}

  std::optional<CaseDomain> run() {
    const Choice plainest{.types = domain_.types.front(),
                          .layout = domain_.layouts.front(),
                          .rows = domain_.rows.front(),
                          .head_dim = domain_.head_dims.front(),
                          .group = domain_.groups.front(),
                          .block_size = domain_.block_sizes.front(),
                          .scale_values = domain_.scale_values};
    const std::optional<Choice> served = search_from(plainest);
    if (!served) return std::nullopt;
    asks_left_ = kAsksMax;
    return around(*served);
  }

 private:
  // False once too many questions were asked.
  bool is_served(const Choice& choice, std::string& reason) {
    if (asks_left_-- <= 0) return false;
    const std::optional<std::string> why = why_refused_(case_of(choice));
    reason = reason_kind(why.value_or(""));
    return !why;
  }
  bool is_served(const Choice& choice) {
    std::string reason;
    return is_served(choice, reason);
  }

  // A new reason may come from a later check (the change was right) or from an earlier one, so the
  // search continues from each reason once.
  std::optional<Choice> search_from(const Choice& choice) {
    std::string reason;
    if (is_served(choice, reason)) return choice;
    met_.insert(reason);
    for (const Choice& next : one_change_from(choice)) {
      if (is_served(next, reason)) return next;
      if (asks_left_ <= 0) return std::nullopt;
      if (met_.contains(reason)) continue;
      if (const std::optional<Choice> found = search_from(next)) return found;
    }
    return std::nullopt;
  }

  template <auto kField, typename Value>
  static void add(const Choice& choice, const std::vector<Value>& values,
                  std::vector<Choice>& changed) {
    for (const Value& value : values) {
      if (choice.*kField == value) continue;
      changed.push_back(choice);
      changed.back().*kField = value;
    }
  }

  std::vector<Choice> one_change_from(const Choice& choice) const {
    std::vector<Choice> changed;
    add<&Choice::types>(choice, domain_.types, changed);
    add<&Choice::layout>(choice, domain_.layouts, changed);
    add<&Choice::rows>(choice, domain_.rows, changed);
    add<&Choice::head_dim>(choice, domain_.head_dims, changed);
    add<&Choice::group>(choice, domain_.groups, changed);
    add<&Choice::block_size>(choice, domain_.block_sizes, changed);
    for (const auto& [field, is_there] : options(domain_)) {
      if (!is_there || choice.*field) continue;
      changed.push_back(choice);
      changed.back().*field = true;
    }
    return changed;
  }

  static std::vector<std::pair<bool Choice::*, bool>> options(const CaseDomain& domain) {
    return {{&Choice::has_own_value_dim, domain.value_head_dim == ValueHeadDim::kOwn},
            {&Choice::has_softcap, domain.has_softcap},
            {&Choice::has_window, domain.has_window},
            {&Choice::has_alibi, domain.has_alibi},
            {&Choice::has_sinks, domain.has_sinks},
            {&Choice::has_scales, domain.has_scales},
            {&Choice::has_non_causal, domain.has_non_causal},
            {&Choice::has_negative_scale, domain.has_negative_scale},
            {&Choice::has_padding, domain.has_padding}};
  }

  template <auto kField, typename Value>
  void keep(const Choice& served, std::vector<Value>& values) {
    std::erase_if(values, [&](const Value& value) {
      Choice changed = served;
      changed.*kField = value;
      return served.*kField != value && !is_served(changed);
    });
  }

  void keep_option(Choice changed, bool Choice::*field, bool& is_there) {
    changed.*field = true;
    is_there = is_there && is_served(changed);
  }

  // Tries each gap alone with the first unit, then all served gaps together with each unit.
  void keep_gaps(Choice changed, CaseDomain& kept) {
    const std::int64_t first = changed.gap_unit = kept.gap_units.front();
    std::erase_if(kept.gaps, [&](Gap gap) {
      changed.gaps = {gap};
      return !is_served(changed);
    });
    changed.gaps = kept.gaps;
    std::erase_if(kept.gap_units, [&](std::int64_t unit) {
      changed.gap_unit = unit;
      return unit != first && !is_served(changed);
    });
  }

  CaseDomain around(const Choice& served) {
    CaseDomain kept = domain_;
    keep<&Choice::types>(served, kept.types);
    keep<&Choice::layout>(served, kept.layouts);
    keep<&Choice::rows>(served, kept.rows);
    keep<&Choice::head_dim>(served, kept.head_dims);
    keep<&Choice::group>(served, kept.groups);
    keep<&Choice::block_size>(served, kept.block_sizes);
    bool has_own_value_dim = kept.value_head_dim == ValueHeadDim::kOwn;
    keep_option(served, &Choice::has_own_value_dim, has_own_value_dim);
    if (!has_own_value_dim) kept.value_head_dim = ValueHeadDim::kSameAsKeys;
    keep_option(served, &Choice::has_softcap, kept.has_softcap);
    keep_option(served, &Choice::has_window, kept.has_window);
    keep_option(served, &Choice::has_alibi, kept.has_alibi);
    keep_option(served, &Choice::has_sinks, kept.has_sinks);
    keep_option(served, &Choice::has_scales, kept.has_scales);
    keep_option(served, &Choice::has_non_causal, kept.has_non_causal);
    keep_option(served, &Choice::has_negative_scale, kept.has_negative_scale);
    keep_option(served, &Choice::has_padding, kept.has_padding);
    keep_gaps(served, kept);
    return kept;
  }

  const CaseDomain& domain_;
  const CaseRefusal& why_refused_;
  int asks_left_ = kAsksMax;
  std::set<std::string> met_;
};

}  // namespace

std::optional<CaseDomain> served_domain(const CaseDomain& domain, const CaseRefusal& why_refused) {
  return ServedSearch(domain, why_refused).run();
}

}  // namespace recto::verify
