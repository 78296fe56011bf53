// Batch-invariant plans: a row has the same bits as when computed alone, whatever the batch, the
// longest context and the card.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/host_api/host_api_backends.h"

namespace recto::verify {
namespace {

std::vector<std::uint64_t> bits_of_rows(const reference::AttentionResult& result,
                                        std::int64_t first_row, std::int64_t num_rows) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t row = first_row; row < first_row + num_rows; ++row) {
    for (std::int64_t head = 0; head < result.num_heads; ++head) {
      bits.push_back(std::bit_cast<std::uint64_t>(result.lse_ln_at(row, head)));
      for (std::int64_t dim = 0; dim < result.head_dim; ++dim) {
        bits.push_back(std::bit_cast<std::uint64_t>(result.out_at(row, head, dim)));
      }
    }
  }
  return bits;
}

std::int64_t most_rows(const AttentionProblem& problem) {
  std::int64_t most = 1;
  for (const auto& sequence : problem.sequences) most = std::max(most, sequence.num_rows);
  return most;
}

// How many sequences were compared with their results alone.
int expect_rows_as_alone(const DescribedCase& drawn, const PlanOptions& in_batch) {
  const AttentionProblem& problem = drawn.law_case.problem;
  const PlacedProblem placed(problem, drawn.law_case.placement);
  const Backend backend = host_api_backend({}, in_batch);
  if (backend.why_unsupported(placed.inputs())) return 0;
  const reference::AttentionResult whole = result_of(backend.call(placed.inputs()));
  // A plan for the longest context, and for another card.
  PlanOptions options = in_batch;
  options.max_context_length = 5000;
  options.max_query_length = most_rows(problem);
  options.num_multiprocessors = 7;
  std::int64_t first_row = 0;
  int sequences = 0;
  for (const auto& sequence : problem.sequences) {
    AttentionProblem alone = problem;
    alone.sequences = {sequence};
    const PlacedProblem placed_alone(alone, drawn.law_case.placement);
    const reference::AttentionResult result =
        result_of(host_api_backend({}, options).call(placed_alone.inputs()));
    CHECK(bits_of_rows(whole, first_row, sequence.num_rows) ==
          bits_of_rows(result, 0, sequence.num_rows));
    first_row += sequence.num_rows;
    ++sequences;
  }
  return sequences;
}

DrawnCases cases_of(const char* name, std::vector<RowsKind> rows) {
  DrawnCases cases = {.name = name, .count = 40};
  cases.domain.head_dims = {64, 128, 40};
  cases.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  cases.domain.rows = std::move(rows);
  cases.domain.num_rows_max = 5;
  cases.domain.num_seqs_max = 4;
  cases.domain.num_kv_heads_max = 2;
  cases.domain.context_max = 90;
  return cases;
}

void expect_invariance(const DrawnCases& cases, const PlanOptions& options) {
  int sequences = 0;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    INFO(drawn.description);
    sequences += expect_rows_as_alone(drawn, options);
  }
  CHECK(sequences >= 40);
}

TEST_CASE("a batch-invariant row has the bits that it has alone") {
  PlanOptions options;
  options.batch_invariance = BatchInvariance::kRows;
  expect_invariance(cases_of("decode", {RowsKind::kDecode}), options);
  expect_invariance(cases_of("prefill", {RowsKind::kChunk}), options);
  expect_invariance(cases_of("mixed", {RowsKind::kMixed}), options);
}

// Sequence number `own` has one row, at a context of 200.
CaseSpec spec_of_rows(const std::vector<std::int64_t>& rows, std::size_t own) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2,
                .num_kv_heads = 1,
                .head_dim_k = 64,
                .head_dim_v = 64,
                .q_type = ElementType::kFp16,
                .kv_type = ElementType::kFp16};
  spec.options.scale = 0.25F;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.layout = KvLayout::kHeadMajor, .block_size = 16};
  spec.sequences.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    spec.sequences.push_back(
        {.num_rows = rows[i], .context_length = i == own ? 200 : 30, .id = i == own ? 0 : i + 1});
  }
  return spec;
}

struct OwnRow {
  std::vector<std::uint64_t> bits;
  std::string refusal;
};

OwnRow run_of_rows(const std::vector<std::int64_t>& rows, std::size_t own,
                   const PlanOptions& options) {
  const CaseSpec spec = spec_of_rows(rows, own);
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const Backend backend = host_api_backend({}, options);
  if (const auto why = backend.why_unsupported(placed.inputs())) return {{}, *why};
  const std::int64_t before =
      std::accumulate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(own), 0);
  return {bits_of_rows(result_of(backend.call(placed.inputs())), before, 1), ""};
}

TEST_CASE("a batch-invariant row has the same bits beside sequences of no, one or several rows") {
  PlanOptions options = {.max_context_length = 4096};
  options.batch_invariance = BatchInvariance::kRows;
  const OwnRow decoded = run_of_rows({1}, 0, options);
  REQUIRE(!decoded.bits.empty());
  CHECK(run_of_rows({1, 1}, 0, options).bits == decoded.bits);
  CHECK(run_of_rows({1, 1, 1}, 2, options).bits == decoded.bits);
  // A plan for one row per sequence requires exactly one row each.
  const std::string at = "q.num_rows: expected ";
  const std::string of =
      " as in block_table.num_seqs: a decode kernel has one row per sequence; a plan with "
      "max_query_length above 1 serves any number, got 1";
  CHECK(run_of_rows({1, 0}, 0, options).refusal == at + "2" + of);
  CHECK(run_of_rows({0, 1, 0}, 1, options).refusal == at + "3" + of);
  options.max_query_length = 5;
  const OwnRow prefilled = run_of_rows({1}, 0, options);
  REQUIRE(!prefilled.bits.empty());
  CHECK(run_of_rows({1, 0}, 0, options).bits == prefilled.bits);
  CHECK(run_of_rows({0, 1}, 1, options).bits == prefilled.bits);
  CHECK(run_of_rows({1, 5}, 0, options).bits == prefilled.bits);
  CHECK(run_of_rows({5, 0, 1, 1}, 2, options).bits == prefilled.bits);
}

// A split size within the contexts, so that one split and several are merged alike.
TEST_CASE("a batch-invariant row has the bits that it has alone in splits of the plan's size") {
  PlanOptions options;
  options.batch_invariance = BatchInvariance::kRows;
  options.split_size = 40;
  expect_invariance(cases_of("splits", {RowsKind::kDecode}), options);
}

// This call is split if the card has room for more thread blocks, and not otherwise.
TEST_CASE("the number of splits follows the batch and the card without batch invariance") {
  const DrawnCases cases = cases_of("decode", {RowsKind::kDecode});
  int plans = 0;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    PlacedProblem placed(drawn.law_case.problem, drawn.law_case.placement);
    PlanOptions options;
    options.max_context_length = 4096;
    const Result<AttentionPlan> plan = plan_attention(placed.inputs(), options);
    if (!plan.is_ok()) continue;
    ++plans;
    CHECK(plan.value().num_splits > 1);
    options.num_multiprocessors = 1;
    CHECK(plan_attention(placed.inputs(), options).value().num_splits <= 4);
    options.batch_invariance = BatchInvariance::kRows;
    CHECK(plan_attention(placed.inputs(), options).value().split_size == 1024);
  }
  CHECK(plans >= 30);
}

}  // namespace
}  // namespace recto::verify
