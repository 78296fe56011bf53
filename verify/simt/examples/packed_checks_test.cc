// The extension under the memory checks: they find nothing, and no bit depends on the schedule, on
// where threads are preempted, or on the number of OS threads.

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/cases/placed_problem.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/examples/packed_decode_backend.h"
#include "verify/simt/examples/packed_decode_cases.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// Adds the accesses that each call's checker has seen to `accesses`, which outlives the calls.
ObserverMaker checker_of(std::uint64_t& accesses) {
  return [&accesses](const simt::DeviceMemory& memory) {
    return std::shared_ptr<simt::AccessChecker>(new simt::AccessChecker(memory, {}),
                                                [&accesses](simt::AccessChecker* checker) {
                                                  accesses += checker->accesses();
                                                  delete checker;
                                                });
  };
}

std::vector<std::uint64_t> result_bits(const simt::ExecutorOptions& options,
                                       const PackedDecodeHow& how,
                                       const PagedAttentionInputs& inputs) {
  simt::Executor executor(options);
  std::vector<std::uint64_t> bits;
  for (const double value : result_of(packed_decode_backend(executor, how).call(inputs)).out) {
    bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return bits;
}

// Runs the case under many schedules, with checks and without.
void check_case(const PackedDecodeHow& how, const PagedAttentionInputs& inputs) {
  const std::vector<std::uint64_t> expected = result_bits({}, how, inputs);
  std::uint64_t accesses = 0;
  PackedDecodeHow checked = how;
  checked.observer = checker_of(accesses);
  std::uint64_t seed = 0;
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const std::uint32_t period : {0, 200}) {
      simt::Schedule schedule = {.policy = policy, .seed = ++seed, .preemption_period = period};
      INFO(simt::schedule_policy_name(policy) << ", seed " << seed << ", one in " << period);
      CHECK(result_bits({.schedule = schedule}, checked, inputs) == expected);
      CHECK(accesses > 0);
      accesses = 0;
      schedule.preemption_period = 0;  // no observer that could preempt
      CHECK(result_bits({.schedule = schedule, .os_threads = 2}, how, inputs) == expected);
    }
  }
}

TEST_CASE("an extension touches what is its own, in order, and its bits depend on no schedule") {
  for (const TypePair& types : {kFloat, kHalf}) {
    for (const std::int64_t partition_size : {0, 64}) {
      for (std::uint64_t number = 0; number < 2; ++number) {
        INFO("partitions of " << partition_size << ", case " << number);
        RandomStream stream = RandomStream(2026).split("packed-checks").split(number);
        const CaseSpec spec = draw_case(stream, packed_domain(types));
        const PlacedProblem placed(make_problem(spec), spec.placement);
        check_case({.partition_size = partition_size}, placed.inputs());
      }
    }
  }
}

TEST_CASE("a block of another sequence is seen, in one pass and in partitions") {
  for (const std::int64_t partition_size : {0, 64}) {
    CaseSpec spec;
    spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 64, .head_dim_v = 64};
    spec.sequences = {{.context_length = 100, .id = 0}, {.context_length = 90, .id = 1}};
    spec.options.scale = 0.125F;
    spec.placement = {.layout = KvLayout::kPacked, .block_size = 16};
    const PlacedProblem placed(make_problem(spec), spec.placement);
    PagedAttentionInputs inputs = placed.inputs();
    const BlockTableView& own = inputs.block_table;
    std::vector<std::int32_t> table(own.data, own.data + own.num_seqs * own.row_stride);
    inputs.block_table.data = table.data();
    // After registration, the second sequence's fifth block becomes one of the first sequence's.
    for (const bool is_planted : {false, true}) {
      const ObserverMaker checks = [&](const simt::DeviceMemory& memory) {
        if (is_planted) table[static_cast<std::size_t>(own.row_stride) + 4] = table[4];
        return std::make_shared<simt::AccessChecker>(memory, simt::AccessCheckerOptions{});
      };
      simt::Executor executor({});
      const auto run = [&] {
        result_of(
            packed_decode_backend(executor, {.partition_size = partition_size, .observer = checks})
                .call(inputs));
      };
      INFO("partitions of " << partition_size << ", planted " << is_planted);
      if (is_planted) {
        CHECK_THROWS_WITH(run(), ContainsSubstring("logical bounds in kernel") &&
                                     ContainsSubstring("outside the pieces of owner 1"));
      } else {
        CHECK_NOTHROW(run());
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
