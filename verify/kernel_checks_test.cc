// The kernels under the checks of memory: every access is within its buffer and its sequence's
// blocks, aligned, ordered, and of something that was written; whatever is found breaks a contract.

#include <bit>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/testing/kv_pool.h"
#include "verify/comparison.h"
#include "verify/generators/case_generator.h"
#include "verify/kernel_backends.h"
#include "verify/kernel_cache_ops.h"
#include "verify/oracle_comparison.h"
#include "verify/placed_problem.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::verify {
namespace {

// Adds what each call's checker has seen to `accesses`, which outlives the calls.
KernelRun checked_run(const simt::Schedule& schedule, std::uint64_t& accesses) {
  return {.executor = {.schedule = schedule},
          .observer = [&accesses](const simt::DeviceMemory& memory) {
            return std::shared_ptr<simt::AccessChecker>(new simt::AccessChecker(memory, {}),
                                                        [&accesses](simt::AccessChecker* checker) {
                                                          accesses += checker->accesses();
                                                          delete checker;
                                                        });
          }};
}

CaseDomain decode_domain() {
  CaseDomain domain;
  domain.types = {{ElementType::kFp32, ElementType::kFp32},
                  {ElementType::kFp16, ElementType::kFp16},
                  {ElementType::kBf16, ElementType::kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {3, 8, 20, 64};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.groups = {1, 2};
  domain.context_max = 200;
  return domain;
}

TEST_CASE("decode touches what is its own, in order") {
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    std::uint64_t accesses = 0;
    const std::vector<Backend> backends = kernel_backends(
        checked_run({.policy = policy, .seed = 3, .preemption_period = 50}, accesses));
    for (std::uint64_t number = 0; number < 6; ++number) {
      INFO("case " << number << ", " << simt::schedule_policy_name(policy));
      RandomStream stream = RandomStream(2026).split("checks").split(number);
      const CaseSpec spec = draw_case(stream, decode_domain());
      for (const Backend& backend : backends) {
        const LawVerdict verdict = oracle_comparison().check(
            backend, {make_problem(spec), spec.placement}, BoundKind::kSharp);
        INFO(backend.name << "\n" << verdict.comparison.text());
        CHECK_FALSE(verdict.skipped);
        CHECK(accesses > 0);
        accesses = 0;
        CHECK(verdict.comparison.passed());
      }
    }
  }
}

std::vector<std::vector<std::uint64_t>> result_bits(const KernelRun& how,
                                                    const PagedAttentionInputs& inputs) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const Backend& backend : kernel_backends(how)) {
    const reference::AttentionResult result = backend.run(inputs);
    std::vector<std::uint64_t>& bits = all.emplace_back();
    for (const double value : result.out) bits.push_back(std::bit_cast<std::uint64_t>(value));
    for (const double value : result.lse_ln) bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return all;
}

TEST_CASE("no bit of what decode computes depends on where threads are preempted") {
  for (std::uint64_t number = 0; number < 3; ++number) {
    RandomStream stream = RandomStream(2026).split("preemption").split(number);
    const CaseSpec spec = draw_case(stream, decode_domain());
    INFO(spec.text());
    const PlacedProblem placed(make_problem(spec), spec.placement);
    const auto expected = result_bits({}, placed.inputs());
    for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const std::uint32_t period = seed % 2 == 0 ? 7 : 50;
        INFO(simt::schedule_policy_name(policy) << ", seed " << seed << ", one in " << period);
        std::uint64_t accesses = 0;
        const KernelRun how =
            checked_run({.policy = policy, .seed = seed, .preemption_period = period}, accesses);
        CHECK(result_bits(how, placed.inputs()) == expected);
        CHECK(accesses > 0);
      }
    }
  }
}

TEST_CASE("writing, copying and gathering touch what is their own, in order") {
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const std::int64_t padding : {0, 3}) {
      INFO(simt::schedule_policy_name(policy) << ", gaps of " << padding);
      std::uint64_t accesses = 0;
      const KernelRun how =
          checked_run({.policy = policy, .seed = 3, .preemption_period = 50}, accesses);
      const reference::TestPoolShape shape = {.layout = KvLayout::kHeadMajor,
                                              .type = ElementType::kBf16,
                                              .num_blocks = 4,
                                              .block_size = 20,
                                              .num_kv_heads = 3,
                                              .head_dim = 12,
                                              .padding = padding};
      const reference::RowPoolShape rows = {.type = ElementType::kBf16,
                                            .num_rows = 40,
                                            .num_heads = 3,
                                            .head_dim = 12,
                                            .padding = padding};
      reference::KvPool k(shape, 1);
      reference::KvPool v(shape, 2);
      reference::RowPool rows_k(rows, 3);
      reference::RowPool rows_v(rows, 4);
      const MutablePagedKvView kv = {.k = k.view(), .v = v.view()};
      std::vector<std::int64_t> slots(40, 7);
      for (std::int64_t token = 0; token < 30; ++token) {
        slots[static_cast<std::size_t>(token)] = token % 9 == 0 ? -1 : 2 * token;
      }
      write_kv_by_kernel(
          how,
          {.k = rows_k.const_view(), .v = rows_v.const_view(), .slot_mapping = slots, .kv = kv});
      CHECK(accesses > 0);
      accesses = 0;
      const std::vector<BlockPair> pairs = {{0, 2}, {0, 1}};
      copy_blocks_by_kernel(how, kv, pairs);
      CHECK(accesses > 0);
      accesses = 0;
      const std::vector<std::int32_t> table = {3, 1 << 30, 0, 2};
      const std::vector<std::int32_t> lengths = {5, 35};
      const std::vector<std::int64_t> starts = {0, 5};
      gather_kv_by_kernel(how, {.kv = as_const(kv),
                                .block_table = {table.data(), 2, 2, 2},
                                .context_length = lengths,
                                .context_start = starts,
                                .k = rows_k.view(),
                                .v = rows_v.view()});
      CHECK(accesses > 0);
    }
  }
}

}  // namespace
}  // namespace recto::verify
