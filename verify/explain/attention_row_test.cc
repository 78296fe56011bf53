// An fp64 kernel written here, with one fault in the inputs of a head or a row: exactly that fault
// is named, or the report says that the case shows too little.

#include "verify/explain/attention_row.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/explanation.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::SequenceRows;

enum class BiasFrom { kPosition, kLastKey, kRow };
enum class Found { kOwn, kFirstThatStartsThere, kOneBefore };

// A kernel's choices; the defaults are right.
struct Choices {
  bool scales_k_late = false;  // after the soft cap
  bool scales_late = false;
  BiasFrom bias_from = BiasFrom::kPosition;
  int digits_of_qk = 53;
  int digits_of_v = 53;
  Found found = Found::kOwn;        // the sequence to which a row is assigned
  std::int64_t group_heads = 1024;  // query heads beyond use the KV head after their own
  std::int64_t k_group = 0;         // 0: the group's own heads
  std::int64_t v_group = 0;
  std::int64_t tile_rows = 1 << 20;  // tokens times heads of a group
};

double narrowed(double value, int digits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

Matrix narrowed(const Matrix& values, int digits) {
  return values.unaryExpr([digits](double value) { return narrowed(value, digits); });
}

// One row of one head, without windows and sinks.
class Row {
 public:
  Row(const PagedAttentionInputs& inputs, const Choices& choices)
      : inputs_(inputs), choices_(choices) {}

  void attend(const SequenceRows& sequence, std::int64_t row, std::int64_t head,
              reference::AttentionResult& result) const {
    const std::int64_t heads = inputs_.kv.k.num_kv_heads;
    const std::int64_t group = inputs_.q.num_heads / heads;
    const bool is_beyond = head % group >= choices_.group_heads;
    const std::int64_t own = (head / group + (is_beyond ? 1 : 0)) % heads;
    const std::int64_t k_head = choices_.k_group > 0 ? head / choices_.k_group : own;
    const std::int64_t v_head = choices_.v_group > 0 ? head / choices_.v_group : own;
    const std::int64_t keys = keys_of(sequence, row, head % group, group);
    for (std::int64_t dim = 0; dim < result.head_dim; ++dim) result.out_at(row, head, dim) = 0.0;
    result.lse_ln_at(row, head) = -std::numeric_limits<double>::infinity();
    if (keys <= 0) return;
    const Eigen::RowVectorXd scores = scores_of(sequence, row, head, k_head).head(keys);
    const std::int32_t* const blocks = sequence.block_table_row;
    const Matrix v = reference::gather_head(inputs_.kv.v, blocks, keys, v_head);
    const Eigen::RowVectorXd weights = (scores.array() - scores.maxCoeff()).exp();
    const Eigen::RowVectorXd out = weights * narrowed(v, choices_.digits_of_v) / weights.sum();
    for (std::int64_t dim = 0; dim < out.size(); ++dim) result.out_at(row, head, dim) = out[dim];
    result.lse_ln_at(row, head) = scores.maxCoeff() + std::log(weights.sum());
  }

 private:
  static std::int64_t position_of(const SequenceRows& sequence, std::int64_t row) {
    const std::int64_t rows = std::max<std::int64_t>(1, sequence.num_rows);
    return sequence.context_length - rows + row - sequence.first_row;
  }

  // The first key.
  std::int64_t keys_of(const SequenceRows& sequence, std::int64_t row, std::int64_t head_of_group,
                       std::int64_t group) const {
    if (!inputs_.options.causal) return sequence.context_length;
    const std::int64_t keys = std::min(position_of(sequence, row) + 1, sequence.context_length);
    const std::int64_t pair = (row - sequence.first_row) * group + head_of_group;
    const std::int64_t first_token = pair / choices_.tile_rows * choices_.tile_rows / group;
    const std::int64_t last_token = first_token + (choices_.tile_rows - 1) / group;
    return std::min(keys, position_of(sequence, sequence.first_row + last_token) + 1);
  }

  Eigen::RowVectorXd scores_of(const SequenceRows& sequence, std::int64_t row, std::int64_t head,
                               std::int64_t kv_head) const {
    const AttentionOptions& options = inputs_.options;
    const std::int64_t keys = sequence.context_length;
    const Matrix q = reference::read_rows(inputs_.q, head, row, 1);
    const Matrix k = reference::gather_head(inputs_.kv.k, sequence.block_table_row, keys, kv_head);
    const Matrix products =
        narrowed(q, choices_.digits_of_qk) * narrowed(k, choices_.digits_of_qk).transpose();
    Eigen::RowVectorXd scores = static_cast<double>(options.scale) * products;
    const double late = (choices_.scales_late ? static_cast<double>(options.scale) : 1.0) *
                        (choices_.scales_k_late ? reference::scale_of(inputs_.kv.k, kv_head) : 1.0);
    const auto cap = static_cast<double>(options.softcap);
    if (cap > 0.0) scores = late * cap * (scores / (late * cap)).array().tanh();
    if (options.alibi_slopes.empty()) return scores;
    const auto slope = static_cast<double>(options.alibi_slopes[static_cast<std::size_t>(head)]);
    std::int64_t from = position_of(sequence, row);
    if (choices_.bias_from == BiasFrom::kLastKey) from = keys - 1;
    if (choices_.bias_from == BiasFrom::kRow) from = row - sequence.first_row;
    for (std::int64_t key = 0; key < keys; ++key)
      scores[key] += slope * static_cast<double>(key - from);
    return scores;
  }

  const PagedAttentionInputs& inputs_;
  const Choices& choices_;
};

std::size_t found_for(const std::vector<SequenceRows>& all, std::size_t own, std::int64_t row,
                      Found how) {
  if (how == Found::kOwn || all[own].first_row != row || own == 0) return own;
  if (how == Found::kOneBefore) return own - 1;
  while (own > 0 && all[own - 1].first_row == row) --own;
  return own;
}

reference::AttentionResult run(const PagedAttentionInputs& inputs, const Choices& choices) {
  const std::vector<SequenceRows> all = reference::sequences_of(inputs);
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for (std::size_t own = 0; own < all.size(); ++own) {
    const std::int64_t end = all[own].first_row + all[own].num_rows;
    for (std::int64_t row = all[own].first_row; row < end; ++row) {
      const SequenceRows& sequence = all[found_for(all, own, row, choices.found)];
      for (std::int64_t head = 0; head < inputs.q.num_heads; ++head)
        Row(inputs, choices).attend(sequence, row, head, result);
    }
  }
  return result;
}

Backend choosing(const Choices& choices) {
  Backend backend;
  backend.name = "choosing";
  backend.refusal = [](const PagedAttentionInputs&, const CallOptions&) { return std::nullopt; };
  // fp32 bounds, as for libraries.
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  backend.attend =
      always_done([choices](const PagedAttentionInputs& inputs) { return run(inputs, choices); });
  return backend;
}

// Prefill of 5 rows behind 32 keys and of 4 behind 57, with two sequences without rows between.
CaseSpec batch() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 8, .head_dim_v = 6};
  spec.options.scale = 0.5F;
  spec.sequences = {{.num_rows = 5, .context_length = 37, .id = 0},
                    {.num_rows = 0, .context_length = 23, .id = 1},
                    {.num_rows = 0, .context_length = 50, .id = 2},
                    {.num_rows = 4, .context_length = 61, .id = 3}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 8;
  spec.placement.order = BlockOrder::kShuffled;
  spec.seed = 7;
  return spec;
}

