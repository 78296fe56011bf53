#pragma once

// Gaps between neighbours in memory, independent of each other: callers pass slices of fused rows,
// pools of which K and V are halves, and results whose strides differ from the queries'.

#include <array>
#include <cstdint>
#include <vector>

namespace recto::verify {

// Extra elements after each row, head, block and slot, filled with poison. Multiples of 16 keep the
// alignment of all addresses. In packed caches, k_slots and v_slots follow the slots of a pack;
// within a pack only slots of K can have gaps, k_pack_slots.
struct Gaps {
  std::int64_t q_rows = 0;  // in addition to Placement::row_padding
  std::int64_t q_heads = 0;
  std::int64_t out_rows = 0;  // in addition to row_padding, if the caller provides out
  std::int64_t out_heads = 0;
  std::int64_t k_blocks = 0;  // like v_blocks, in addition to Placement::block_padding
  std::int64_t k_slots = 0;
  std::int64_t k_heads = 0;
  std::int64_t k_pack_slots = 0;  // without effect in other layouts
  std::int64_t v_blocks = 0;
  std::int64_t v_slots = 0;
  std::int64_t v_heads = 0;
  std::int64_t new_k_rows = 0;  // of tokens to be written
  std::int64_t new_k_heads = 0;
  std::int64_t new_v_rows = 0;
  std::int64_t new_v_heads = 0;

  friend bool operator==(const Gaps&, const Gaps&) = default;
};

using Gap = std::int64_t Gaps::*;

struct GapField {
  const char* name;
  Gap gap;
};

inline constexpr std::array<GapField, 15> kGapFields = {{{"q_rows", &Gaps::q_rows},
                                                         {"q_heads", &Gaps::q_heads},
                                                         {"out_rows", &Gaps::out_rows},
                                                         {"out_heads", &Gaps::out_heads},
                                                         {"k_blocks", &Gaps::k_blocks},
                                                         {"k_slots", &Gaps::k_slots},
                                                         {"k_heads", &Gaps::k_heads},
                                                         {"k_pack_slots", &Gaps::k_pack_slots},
                                                         {"v_blocks", &Gaps::v_blocks},
                                                         {"v_slots", &Gaps::v_slots},
                                                         {"v_heads", &Gaps::v_heads},
                                                         {"new_k_rows", &Gaps::new_k_rows},
                                                         {"new_k_heads", &Gaps::new_k_heads},
                                                         {"new_v_rows", &Gaps::new_v_rows},
                                                         {"new_v_heads", &Gaps::new_v_heads}}};

constexpr const char* gap_name(Gap gap) {
  for (const GapField& field : kGapFields)
    if (field.gap == gap) return field.name;
  return "";
}

inline std::vector<Gap> every_gap() {
  std::vector<Gap> gaps;
  for (const GapField& field : kGapFields) gaps.push_back(field.gap);
  return gaps;
}

// Extra elements after each row and head of one tensor.
struct RowGaps {
  std::int64_t rows = 0;
  std::int64_t heads = 0;
};

}  // namespace recto::verify
