// fp64 kernels written here, each with one fault in its loop over keys or its block table: exactly
// that fault is named, and none for the right kernel.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/explanation.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

using reference::Matrix;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// A kernel's choices; the defaults are right.
struct Plan {
  std::int64_t part = 1 << 20;           // keys
  std::int64_t end = 1 << 20;            // keys from here on are not read
  std::int64_t table_stride_offset = 0;  // difference from the true stride
  bool is_split = false;                 // parts are summed independently and merged
  bool rescales_sum = true;
  bool rescales_output = true;
};

// Visits keys in order, as kernels do, without windows, ALiBi and sinks.
void attend(const Matrix& scores, const Matrix& v, const Plan& plan, double* out, double* lse_ln) {
  double maximum = kMinusInfinity;
  double sum = 0.0;
  Eigen::RowVectorXd weighted = Eigen::RowVectorXd::Zero(v.cols());
  const std::int64_t keys = std::min<std::int64_t>(scores.cols(), plan.end);
  for (std::int64_t first = 0; first < keys; first += plan.part) {
    const std::int64_t size = std::min(plan.part, keys - first);
    const double own = scores.block(0, first, 1, size).maxCoeff();
    const double next = std::max(maximum, own);
    const double before = maximum == kMinusInfinity ? 0.0 : std::exp(maximum - next);
    const double beside = plan.is_split ? own : next;
    const Matrix weights = (scores.block(0, first, 1, size).array() - beside).exp();
    const double after = std::exp(beside - next);
    sum = plan.rescales_sum ? sum * before + weights.sum() * after : sum + weights.sum();
    const Eigen::RowVectorXd part = weights * v.middleRows(first, size);
    weighted = plan.rescales_output ? Eigen::RowVectorXd(weighted * before + part * after)
                                    : Eigen::RowVectorXd(weighted + part);
    maximum = next;
  }
  for (std::int64_t dim = 0; dim < v.cols(); ++dim) out[dim] = weighted[dim] / sum;
  *lse_ln = maximum + std::log(sum);
}

reference::AttentionResult run(const PagedAttentionInputs& inputs, const Plan& plan) {
  const std::int64_t heads = inputs.q.num_heads;
  reference::AttentionResult result(inputs.q.num_rows, heads, inputs.kv.v.head_dim);
  for (std::int64_t s = 0; s < std::ssize(inputs.context_length); ++s) {
    const std::int64_t stride = inputs.block_table.row_stride + plan.table_stride_offset;
    const std::int32_t* const blocks = inputs.block_table.data + s * stride;
    const std::int64_t keys = inputs.context_length[static_cast<std::size_t>(s)];
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t kv_head = head / (heads / inputs.kv.k.num_kv_heads);
      const Matrix k = reference::gather_head(inputs.kv.k, blocks, keys, kv_head);
      const Matrix v = reference::gather_head(inputs.kv.v, blocks, keys, kv_head);
      const Matrix q = reference::read_rows(inputs.q, head, s, 1);
      const Matrix scores = static_cast<double>(inputs.options.scale) * q * k.transpose();
      attend(scores, v, plan, &result.out_at(s, head, 0), &result.lse_ln_at(s, head));
    }
  }
  return result;
}

Backend planned(const Plan& plan) {
  Backend backend;
  backend.name = "planned";
  backend.refusal = [](const PagedAttentionInputs&, const CallOptions&) { return std::nullopt; };
  // fp32 bounds, as for libraries.
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  backend.attend =
      always_done([plan](const PagedAttentionInputs& inputs) { return run(inputs, plan); });
  return backend;
}

// Decode of three sequences of 37, 90 and 61 keys in scattered blocks of 8; the block table has 5
// unused columns between its rows.
LawCase three_sequences() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 8, .head_dim_v = 6};
  spec.options.scale = 0.5F;
  spec.sequences = {{.context_length = 37, .id = 0},
                    {.context_length = 90, .id = 1},
                    {.context_length = 61, .id = 2}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 8;
  spec.placement.order = BlockOrder::kShuffled;
  spec.placement.table_padding = 5;
  spec.seed = 7;
  return {make_problem(spec), spec.placement};
}

void check_named(const Plan& plan, const std::vector<std::string>& named) {
  const LawCase law_case = three_sequences();
  const Explanation explanation = explain(planned(plan), law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, law_case));
  CHECK(explanation.is_wrong() == !named.empty());
  CHECK(explanation.faults.fitting == named);
}

TEST_CASE("the right kernel has no faults, in parts, in splits or whole") {
  check_named({}, {});
  check_named({.part = 16}, {});
  check_named({.part = 16, .is_split = true}, {});
  check_named({.end = 90}, {});
}

TEST_CASE("sums and outputs that are not rescaled are named with the parts' size") {
  const std::string grows = "not rescaled as the running maximum grows, by parts of 16";
  check_named({.part = 16, .rescales_sum = false, .rescales_output = false},
              {"sum and output of the keys before are " + grows});
  check_named({.part = 16, .rescales_output = false},
              {"the output of the keys before is " + grows});
  check_named({.part = 16, .rescales_sum = false}, {"the sum of the keys before is " + grows});
}

TEST_CASE("splits merged without rescaling are named, and distinguished from a running maximum") {
  const std::string merged = "are merged without rescaling to their common maximum, by parts of 24";
  check_named({.part = 24, .is_split = true, .rescales_sum = false, .rescales_output = false},
              {"sums and outputs of parts " + merged});
  check_named({.part = 24, .is_split = true, .rescales_output = false},
              {"outputs of parts " + merged});
  check_named({.part = 24, .is_split = true, .rescales_sum = false}, {"sums of parts " + merged});
}

TEST_CASE("contexts cut off at a power of two or a multiple of the block size are named") {
  for (const std::int64_t end : {1, 2, 32, 48, 64, 72, 88})
    check_named({.end = end},
                {"only the first " + std::to_string(end) + " keys of a context are seen"});
  // Neither a power of two nor a multiple of the block size.
  const Explanation explanation =
      explain(planned({.end = 41}), three_sequences(), BoundKind::kProbabilistic);
  CHECK(explanation.is_wrong());
  CHECK(explanation.faults.fitting.empty());
}

TEST_CASE("a wrong stride of the block table is named with its possible origin") {
  const std::string rows = "rows of the block table are read at a stride of ";
  check_named({.table_stride_offset = -5},
              {rows + "12 (the blocks of the longest context) in place of 17"});
  check_named({.table_stride_offset = -17},
              {rows + "0 (every sequence reads the first one's row) in place of 17"});
}

TEST_CASE("names are listed with commas and a final or, and many are counted") {
  CHECK(either_of({"1"}) == "1");
  CHECK(either_of({"1", "2"}) == "1 or 2");
  CHECK(either_of({"1", "2", "3", "4"}) == "1, 2, 3 or 4");
  CHECK(either_of({"1", "2", "3", "4", "5", "6"}) == "1, 2, 3, 4 or 2 others");
}

}  // namespace
}  // namespace recto::verify
