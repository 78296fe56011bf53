// Negative controls for the laws of batches and repeated calls: each law fails a faulty backend,
// and passes the correct ones on the same case.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;

// Right except for the last bit of the first number.
AttentionResult off_by_a_bit(const PagedAttentionInputs& inputs) {
  AttentionResult result = reference::paged_attention(inputs);
  result.out[0] = std::nextafter(result.out[0], 1e9);
  return result;
}

TEST_CASE("a sequence that is wrong alone is caught") {
  expect_caught_by("a sequence alone", batch_independence_law(), small_case(),
                   wrong_where([](const PagedAttentionInputs& inputs) {
                     return inputs.context_length.size() == 1;
                   }));
}

TEST_CASE("a kernel that takes the first context for the longest is caught") {
  expect_caught_by("the batch backwards", batch_independence_law(), small_case(),
                   wrong_where([](const PagedAttentionInputs& inputs) {
                     return inputs.context_length[0] < inputs.context_length.back();
                   }));
}

TEST_CASE("a sequence without tokens that spoils the others is caught") {
  expect_caught_by("empty sequences between", batch_independence_law(), small_case(),
                   wrong_where([](const PagedAttentionInputs& inputs) {
                     return inputs.context_length[0] == 0;
                   }));
}

TEST_CASE("a bit that depends on the batch is caught if sequences are declared independent") {
  Backend backend = wrong([](const PagedAttentionInputs& inputs) {
    const bool is_alone = inputs.context_length.size() == 1;
    return is_alone ? off_by_a_bit(inputs) : reference::paged_attention(inputs);
  });
  backend.capabilities.has_independent_sequences = false;
  const LawVerdict tolerated =
      batch_independence_law().check(backend, small_case(), BoundKind::kWorstCase);
  CHECK_FALSE(tolerated.failed());
  backend.capabilities.has_independent_sequences = true;
  expect_caught_by("a sequence alone", batch_independence_law(), small_case(), backend);
}

TEST_CASE("a bit that depends on the number of rows is caught unless rows are declared dependent") {
  Backend backend = wrong([](const PagedAttentionInputs& inputs) {
    return inputs.q.num_rows == 1 ? off_by_a_bit(inputs) : reference::paged_attention(inputs);
  });
  expect_caught_by("a sequence alone", batch_independence_law(), small_case(), backend);
  backend.capabilities.has_independent_rows = false;
  CHECK_FALSE(
      batch_independence_law().check(backend, small_case(), BoundKind::kWorstCase).failed());
}

TEST_CASE("a result that changes from run to run is caught") {
  const auto runs = std::make_shared<int>(0);
  expect_caught_by("the same call again, 100 runs", repetition_law(), small_case(),
                   wrong([runs](const PagedAttentionInputs& inputs) {
                     return ++*runs % 90 == 0 ? off_by_a_bit(inputs)
                                              : reference::paged_attention(inputs);
                   }));
}

TEST_CASE("a case too large for a hundred runs has a hundred runs of a part") {
  LawCase large = small_case();
  std::vector<SequenceProblem>& sequences = large.problem.sequences;
  while (sequences.size() < 20) sequences.push_back(sequences[sequences.size() - 2]);
  const auto of_the_whole = std::make_shared<int>(0);
  const auto of_the_piece = std::make_shared<int>(0);
  const Backend backend = wrong([=](const PagedAttentionInputs& inputs) {
    const bool is_piece = inputs.context_length.size() == 1;
    const int run = ++*(is_piece ? of_the_piece : of_the_whole);
    return is_piece && run % 100 == 0 ? off_by_a_bit(inputs) : reference::paged_attention(inputs);
  });
  expect_caught_by("a short part of the case, 100 runs", repetition_law(), large, backend);
  CHECK(*of_the_piece == 200);  // for two trials
  CHECK(*of_the_whole < 100);
}

TEST_CASE("a merge that changes from run to run is caught, though the case is one split") {
  const auto merges = std::make_shared<int>(0);
  expect_caught_by(
      "a short part of the case in two splits, 100 runs", repetition_law(), small_case(),
      splitting([merges](const reference::SoftmaxState& a, const reference::SoftmaxState& b) {
        reference::SoftmaxState merged = reference::merge(a, b);
        // A single split is not merged with anything.
        if (a.sum > 0 && b.sum > 0 && ++*merges % 300 == 0) merged.weighted[0] += 1e-6;
        return merged;
      }));
}

