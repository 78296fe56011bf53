#include "verify/generators/drawn_gaps.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kUnit = 16;  // elements

// Where so many elements of another tensor lie between, and what alignment needs.
std::int64_t gap_for(std::int64_t elements) { return ceil_div(elements, kUnit) * kUnit; }

Gaps fused_row_gaps(const ProblemShape& shape) {
  const std::int64_t q = shape.num_q_heads * shape.head_dim_k;
  const std::int64_t k = shape.num_kv_heads * shape.head_dim_k;
  const std::int64_t v = shape.num_kv_heads * shape.head_dim_v;
  return {.q_rows = gap_for(k + v), .new_k_rows = gap_for(q + v), .new_v_rows = gap_for(q + k)};
}

// A block of V follows each block of K.
Gaps gaps_of_turns_by_block(const ProblemShape& shape, const Placement& placement) {
  const std::int64_t heads = placement.block_size * shape.num_kv_heads;
  return {.k_blocks = gap_for(heads * shape.head_dim_v),
          .v_blocks = gap_for(heads * shape.head_dim_k)};
}

// A slot of V follows each slot of K.
Gaps gaps_of_turns_by_slot(const ProblemShape& shape, const Placement& placement) {
  const std::int64_t heads = placement.layout == KvLayout::kTokenMajor ? shape.num_kv_heads : 1;
  return {.k_slots = gap_for(heads * shape.head_dim_v),
          .v_slots = gap_for(heads * shape.head_dim_k)};
}

Gaps draw_common_pool_gaps(const ProblemShape& shape, const Placement& placement,
                           RandomStream& stream) {
  const bool by_slot = stream.next_below(2) == 0 && placement.layout != KvLayout::kPacked;
  return by_slot ? gaps_of_turns_by_slot(shape, placement)
                 : gaps_of_turns_by_block(shape, placement);
}

// One in two is none.
Gaps draw_some(const std::vector<Gap>& fields, RandomStream& stream) {
  Gaps gaps;
  for (const Gap field : fields) {
    const auto units = static_cast<std::int64_t>(stream.next_below(4)) - 1;
    gaps.*field = kUnit * std::max<std::int64_t>(0, units);
  }
  return gaps;
}

// Slots of every other cache are side by side, as kernels need that copy whole heads of a block; so
// are those of small packs, which gaps would make many times as large.
Gaps draw_cache_gaps(const Placement& placement, RandomStream& stream) {
  std::vector<Gap> fields = {&Gaps::k_blocks, &Gaps::v_blocks, &Gaps::k_heads, &Gaps::v_heads};
  const bool has_small_packs = placement.layout == KvLayout::kPacked && placement.block_size < 16;
  if (stream.next_below(2) == 0 && !has_small_packs)
    fields.insert(fields.end(), {&Gaps::k_slots, &Gaps::v_slots});
  return draw_some(fields, stream);
}

}  // namespace

Gaps draw_gaps(const ProblemShape& shape, const Placement& placement, RandomStream& stream) {
  switch (stream.next_below(4)) {
    case 0:
      return fused_row_gaps(shape);
    case 1:
      return draw_common_pool_gaps(shape, placement, stream);
    case 2:
      return draw_cache_gaps(placement, stream);
    default:
      return draw_some(
          {&Gaps::q_rows, &Gaps::q_heads, &Gaps::out_rows, &Gaps::out_heads, &Gaps::new_k_rows,
           &Gaps::new_k_heads, &Gaps::new_v_rows, &Gaps::new_v_heads},
          stream);
  }
}

}  // namespace recto::verify