Explanation explained(const Choices& choices, const CaseSpec& spec) {
  return explain(choosing(choices), {make_problem(spec), spec.placement},
                 BoundKind::kProbabilistic);
}

void check_named(const Choices& choices, const CaseSpec& spec,
                 const std::vector<std::string>& named) {
  const Explanation explanation = explained(choices, spec);
  INFO(explanation_text(explanation, {make_problem(spec), spec.placement}));
  CHECK(explanation.is_wrong());
  CHECK(explanation.faults.fitting == named);
  CHECK_FALSE(explanation.faults.weak);
}

TEST_CASE("scales applied after the soft cap are named, each and both") {
  CaseSpec spec = batch();
  spec.options.softcap = 2.0F;
  CHECK_FALSE(explained({}, spec).is_wrong());
  check_named({.scales_late = true}, spec, {"the scale is applied after the soft cap"});
  spec.shape.q_type = ElementType::kBf16;
  spec.shape.kv_type = ElementType::kE4m3;
  spec.options.k_scales = ScaleKind::kPerKvHead;
  CHECK_FALSE(explained({}, spec).is_wrong());
  check_named({.scales_k_late = true}, spec, {"K's scale is applied after the soft cap"});
  check_named({.scales_k_late = true, .scales_late = true}, spec,
              {"the scale and K's are applied after the soft cap"});
  // With a scale of 1, the fault is not attributed to both scales.
  spec.options.scale = 1.0F;
  check_named({.scales_k_late = true}, spec, {"K's scale is applied after the soft cap"});
}

