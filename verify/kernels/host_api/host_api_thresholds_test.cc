// The host API's choices by sizes: below, at and above each threshold the plan follows the rule,
// the plan's kernels run, and the results are right. (By cache layout: host_api_layouts_test.cc.)

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/kernels/limits.h"
#include "verify/kernels/host_api/chosen_plan.h"

namespace recto::verify {
namespace {

using enum AttentionKernel;

PlanOptions card_of(std::int64_t num_multiprocessors, std::int64_t max_context_length) {
  return {.max_context_length = max_context_length, .num_multiprocessors = num_multiprocessors};
}

TEST_CASE("splits have at least 64 keys") {
  const auto chosen = [](std::int64_t context) { return choose(spec_of(context), {}); };
  CHECK(chosen(63) == Chosen{"GQA decode, 1 splits of 64", "gqa_decode 1x1x1"});
  CHECK(chosen(64) == Chosen{"GQA decode, 1 splits of 64", "gqa_decode 1x1x1"});
  CHECK(chosen(65) == Chosen{"GQA decode, 2 splits of 64", "gqa_decode 1x1x2, split_merge 1x2x1"});
  CHECK(chosen(128) == Chosen{"GQA decode, 2 splits of 64", "gqa_decode 1x1x2, split_merge 1x2x1"});
  CHECK(chosen(129) == Chosen{"GQA decode, 3 splits of 64", "gqa_decode 1x1x3, split_merge 1x2x1"});
}

TEST_CASE("the reference kernel takes one launch for one split, and two for several") {
  PlanOptions options;
  options.kernel = kReferenceDecode;
  const auto chosen = [&](std::int64_t context) { return choose(spec_of(context), options); };
  CHECK(chosen(255) == Chosen{"reference decode, 1 splits of 256", "reference_decode 1x2x1"});
  CHECK(chosen(256) == Chosen{"reference decode, 1 splits of 256", "reference_decode 1x2x1"});
  CHECK(chosen(257) ==
        Chosen{"reference decode, 2 splits of 256", "split_decode 1x2x2, split_merge 1x2x1"});
}

// The longest context has 3 splits, whatever the plan was made for.
TEST_CASE("plans keep their splits for contexts that end where a split does, or beside it") {
  PlanOptions options = {.max_context_length = 100};
  options.split_size = 40;
  for (const AttentionKernel kernel : {kReferenceDecode, kGqaDecode, kTmaDecode}) {
    options.kernel = kernel;
    CaseSpec spec = spec_of(0);
    spec.sequences.clear();
    for (const std::int64_t context : {0, 1, 39, 40, 41, 79, 80, 81, 99, 100}) {
      spec.sequences.push_back(
          {.num_rows = 1, .context_length = context, .id = static_cast<std::uint64_t>(context)});
    }
    CHECK(choose(spec, options).plan ==
          fmt::format("{}, 3 splits of 40", attention_kernel_name(kernel)));
  }
}

// Nine thread blocks on three multiprocessors.
TEST_CASE("a context is split until three thread blocks on each multiprocessor fill the card") {
  const auto chosen = [](std::int64_t num_seqs) {
    return choose(spec_of(num_seqs, 40), card_of(3, 2048)).plan;
  };
  CHECK(chosen(1) == "GQA decode, 7 splits of 64");
  CHECK(chosen(2) == "GQA decode, 4 splits of 64");
  CHECK(chosen(3) == "GQA decode, 3 splits of 64");
  CHECK(chosen(5) == "GQA decode, 1 splits of 64");
  CHECK(chosen(9) == "GQA decode, 1 splits of 64");
  // Without splits the second wave would be of one thread block.
  CHECK(chosen(10) == "GQA decode, 2 splits of 64");
}

TEST_CASE("a thread block has sixteen heads of a group, or one head in the reference kernel") {
  const auto chosen = [](std::int64_t group, std::optional<AttentionKernel> kernel) {
    CaseSpec spec = spec_of(40);
    spec.shape.num_q_heads = group;
    PlanOptions options = card_of(1, 2048);
    options.kernel = kernel;
    return choose(spec, options);
  };
  const std::string three = "GQA decode, 3 splits of 64";
  const std::string one = "GQA decode, 1 splits of 64";
  CHECK(chosen(15, {}) == Chosen{three, "gqa_decode 1x1x3, split_merge 1x15x1"});
  CHECK(chosen(16, {}) == Chosen{three, "gqa_decode 1x1x3, split_merge 1x16x1"});
  CHECK(chosen(17, {}) == Chosen{one, "gqa_decode 1x2x1"});
  CHECK(chosen(32, {}) == Chosen{one, "gqa_decode 1x2x1"});
  CHECK(chosen(33, {}) == Chosen{one, "gqa_decode 1x3x1"});
  CHECK(chosen(1, kReferenceDecode) ==
        Chosen{"reference decode, 2 splits of 256", "split_decode 1x1x2, split_merge 1x1x1"});
  CHECK(chosen(2, kReferenceDecode) ==
        Chosen{"reference decode, 1 splits of 256", "reference_decode 1x2x1"});
  CHECK(chosen(3, kReferenceDecode) ==
        Chosen{"reference decode, 2 splits of 256", "split_decode 1x3x2, split_merge 1x3x1"});
}

TEST_CASE("batch-invariant splits have 1024 keys, whatever the batch and the card") {
  const std::pair<std::int64_t, std::int64_t> splits_of[] = {{1, 1},    {1023, 1}, {1024, 1},
                                                             {1025, 2}, {2048, 2}, {2049, 3}};
  for (const std::int64_t num_seqs : {1, 9}) {
    for (const std::int64_t multiprocessors : {1, 132}) {
      for (const auto& [max_context, splits] : splits_of) {
        PlanOptions options = card_of(multiprocessors, max_context);
        options.batch_invariance = BatchInvariance::kRows;
        const CaseSpec spec = spec_of(num_seqs, num_seqs == 1 ? max_context : 1);
        CHECK(choose(spec, options).plan == fmt::format("GQA decode, {} splits of 1024", splits));
      }
    }
  }
}

TEST_CASE("one row per sequence uses decode, anything else prefill") {
  const auto chosen = [](const std::vector<std::int64_t>& rows, std::int64_t max_query_length,
                         std::int64_t block_size = 8) {
    CaseSpec spec = spec_of(std::ssize(rows), 40);
    spec.placement.block_size = block_size;
    for (std::size_t s = 0; s < rows.size(); ++s) spec.sequences[s].num_rows = rows[s];
    PlanOptions options;
    options.max_query_length = max_query_length;
    return choose(spec, options);
  };
  const std::string decode = "GQA decode, 1 splits of 64";
  CHECK(chosen({1, 1}, 1) == Chosen{decode, "gqa_decode 2x1x1"});
  CHECK(chosen({1, 0}, 1) == Chosen{"prefill", "paged_prefill 1x1x2"});
  CHECK(chosen({1, 2}, 1) == Chosen{"prefill", "paged_prefill 1x1x2"});
  CHECK(chosen({2, 0}, 1) == Chosen{"prefill", "paged_prefill 1x1x2"});
  CHECK(chosen({1, 1}, 2) == Chosen{"prefill", "paged_prefill 1x1x2"});
  // Two heads with 32 queries each fill a thread block's 64 rows.
  CHECK(chosen({1, 31}, 1) == Chosen{"prefill", "paged_prefill 1x1x2"});
  CHECK(chosen({1, 32}, 1) == Chosen{"prefill", "paged_prefill 1x1x2"});
  CHECK(chosen({1, 33}, 1) == Chosen{"prefill", "paged_prefill 2x1x2"});
  // In blocks of 16, they are half of a thread block's 128 rows.
  CHECK(chosen({1, 33}, 1, 16) == Chosen{"prefill", "paged_prefill_wide 1x1x2"});
}

constexpr std::int64_t kIntMax = 2147483647;

// Whether a plan exists for this many sequences; uses only shapes.
bool is_planned(const PlanOptions& options, std::int64_t num_seqs = 1,
                std::int64_t num_q_heads = 2) {
  const CaseSpec spec = spec_of(1);
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(num_seqs) + 1);
  PagedAttentionInputs inputs = placed.inputs();
  inputs.q.num_rows = num_seqs;
  inputs.q.num_heads = num_q_heads;
  inputs.block_table = {
      .data = zeros.data(), .num_seqs = num_seqs, .max_blocks = 1, .row_stride = 1};
  inputs.query_start = zeros;
  inputs.context_length = std::span(zeros).first(static_cast<std::size_t>(num_seqs));
  return plan_attention(inputs, options).is_ok();
}

TEST_CASE("sizes beyond a grid or an int are refused, and one less is planned") {
  for (const std::int64_t beyond : {0, 1}) {
    INFO(beyond << " beyond the limit");
    const bool is_within = beyond == 0;
    CHECK(is_planned({.max_context_length = kernels::kContextLengthMax + beyond}) == is_within);
    CHECK(is_planned({.max_context_length = 1, .num_multiprocessors = kIntMax + beyond}) ==
          is_within);
    PlanOptions splits = {.max_context_length = 65535 * 3 + beyond};
    splits.split_size = 3;
    CHECK(is_planned(splits) == is_within);
    splits = {.max_context_length = kernels::kContextLengthMax};
    splits.split_size = kIntMax + beyond;
    CHECK(is_planned(splits) == is_within);
    // Two heads that share keys, in thread blocks of 64 rows.
    CHECK(is_planned({.max_context_length = 1, .max_query_length = (1 << 30) - 32 + beyond}) ==
          is_within);
    CHECK(is_planned({.max_context_length = 1, .max_query_length = 2}, 65535 + beyond) ==
          is_within);
    CHECK(is_planned({.max_context_length = 1, .max_query_length = 1}, 65535 + beyond));
    CHECK(is_planned({.max_context_length = 1}, 1, 65535 + beyond) == is_within);
    CHECK(is_planned({.max_context_length = 1, .max_query_length = 2}, 1, 65535 + beyond));
  }
}

}  // namespace
}  // namespace recto::verify
