#include "verify/cases/drawn_gaps.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/dense_kv_view.h"
#include "core/units.h"

namespace recto::verify {
namespace {

// The gap if `elements` of another tensor lie in between, rounded up to `unit` for alignment.
std::int64_t gap_for(std::int64_t elements, std::int64_t unit) {
  return ceil_div(elements, unit) * unit;
}

// At most a pack's width of 16 bytes: kernels that copy whole packs need that much, and it makes no
// pool more than twice as large.
std::int64_t pack_slot_gap(const ProblemShape& shape, std::int64_t unit) {
  return std::min(unit, packed_width_k(shape.kv_type));
}

Gaps fused_row_gaps(const ProblemShape& shape, std::int64_t unit) {
  const std::int64_t q = shape.num_q_heads * shape.head_dim_k;
  const std::int64_t k = shape.num_kv_heads * shape.head_dim_k;
  const std::int64_t v = shape.num_kv_heads * shape.head_dim_v;
  return {.q_rows = gap_for(k + v, unit),
          .new_k_rows = gap_for(q + v, unit),
          .new_v_rows = gap_for(q + k, unit)};
}

// For a pool in which each block of K is followed by a block of V.
Gaps gaps_of_turns_by_block(const ProblemShape& shape, const Placement& placement,
                            std::int64_t unit) {
  const std::int64_t heads = placement.block_size * shape.num_kv_heads;
  return {.k_blocks = gap_for(heads * shape.head_dim_v, unit),
          .v_blocks = gap_for(heads * shape.head_dim_k, unit)};
}

// For a pool in which each slot of K is followed by a slot of V. In packed caches, where V's slots
// are contiguous, part of another K follows.
Gaps gaps_of_turns_by_slot(const ProblemShape& shape, const Placement& placement,
                           std::int64_t unit) {
  if (placement.layout == KvLayout::kPacked) return {.k_pack_slots = pack_slot_gap(shape, unit)};
  const std::int64_t heads = placement.layout == KvLayout::kTokenMajor ? shape.num_kv_heads : 1;
  return {.k_slots = gap_for(heads * shape.head_dim_v, unit),
          .v_slots = gap_for(heads * shape.head_dim_k, unit)};
}

Gaps draw_common_pool_gaps(const ProblemShape& shape, const Placement& placement, std::int64_t unit,
                           RandomStream& stream) {
  return stream.next_below(2) == 0 ? gaps_of_turns_by_slot(shape, placement, unit)
                                   : gaps_of_turns_by_block(shape, placement, unit);
}

// Half of the gaps are none.
Gaps draw_some(const std::vector<Gap>& fields, std::int64_t unit, RandomStream& stream) {
  Gaps gaps;
  for (const Gap field : fields) {
    const auto units = static_cast<std::int64_t>(stream.next_below(4)) - 1;
    gaps.*field = unit * std::max<std::int64_t>(0, units);
  }
  return gaps;
}

// In half of the caches slots stay contiguous, as kernels that copy whole heads of a block need,
// and also where packs are small, as gaps would make those many times as large.
Gaps draw_cache_gaps(const ProblemShape& shape, const Placement& placement, std::int64_t unit,
                     RandomStream& stream) {
  std::vector<Gap> fields = {&Gaps::k_blocks, &Gaps::v_blocks, &Gaps::k_heads, &Gaps::v_heads};
  const bool is_packed = placement.layout == KvLayout::kPacked;
  const bool has_small_packs = is_packed && placement.block_size < 16;
  if (stream.next_below(2) == 0 && !has_small_packs)
    fields.insert(fields.end(), {&Gaps::k_slots, &Gaps::v_slots});
  Gaps gaps = draw_some(fields, unit, stream);
  if (is_packed) gaps.k_pack_slots = pack_slot_gap(shape, unit);
  return gaps;
}

}  // namespace

Gaps draw_gaps(const ProblemShape& shape, const Placement& placement, std::int64_t unit,
               RandomStream& stream) {
  switch (stream.next_below(4)) {
    case 0:
      return fused_row_gaps(shape, unit);
    case 1:
      return draw_common_pool_gaps(shape, placement, unit, stream);
    case 2:
      return draw_cache_gaps(shape, placement, unit, stream);
    default:
      return draw_some(
          {&Gaps::q_rows, &Gaps::q_heads, &Gaps::out_rows, &Gaps::out_heads, &Gaps::new_k_rows,
           &Gaps::new_k_heads, &Gaps::new_v_rows, &Gaps::new_v_heads},
          unit, stream);
  }
}

}  // namespace recto::verify