TEST_CASE("ALiBi distances counted from another key are named with that key") {
  CaseSpec spec = batch();
  spec.options.alibi = AlibiFamily::kUsual;
  CHECK_FALSE(explained({}, spec).is_wrong());
  const std::string counted = "ALiBi's distances are counted from ";
  check_named({.bias_from = BiasFrom::kLastKey}, spec, {counted + "the context's last key"});
  check_named({.bias_from = BiasFrom::kRow}, spec, {counted + "the row's index in its sequence"});
}

TEST_CASE("products of narrower inputs are named, with their type") {
  CHECK_FALSE(explained({}, batch()).is_wrong());
  // 10 bits after the leading one, as in TF32; then 7.
  check_named({.digits_of_qk = 8}, batch(), {"q and K are rounded to bf16 for their product"});
  // fp16 differs from TF32 only below 2^-14.
  check_named({.digits_of_qk = 11}, batch(),
              {"q and K are rounded to TF32 for their product",
               "q and K are rounded to fp16 for their product"});
  // One bit more matches no type that is tried.
  const Explanation other = explained({.digits_of_qk = 12}, batch());
  CHECK(other.is_wrong());
  CHECK(other.faults.fitting.empty());
}

TEST_CASE("rows that are taken for those of another sequence are named") {
  check_named({.found = Found::kFirstThatStartsThere}, batch(),
              {"a row where several sequences start is attributed to the first of them, which has "
               "no rows"});
  check_named({.found = Found::kOneBefore}, batch(),
              {"the first row of a sequence is attributed to the sequence before it"});
}

TEST_CASE("heads of a group beyond those of a tile are named") {
  CaseSpec spec = batch();
  spec.shape.num_q_heads = 18;
  spec.shape.num_kv_heads = 2;
  CHECK_FALSE(explained({.group_heads = 9}, spec).is_wrong());
  const Explanation beyond = explained({.group_heads = 8}, spec);
  INFO(explanation_text(beyond, {make_problem(spec), spec.placement}));
  REQUIRE(beyond.is_wrong());
  CHECK(std::ranges::count(beyond.faults.fitting,
                           "the heads beyond the first 8 of each group attend to the KV head after "
                           "their own") == 1);
}

TEST_CASE("groups that are padded to a power of two are named, of K, V or both") {
  CaseSpec spec = batch();
  spec.shape.num_q_heads = 10;
  CHECK_FALSE(explained({.k_group = 5, .v_group = 5}, spec).is_wrong());
  const std::string start = "query head h attends to ";
  const std::string end = "KV head h / 8: groups of 5 are padded";
  check_named({.k_group = 8, .v_group = 8}, spec, {start + end});
  check_named({.v_group = 8}, spec, {start + "V of " + end});
  check_named({.k_group = 8}, spec, {start + "K of " + end});
  spec.shape.num_q_heads = 6;
  check_named({.v_group = 4}, spec, {start + "V of KV head h / 4: groups of 3 are padded"});
}

TEST_CASE("tiles that lose the last keys of their later tokens are named") {
  CaseSpec spec = batch();
  spec.shape.num_q_heads = 6;
  spec.shape.num_kv_heads = 1;
  spec.sequences = {{.num_rows = 20, .context_length = 60}};
  // Tiles of whole tokens end correctly.
  CHECK_FALSE(explained({.tile_rows = 12}, spec).is_wrong());
  check_named({.tile_rows = 16}, spec,
              {"tiles of 16 rows (tokens times heads of a group) read keys, 1 at a time, as if all "
               "heads of their first token were in the tile"});
}

TEST_CASE("the fit is reported as weak for rows with one key, and not for rows with two") {
  CaseSpec spec;
  spec.sequences = {{.num_rows = 0, .context_length = 0, .id = 0},
                    {.num_rows = 1, .context_length = 1, .id = 1}};
  const Explanation weak = explained({.found = Found::kFirstThatStartsThere}, spec);
  REQUIRE(weak.is_wrong());
  const std::string text = explanation_text(weak, {make_problem(spec), spec.placement});
  INFO(text);
  // Several faults fit this case.
  CHECK(std::ranges::count(weak.faults.fitting,
                           "a row where several sequences start is attributed to the first of "
                           "them, which has no rows") == 1);
  CHECK(std::ranges::count(weak.faults.fitting, "context lengths without the newest token") == 1);
  CHECK(weak.faults.weak == "no wrong row sees more than one key");
  CHECK((text.find("\n  weak: no wrong row sees more than one key, so that other faults "
                   "would give the same numbers\n") != std::string::npos));
  spec.sequences[1].context_length = 2;
  const Explanation two = explained({.found = Found::kFirstThatStartsThere}, spec);
  REQUIRE(two.is_wrong());
  CHECK_FALSE(two.faults.weak);
}

}  // namespace
}  // namespace recto::verify
