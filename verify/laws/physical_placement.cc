// The blocks' positions, ids and surroundings do not matter.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/dense_kv_view.h"
#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

constexpr std::array<Gap, 4> kRowGaps = {&Gaps::q_rows, &Gaps::q_heads, &Gaps::out_rows,
                                         &Gaps::out_heads};
constexpr std::array<Gap, 6> kCacheGaps = {&Gaps::k_slots,  &Gaps::v_slots, &Gaps::k_heads,
                                           &Gaps::k_blocks, &Gaps::v_heads, &Gaps::v_blocks};

// The common divisor of the case's gaps, at most 16: strides stay as aligned as the backend
// requires, and a library that accepts any stride gets some unaligned ones.
std::int64_t unit_of(const LawCase& law_case) {
  std::int64_t unit = 16;
  for (const GapField& field : kGapFields)
    if (field.gap != &Gaps::k_pack_slots) unit = std::gcd(unit, law_case.placement.gaps.*field.gap);
  return unit;
}

// Widens each gap by a different amount, so that confusing two strides leads to wrong places. Gaps
// that occur more often come first.
template <typename List>
LawCase with_own_gaps(LawCase law_case, const List& gaps) {
  const std::int64_t unit = unit_of(law_case);
  std::int64_t width = 0;
  for (const Gap gap : gaps) law_case.placement.gaps.*gap += width += unit;
  return law_case;
}

// A pack's width: more would make the pool many times as large, less would not be aligned.
std::int64_t pack_slots_width(const LawCase& law_case) {
  return packed_width_k(law_case.problem.shape.kv_type);
}

LawCase with_own_cache_gaps(const LawCase& law_case) {
  LawCase apart = with_own_gaps(law_case, kCacheGaps);
  apart.placement.gaps.k_pack_slots += pack_slots_width(law_case);
  return apart;
}

// Widens one of the ten gaps (packed caches: eleven) alone; the case's seed selects it.
Variant with_one_gap(LawCase law_case) {
  std::vector<Gap> gaps(kRowGaps.begin(), kRowGaps.end());
  gaps.insert(gaps.end(), kCacheGaps.begin(), kCacheGaps.end());
  if (law_case.placement.layout == KvLayout::kPacked) gaps.push_back(&Gaps::k_pack_slots);
  const Gap gap = gaps[law_case.placement.seed % gaps.size()];
  law_case.placement.gaps.*gap +=
      gap == &Gaps::k_pack_slots ? pack_slots_width(law_case) : unit_of(law_case);
  return {fmt::format("a wider gap of {} alone", gap_name(gap)), law_case};
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> exact;
  std::vector<Variant> within_bounds;
  std::vector<Variant>& strided = backend.capabilities.has_tiles_by_strides ? within_bounds : exact;
  for (const BlockOrder order : kBlockOrders) {
    LawCase variant = law_case;
    variant.placement.order = order;
    variant.placement.seed = law_case.placement.seed + 1;
    variant.placement.spare_blocks += 3;
    exact.push_back({fmt::format("block order {}", block_order_name(order)), variant});
  }
  LawCase wider = law_case;
  wider.placement.block_padding += 16;
  wider.placement.row_padding += 16;
  wider.placement.table_padding += 3;
  wider.placement.garbage_beyond_table = !law_case.placement.garbage_beyond_table;
  strided.push_back({"wider strides and block table", wider});
  strided.push_back(
      {"separate strides for rows and heads of q and of out", with_own_gaps(law_case, kRowGaps)});
  strided.push_back({"separate strides for blocks, slots and heads of K and of V",
                     with_own_cache_gaps(law_case)});
  strided.push_back(with_one_gap(law_case));
  LawCase sharing = law_case;
  sharing.placement.shares_prefixes = !law_case.placement.shares_prefixes;
  exact.push_back({"prefix blocks shared, or no longer", sharing});
  LawTrial trial(backend, bound_kind);
  trial.compare_bit_for_bit(law_case, exact);
  if (!within_bounds.empty()) trial.compare_within_bounds(law_case, within_bounds);
  return trial.verdict();
}

}  // namespace

Law physical_placement_law() {
  return {.name = "physical_placement",
          .statement =
              "physical placement and block ids never matter, bit for bit; nor do strides, except "
              "that they may select another kernel, within the bounds",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