TEST_CASE("a result that depends on the call before it is caught") {
  const auto last = std::make_shared<double>(NAN);
  expect_caught_by("the same call after another", history_law(), small_case(),
                   wrong([last](const PagedAttentionInputs& inputs) {
                     const AttentionResult result = reference::paged_attention(inputs);
                     const double before = std::exchange(*last, result.lse_ln[0]);
                     const bool is_left = !std::isnan(before) && before != result.lse_ln[0];
                     return is_left ? off_by_a_bit(inputs) : result;
                   }));
}

// The plan of a call: its sizes, and the contents found then.
struct Plan {
  std::int64_t num_rows = -1;
  std::int64_t longest = -1;
  std::vector<std::int32_t> lengths = {};
  std::vector<std::int32_t> table = {};
  float scale = 0;
};

Plan plan_of(const PagedAttentionInputs& inputs) {
  const BlockTableView& table = inputs.block_table;
  return {.num_rows = inputs.q.num_rows,
          .longest = *std::ranges::max_element(inputs.context_length),
          .lengths = {inputs.context_length.begin(), inputs.context_length.end()},
          .table = {table.data, table.data + table.num_seqs * table.row_stride},
          .scale = inputs.options.scale};
}

// Right, except that it uses the part `use` of a plan that was made for an earlier call of the same
// sizes. A new plan is made when the sizes change.
Backend with_stale_plan(const std::function<void(PagedAttentionInputs&, const Plan&)>& use) {
  const auto plan = std::make_shared<Plan>();
  return wrong([plan, use](PagedAttentionInputs inputs) {
    const Plan now = plan_of(inputs);
    const bool fits = plan->num_rows == now.num_rows && plan->longest == now.longest &&
                      plan->lengths.size() == now.lengths.size();
    if (!fits) *plan = now;
    use(inputs, *plan);
    return reference::paged_attention(inputs);
  });
}

// A length that is too large reads blocks of the pool behind the sequence's own.
LawCase case_with_plain_table() {
  LawCase law_case = small_case();
  law_case.placement.garbage_beyond_table = false;
  return law_case;
}

TEST_CASE("lengths kept from an earlier call of equal sizes are caught, by either law") {
  const auto keep_lengths = [](PagedAttentionInputs& inputs, const Plan& plan) {
    inputs.context_length = plan.lengths;
  };
  expect_caught_by("the same call after another", history_law(), case_with_plain_table(),
                   with_stale_plan(keep_lengths));
  expect_caught_by("the batch backwards", batch_independence_law(), case_with_plain_table(),
                   with_stale_plan(keep_lengths));
}

TEST_CASE("options and tables kept from an earlier call of equal sizes are caught") {
  expect_caught_by("the same call after another", history_law(), small_case(),
                   with_stale_plan([](PagedAttentionInputs& inputs, const Plan& plan) {
                     inputs.options.scale = plan.scale;
                   }));
  expect_caught_by("the same call after another", history_law(), case_with_plain_table(),
                   with_stale_plan([](PagedAttentionInputs& inputs, const Plan& plan) {
                     const bool is_as_large =
                         std::ssize(plan.table) ==
                         inputs.block_table.num_seqs * inputs.block_table.row_stride;
                     if (is_as_large) inputs.block_table.data = plan.table.data();
                   }));
}

// Right, except that for batches of more than `least` sequences it uses the scale of the first in a
// series of consecutive calls with this number of sequences.
Backend keeping_scale_beyond(std::size_t least) {
  const auto kept = std::make_shared<Plan>();
  return wrong([kept, least](PagedAttentionInputs inputs) {
    if (inputs.context_length.size() <= least) return reference::paged_attention(inputs);
    if (kept->lengths.size() != inputs.context_length.size()) *kept = plan_of(inputs);
    inputs.options.scale = kept->scale;
    return reference::paged_attention(inputs);
  });
}

TEST_CASE("an option that only larger batches keep from an earlier call is caught") {
  expect_caught_by("the same call after another", history_law(), small_case(),
                   keeping_scale_beyond(1));
  LawCase larger = small_case();
  larger.problem.sequences.resize(9, larger.problem.sequences.front());
  expect_caught_by("the same call after another", history_law(), larger, keeping_scale_beyond(8));
}

}  // namespace
}  // namespace recto::verify
