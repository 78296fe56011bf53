// Negative controls for each gap that the placement law widens: the law fails a backend that is
// wrong in a single stride, and one that is wrong only if a single gap is present.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

// In the order of turns by the case's seed.
constexpr std::array<Gap, 10> kTurns = {
    &Gaps::q_rows,  &Gaps::q_heads, &Gaps::out_rows, &Gaps::out_heads, &Gaps::k_slots,
    &Gaps::v_slots, &Gaps::k_heads, &Gaps::k_blocks, &Gaps::v_heads,   &Gaps::v_blocks};

LawCase case_of_turn(std::size_t turn) {
  LawCase law_case = small_case();
  law_case.placement.seed = 70 + turn;
  return law_case;
}

// The gaps of token-major caches, from their strides. The inputs do not contain those of out.
Gaps gaps_of(const PagedAttentionInputs& inputs) {
  const RowsView& q = inputs.q;
  const KvTensorView& k = inputs.kv.k;
  const KvTensorView& v = inputs.kv.v;
  return {.q_rows = q.row_stride - q.num_heads * q.head_stride,
          .q_heads = q.head_stride - q.head_dim,
          .k_blocks = k.block_stride - k.block_size * k.slot_stride,
          .k_slots = k.slot_stride - k.num_kv_heads * k.head_stride,
          .k_heads = k.head_stride - k.head_dim,
          .v_blocks = v.block_stride - v.block_size * v.slot_stride,
          .v_slots = v.slot_stride - v.num_kv_heads * v.head_stride,
          .v_heads = v.head_stride - v.head_dim};
}

TEST_CASE("each gap is tried alone") {
  for (std::size_t turn = 0; turn < kTurns.size(); ++turn) {
    const Gap gap = kTurns[turn];
    if (gap == &Gaps::out_rows || gap == &Gaps::out_heads) continue;  // below
    Gaps alone;
    alone.*gap = 16;
    expect_caught_by(fmt::format("a wider gap of {} alone", gap_name(gap)),
                     physical_placement_law(), case_of_turn(turn),
                     wrong_where([alone](const PagedAttentionInputs& inputs) {
                       return gaps_of(inputs) == alone;
                     }));
  }
}

TEST_CASE("gaps are widened by the unit that the case's gaps are multiples of") {
  for (const std::int64_t unit : {16, 8, 1}) {
    LawCase law_case = case_of_turn(0);
    law_case.placement.gaps.q_heads = 3 * unit;
    const auto widened = [=](const PagedAttentionInputs& inputs) {
      return gaps_of(inputs) == Gaps{.q_rows = unit, .q_heads = 3 * unit};
    };
    expect_caught_by("a wider gap of q_rows alone", physical_placement_law(), law_case,
                     wrong_where(widened));
  }
}

TEST_CASE("slots within packs of K are put apart, also alone") {
  LawCase packed = case_of_turn(6);  // the last of eleven
  packed.placement.layout = KvLayout::kPacked;
  const auto width_of = [](const KvTensorView& k) { return k.pack_width; };
  expect_caught_by("separate strides for blocks, slots and heads of K and of V",
                   physical_placement_law(), packed, mishearing([&](PagedAttentionInputs& inputs) {
                     inputs.kv.k.slot_stride = width_of(inputs.kv.k);
                   }));
  expect_caught_by("a wider gap of k_pack_slots alone", physical_placement_law(), packed,
                   wrong_where([&](const PagedAttentionInputs& inputs) {
                     const KvTensorView& k = inputs.kv.k;
                     return k.slot_stride > width_of(k) &&
                            k.pack_stride == k.block_size * k.slot_stride;
                   }));
}

// Right, unless out has gaps for which `when` holds.
Backend wrong_by_out(const std::function<bool(const RowGaps&)>& when) {
  Backend backend = backend_of("naive-fp64");
  backend.capabilities.takes_out_gaps = true;
  backend.attend = [when](const PagedAttentionInputs& inputs, const CallOptions& options) {
    return when(options.out_gaps.value())
               ? wrong_where([](const PagedAttentionInputs&) { return true; }).call(inputs)
               : backend_of("naive-fp64").call(inputs);
  };
  return backend;
}

TEST_CASE("gaps of out are tried beside those of q, and those of its heads alone") {
  const auto heads_alone = [](const RowGaps& gaps) { return gaps.rows == 0 && gaps.heads > 0; };
  expect_caught_by("a wider gap of out_heads alone", physical_placement_law(), case_of_turn(3),
                   wrong_by_out(heads_alone));
  for (const auto gap : {&RowGaps::rows, &RowGaps::heads})
    expect_caught_by("separate strides for rows and heads of q and of out",
                     physical_placement_law(), small_case(),
                     wrong_by_out([gap](const RowGaps& gaps) { return gaps.*gap > 16; }));
}

TEST_CASE("each stride is caught if it is taken for dense") {
  const std::vector<std::function<void(PagedAttentionInputs&)>> faults = {
      [](PagedAttentionInputs& inputs) { inputs.q.head_stride = inputs.q.head_dim; },
      [](PagedAttentionInputs& inputs) { inputs.kv.k.head_stride = inputs.kv.k.head_dim; },
      [](PagedAttentionInputs& inputs) { inputs.kv.v.head_stride = inputs.kv.v.head_dim; },
      [](PagedAttentionInputs& inputs) {
        inputs.kv.k.slot_stride = inputs.kv.k.num_kv_heads * inputs.kv.k.head_stride;
      },
      [](PagedAttentionInputs& inputs) {
        inputs.kv.v.slot_stride = inputs.kv.v.num_kv_heads * inputs.kv.v.head_stride;
      }};
  for (const auto& fault : faults)
    expect_caught(physical_placement_law(), case_of_turn(0), mishearing(fault));
}

TEST_CASE("gaps of different widths tell K's strides from V's") {
  LawCase law_case = small_case();
  for (SequenceProblem& sequence : law_case.problem.sequences) sequence.v = sequence.k;
  law_case.problem.shape.head_dim_v = law_case.problem.shape.head_dim_k;
  expect_caught_by("separate strides for blocks, slots and heads of K and of V",
                   physical_placement_law(), law_case, mishearing([](PagedAttentionInputs& inputs) {
                     // V's gaps are wider, so that the wrong address stays within V's memory.
                     inputs.kv.v.block_stride = inputs.kv.k.block_stride;
                   }));
}

}  // namespace
}  // namespace recto::verify
