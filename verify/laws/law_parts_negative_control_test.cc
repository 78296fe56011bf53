// Negative controls for the parts of laws: for each part, a backend whose fault only this part
// detects is caught by this part.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

TEST_CASE("each block size is tried") {
  for (const std::int64_t size : {1, 16, 48, 128}) {
    expect_caught_by(fmt::format("block size {}", size), block_size_law(), small_case(),
                     wrong_where([size](const PagedAttentionInputs& inputs) {
                       return inputs.kv.v.block_size == size;
                     }));
  }
}

TEST_CASE("each layout is tried") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    LawCase law_case = small_case();
    if (layout == KvLayout::kTokenMajor) law_case.placement.layout = KvLayout::kPacked;
    expect_caught_by(fmt::format("layout {}", kv_layout_name(layout)), cache_layout_law(), law_case,
                     wrong_where([layout](const PagedAttentionInputs& inputs) {
                       return inputs.kv.k.layout == layout;
                     }));
  }
}

// Block ids of the first sequence of small_case(), which has six.
std::vector<std::int32_t> first_ids(const PagedAttentionInputs& inputs) {
  return {inputs.block_table.data, inputs.block_table.data + 6};
}

bool is_order(BlockOrder order, const PagedAttentionInputs& inputs) {
  const std::vector<std::int32_t> ids = first_ids(inputs);
  constexpr std::int64_t kUsed = 6 + 2;  // blocks of both sequences
  const bool rises = std::is_sorted(ids.begin(), ids.end());
  const bool falls = std::is_sorted(ids.rbegin(), ids.rend());
  const bool is_high = *std::min_element(ids.begin(), ids.end()) >= inputs.kv.k.num_blocks - kUsed;
  if (inputs.kv.k.num_blocks != kUsed + 2 + 3) return false;  // the unchanged case
  switch (order) {
    case BlockOrder::kAscending:
      return rises;
    case BlockOrder::kDescending:
      return falls;
    case BlockOrder::kShuffled:
      return !rises && !falls && !is_high;
    case BlockOrder::kHighIds:
      return !rises && !falls && is_high;
  }
  return false;
}

TEST_CASE("each order of blocks is tried, with spare blocks among them") {
  for (const BlockOrder order : kBlockOrders)
    expect_caught_by(fmt::format("block order {}", block_order_name(order)),
                     physical_placement_law(), small_case(),
                     wrong_where([order](const PagedAttentionInputs& inputs) {
                       return is_order(order, inputs);
                     }));
}

TEST_CASE("strides of the table, of blocks and of rows are tried") {
  const std::vector<std::function<bool(const PagedAttentionInputs&)>> wider = {
      [](const PagedAttentionInputs& inputs) {
        return inputs.block_table.row_stride > inputs.block_table.max_blocks;
      },
      [](const PagedAttentionInputs& inputs) {
        return inputs.kv.v.block_stride > inputs.kv.v.block_size * inputs.kv.v.slot_stride;
      },
      [](const PagedAttentionInputs& inputs) {
        return inputs.q.row_stride > inputs.q.num_heads * inputs.q.head_stride;
      }};
  for (const auto& is_wider : wider)
    expect_caught_by("wider strides and block table", physical_placement_law(), small_case(),
                     wrong_where(is_wider));
}

// Both sequences have the same first block.
LawCase with_common_prefix() {
  LawCase law_case = small_case();
  std::vector<SequenceProblem>& sequences = law_case.problem.sequences;
  const std::int64_t kv_heads = law_case.problem.shape.num_kv_heads;
  std::copy_n(sequences[0].k.begin(), 4 * kv_heads * 8, sequences[1].k.begin());
  std::copy_n(sequences[0].v.begin(), 4 * kv_heads * 4, sequences[1].v.begin());
  return law_case;
}

bool shares_first_block(const PagedAttentionInputs& inputs) {
  return inputs.block_table.data[0] == inputs.block_table.data[inputs.block_table.row_stride];
}

TEST_CASE("prefix blocks are tried both shared by two sequences and apart") {
  LawCase law_case = with_common_prefix();
  expect_caught_by("prefix blocks shared, or no longer", physical_placement_law(), law_case,
                   wrong_where(shares_first_block));
  law_case.placement.shares_prefixes = true;
  expect_caught_by(
      "prefix blocks shared, or no longer", physical_placement_law(), law_case,
      wrong_where([](const PagedAttentionInputs& inputs) { return !shares_first_block(inputs); }));
}

// Six rows instead of three, so that halves are not single tokens.
LawCase six_rows() {
  LawCase law_case = small_case();
  SequenceProblem& sequence = law_case.problem.sequences[0];
  const std::vector<float> q = sequence.q;
  sequence.q.insert(sequence.q.end(), q.begin(), q.end());
  sequence.num_rows *= 2;
  return law_case;
}

