// Each tensor has its own gaps, and its numbers are where its strides say.

#include <cstdint>
#include <cstring>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "reference/rounding.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {
namespace {

// Distinct numbers that are exact in fp16.
std::vector<float> numbered(std::int64_t count, float first) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return values;
}

// One sequence of 2 rows and 9 tokens; 6 heads of 16 dims, and 2 of 16 and of 3.
AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 6,
                   .num_kv_heads = 2,
                   .head_dim_k = 16,
                   .head_dim_v = 3,
                   .q_type = ElementType::kFp16,
                   .kv_type = ElementType::kFp16};
  problem.sequences.push_back({.num_rows = 2,
                               .context_length = 9,
                               .q = numbered(2 * 6 * 16, 1.0F),
                               .k = numbered(9 * 2 * 16, 500.0F),
                               .v = numbered(9 * 2 * 3, 1000.0F)});
  return problem;
}

double number_at(const void* data, std::int64_t index) {
  std::uint16_t code = 0;
  std::memcpy(&code, static_cast<const char*>(data) + index * 2, sizeof(code));
  return reference::decode(code, ElementType::kFp16);
}

Gaps all_different(std::int64_t unit = 16) {
  Gaps gaps;
  std::int64_t width = 0;
  for (const GapField& field : kGapFields) gaps.*field.gap = width += unit;
  return gaps;
}

void check_queries(const RowsView& q, const Gaps& gaps) {
  CHECK(q.head_stride == 16 + gaps.q_heads);
  CHECK(q.row_stride == 6 * q.head_stride + 32 + gaps.q_rows);
  for (std::int64_t i = 0; i < 2 * 6 * 16; ++i) {
    const std::int64_t index = i / 96 * q.row_stride + i / 16 % 6 * q.head_stride + i % 16;
    REQUIRE(number_at(q.data, index) == static_cast<double>(1 + i));
  }
}

void check_cache(const KvTensorView& view, const BlockTableView& table, double first) {
  const std::int64_t dims = view.head_dim;
  for (std::int64_t i = 0; i < 9 * 2 * dims; ++i) {
    const std::int64_t token = i / (2 * dims);
    const std::int64_t dim = i % dims;
    const bool is_packed = view.layout == KvLayout::kPacked;
    const std::int64_t index =
        table.data[token / 4] * view.block_stride + token % 4 * view.slot_stride +
        i / dims % 2 * view.head_stride +
        (is_packed ? dim / view.pack_width * view.pack_stride + dim % view.pack_width : dim);
    REQUIRE(number_at(view.data, index) == first + static_cast<double>(i));
  }
}

void check_placed(KvLayout layout, std::int64_t unit) {
  const Placement placement{.layout = layout,
                            .block_size = 4,
                            .block_padding = 16,
                            .row_padding = 32,
                            .gaps = all_different(unit)};
  const PlacedProblem placed(small_problem(), placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  REQUIRE(check_shapes(inputs, {.alignment_bytes = 0}) == Status::ok());
  REQUIRE(check_contents(inputs) == Status::ok());
  check_queries(inputs.q, placement.gaps);
  check_cache(inputs.kv.k, inputs.block_table, 500.0);
  check_cache(inputs.kv.v, inputs.block_table, 1000.0);
}

TEST_CASE("each tensor has gaps of its own, and its numbers lie where its strides say") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const std::int64_t unit : {16, 3, 1}) {
      CAPTURE(layout, unit);
      check_placed(layout, unit);
    }
  }
}

TEST_CASE("strides are those of heads, slots and blocks with a gap after each") {
  const Gaps gaps = all_different();
  Placement placement{.block_size = 4, .gaps = gaps};
  const PlacedProblem token_major(small_problem(), placement);
  const KvTensorView& v = token_major.inputs().kv.v;
  CHECK(v.head_stride == 3 + gaps.v_heads);
  CHECK(v.slot_stride == 2 * v.head_stride + gaps.v_slots);
  CHECK(v.block_stride == 4 * v.slot_stride + gaps.v_blocks);
  placement.layout = KvLayout::kHeadMajor;
  const PlacedProblem head_major(small_problem(), placement);
  const KvTensorView& k = head_major.inputs().kv.k;
  CHECK(k.slot_stride == 16 + gaps.k_slots);
  CHECK(k.head_stride == 4 * k.slot_stride + gaps.k_heads);
  CHECK(k.block_stride == 2 * k.head_stride + gaps.k_blocks);
  placement.layout = KvLayout::kPacked;
  const PlacedProblem packed(small_problem(), placement);
  const KvTensorView& packs = packed.inputs().kv.k;
  CHECK(packs.slot_stride == 8 + gaps.k_pack_slots);
  CHECK(packs.pack_stride == 4 * packs.slot_stride + gaps.k_slots);
  CHECK(packs.head_stride == 2 * packs.pack_stride + gaps.k_heads);
  CHECK(packs.block_stride == 2 * packs.head_stride + gaps.k_blocks);
  // A dim of V is contiguous over the slots of its block.
  const KvTensorView& values = packed.inputs().kv.v;
  CHECK(values.slot_stride == 1);
  CHECK(values.pack_stride == 4 + gaps.v_slots);
}

}  // namespace
}  // namespace recto::verify
