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

// fp16 rows and a cache of fp8 in one of the layouts, scaled by head.
struct CheckedPools {
  explicit CheckedPools(KvLayout layout, std::int64_t padding)
      : shape{.layout = layout,
              .type = ElementType::kE4m3,
              .num_blocks = 4,
              .block_size = 20,
              .num_kv_heads = 3,
              .head_dim = 12,
              .pack_width = 4,
              .padding = padding},
        rows{.type = ElementType::kFp16,
             .num_rows = 40,
             .num_heads = 3,
             .head_dim = 12,
             .padding = padding} {}

  MutablePagedKvView view() {
    MutablePagedKvView view = {.k = k.view(), .v = v.view()};
    view.k.scale = view.v.scale = {.kind = ScaleKind::kPerKvHead, .data = scales.data()};
    return view;
  }

  reference::TestPoolShape shape;
  reference::RowPoolShape rows;
  std::vector<float> scales = {0.5F, 3.0F, 0.37F};
  reference::KvPool k{shape, 1};
  reference::KvPool v{shape, 2};
  reference::RowPool new_k{rows, 3};
  reference::RowPool new_v{rows, 4};
};

// What a call has left elsewhere than in its pools.
using Memory = std::vector<std::vector<std::byte>>;

Memory write_checked(const KernelRun& how, CheckedPools& pools) {
  std::vector<std::int64_t> slots(40, 7);
  for (std::int64_t token = 0; token < 30; ++token) {
    slots[static_cast<std::size_t>(token)] = token % 9 == 0 ? -1 : 2 * token;
  }
  write_kv_by_kernel(how, {.k = pools.new_k.const_view(),
                           .v = pools.new_v.const_view(),
                           .slot_mapping = slots,
                           .kv = pools.view()});
  return {};
}

Memory append_checked(const KernelRun& how, CheckedPools& pools) {
  const std::vector<std::int32_t> table = {3, 1 << 30, 0, 2, 1, -1, -1, -1};
  const std::vector<std::int32_t> cached_length = {5, 39, 20, -1};
  std::vector<std::int32_t> context_length(4);
  reference::RowPool angles({.num_rows = 40, .head_dim = 5, .padding = 1}, 9);
  reference::RowPoolShape four = pools.rows;
  four.num_rows = 4;
  reference::RowPool new_k(four, 5);
  reference::RowPool new_v(four, 6);
  reference::RowPool q(four, 7);
  reference::RowPool rotated_q(four, 8);
  append_kv_by_kernel(
      how, {.k = new_k.const_view(),
            .v = new_v.const_view(),
            .block_table = {table.data(), 4, 2, 2},
            .cached_length = cached_length.data(),
            .kv = pools.view(),
            .rotary = {.dim = 10, .cosines = angles.const_view(), .sines = angles.const_view()},
            .q = q.const_view(),
            .rotated_q = rotated_q.view(),
            .context_length = context_length.data()});
  CHECK(context_length == std::vector<std::int32_t>{6, 40, 20, 0});
  return {rotated_q.bytes()};
}

Memory copy_checked(const KernelRun& how, CheckedPools& pools) {
  copy_blocks_by_kernel(how, pools.view(), std::vector<BlockPair>{{0, 2}, {0, 1}});
  return {};
}

Memory swap_checked(const KernelRun& how, CheckedPools& pools) {
  CheckedPools other(KvLayout::kHeadMajor, 1);
  swap_blocks_by_kernel(how, as_const(pools.view()), other.view(),
                        std::vector<BlockPair>{{0, 2}, {0, 1}, {3, 3}});
  return {other.k.bytes(), other.v.bytes()};
}

Memory gather_checked(const KernelRun& how, CheckedPools& pools) {
  const std::vector<std::int32_t> table = {3, 1 << 30, 0, 2};
  const std::vector<std::int32_t> lengths = {5, 35};
  const std::vector<std::int64_t> starts = {0, 5};
  reference::RowPoolShape codes = pools.rows;
  codes.type = pools.shape.type;
  reference::RowPool rows_k(codes, 5);
  reference::RowPool rows_v(codes, 6);
  gather_kv_by_kernel(how, {.kv = as_const(pools.view()),
                            .block_table = {table.data(), 2, 2, 2},
                            .context_length = lengths,
                            .context_start = starts,
                            .k = rows_k.view(),
                            .v = rows_v.view()});
  return {rows_k.bytes(), rows_v.bytes()};
}

TEST_CASE("moving K and V touches what is its own, in order, and preemption changes no bit") {
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      for (const std::int64_t padding : {0, 3}) {
        INFO(simt::schedule_policy_name(policy) << ", " << layout << ", gaps of " << padding);
        std::uint64_t accesses = 0;
        const KernelRun how =
            checked_run({.policy = policy, .seed = 3, .preemption_period = 50}, accesses);
        CheckedPools pools(layout, padding);
        CheckedPools undisturbed(layout, padding);
        for (const auto call :
             {write_checked, append_checked, copy_checked, swap_checked, gather_checked}) {
          CHECK(call(how, pools) == call({}, undisturbed));
          CHECK(pools.k.bytes() == undisturbed.k.bytes());
          CHECK(pools.v.bytes() == undisturbed.v.bytes());
          CHECK(accesses > 0);
          accesses = 0;
        }
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