TEST_CASE("chunks of half a prompt are tried, and single tokens") {
  for (const std::int32_t rows : {1, 3}) {
    const auto has_chunks = [rows](const PagedAttentionInputs& inputs) {
      std::int32_t most = 0;
      for (std::size_t s = 0; s + 1 < inputs.query_start.size(); ++s)
        most = std::max(most, inputs.query_start[s + 1] - inputs.query_start[s]);
      return most == rows;
    };
    expect_caught_by(fmt::format("each {} rows a sequence", rows), chunking_law(), six_rows(),
                     wrong_where(has_chunks));
  }
}

// What the first sequence's token holds in head 0; blocks are in order.
float held_at(const KvTensorView& view, std::int64_t token) {
  return static_cast<const float*>(view.data)[token / view.block_size * view.block_stride +
                                              token % view.block_size * view.slot_stride];
}

// Rows at 18, 19 and 20 see four keys each.
bool is_spoilt_for(const std::string& row, const KvTensorView& view, float value) {
  const auto is_spoilt = [&](std::int64_t token) {
    const float held = held_at(view, token);
    return std::isnan(value) ? std::isnan(held) : held == value;
  };
  if (!is_spoilt(0)) return false;
  if (row == "first") return is_spoilt(19) && is_spoilt(20);
  if (row == "middle") return !is_spoilt(19) && is_spoilt(20);
  return !is_spoilt(19) && !is_spoilt(20);
}

TEST_CASE("NaN and infinity are tried in K and in V, beyond what each row sees") {
  LawCase law_case = small_case();
  law_case.problem.options.window = 4;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string row : {"first", "middle", "last"}) {
    for (const float value : {kNan, kInfinity}) {
      const auto what = [&](const char* tensor) {
        return fmt::format("{} in {} that the {} row does not see", value, tensor, row);
      };
      expect_caught_by(what("keys"), masked_keys_law(), law_case,
                       wrong_where([=](const PagedAttentionInputs& inputs) {
                         return is_spoilt_for(row, inputs.kv.k, value);
                       }));
      expect_caught_by(what("values"), masked_keys_law(), law_case,
                       wrong_where([=](const PagedAttentionInputs& inputs) {
                         return is_spoilt_for(row, inputs.kv.v, value);
                       }));
    }
  }
}

TEST_CASE("a masked key's score that is multiplied by zero is caught by NaN in keys alone") {
  expect_caught_by("nan in keys that the first row does not see", masked_keys_law(), small_case(),
                   wrong([](PagedAttentionInputs inputs) {
                     AttentionResult result = reference::paged_attention(inputs);
                     inputs.options.causal = false;
                     const AttentionResult all = reference::paged_attention(inputs);
                     for (std::size_t i = 0; i < result.lse_ln.size(); ++i)
                       result.lse_ln[i] += 0.0 * all.lse_ln[i];
                     return result;
                   }));
}

TEST_CASE("a shift up catches exponentials that overflow, a shift down those that underflow") {
  expect_caught_by("scores shifted up", logit_shift_law(), small_case(),
                   misreporting([](AttentionResult& result) {
                     for (double& lse_ln : result.lse_ln)
                       if (std::exp(lse_ln) > std::numeric_limits<float>::max())
                         lse_ln = std::numeric_limits<double>::infinity();
                   }));
  expect_caught_by("scores shifted down", logit_shift_law(), small_case(),
                   misreporting([](AttentionResult& result) {
                     for (double& lse_ln : result.lse_ln)
                       if (std::exp(lse_ln) < std::numeric_limits<float>::denorm_min())
                         lse_ln = -std::numeric_limits<double>::infinity();
                   }));
}

TEST_CASE("both orders of keys are tried") {
  const LawCase law_case = small_case();
  const std::vector<float>& keys = law_case.problem.sequences[0].k;
  // Whether key 0 equals `token` of the case.
  const auto begins_with = [&](const PagedAttentionInputs& inputs, std::int64_t token) {
    return held_at(inputs.kv.k, 0) == keys[static_cast<std::size_t>(token * 2 * 8)];
  };
  constexpr std::int64_t kLastUncut = 18;
  expect_caught_by("keys in reverse", key_permutation_law(), law_case,
                   wrong_where([&](const PagedAttentionInputs& inputs) {
                     return begins_with(inputs, kLastUncut);
                   }));
  expect_caught_by("keys shuffled", key_permutation_law(), law_case,
                   wrong_where([&](const PagedAttentionInputs& inputs) {
                     return !begins_with(inputs, kLastUncut) && !begins_with(inputs, 0);
                   }));
}

// Values from 1 to 3: the hull of visible values is far from 0.
LawCase with_positive_values(LawCase law_case) {
  for (SequenceProblem& sequence : law_case.problem.sequences)
    for (float& value : sequence.v) value += 2.0F;
  return law_case;
}

TEST_CASE("0 is in the hull with a sink, and not without one") {
  const Backend shrinking = misreporting([](AttentionResult& result) {
    for (double& out : result.out) out *= 0.25;
  });
  expect_caught(convex_hull_law(), with_positive_values(small_case()), shrinking);
  const LawVerdict with_sink = convex_hull_law().check(
      shrinking, with_sinks(with_positive_values(small_case())), BoundKind::kWorstCase);
  INFO(with_sink.comparison.text());
  CHECK_FALSE(with_sink.failed());
}

}  // namespace
}  // namespace recto::verify
