// The kernels' results do not depend on the order in which threads run, bit for bit: four policies
// with sixteen seeds each, on one OS thread and on two. (Scores: group_scores_test.cc; preemption
// at memory accesses: kernel_checks_test.cc and cache_checks_test.cc; clang++, and GQA kernels:
// kernel_cover.)

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "reference/testing/kv_pool.h"
#include "verify/cases/case_spec.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/kernel_cache_ops.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kSeeds = 16;

void for_each_schedule(const std::function<void(const KernelRun&)>& check) {
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      for (const unsigned os_threads : {1U, 2U}) {
        INFO(simt::schedule_policy_name(policy)
             << ", seed " << seed << ", " << os_threads << " OS threads");
        check(
            {.executor = {.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads}});
      }
    }
  }
}

std::vector<std::uint64_t> result_bits(const Backend& backend, const PagedAttentionInputs& inputs) {
  const reference::AttentionResult result = result_of(backend.call(inputs));
  std::vector<std::uint64_t> bits;
  for (const double value : result.out) bits.push_back(std::bit_cast<std::uint64_t>(value));
  for (const double value : result.lse_ln) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// Contexts of several tiles per warp, of one key, and of none.
CaseSpec decode_case(TypePair types, KvLayout layout) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2,
                .num_kv_heads = 1,
                .head_dim_k = layout == KvLayout::kPacked ? 32 : 20,
                .head_dim_v = 36,
                .q_type = types.q,
                .kv_type = types.kv};
  spec.sequences = {{.context_length = 333, .id = 0}, {.context_length = 1, .id = 1}, {.id = 2}};
  spec.options.scale = 0.25F;
  spec.options.alibi = AlibiFamily::kUsual;
  spec.options.sinks = SinkFamily::kNormal;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.layout = layout, .block_size = 16};
  return spec;
}

TEST_CASE("no bit of the decode kernels' results depends on the schedule") {
  for (const CaseSpec& spec :
       {decode_case({ElementType::kFp32, ElementType::kFp32}, KvLayout::kHeadMajor),
        decode_case({ElementType::kBf16, ElementType::kBf16}, KvLayout::kTokenMajor),
        decode_case({ElementType::kFp16, ElementType::kE4m3}, KvLayout::kPacked)}) {
    INFO(spec.text());
    const PlacedProblem placed(make_problem(spec), spec.placement);
    std::vector<std::vector<std::uint64_t>> expected;
    for (const Backend& backend : kernel_backends({})) {
      expected.push_back(result_bits(backend, placed.inputs()));
    }
    for_each_schedule([&](const KernelRun& how) {
      const std::vector<Backend> backends = kernel_backends(how);
      for (std::size_t i = 0; i < backends.size(); ++i) {
        CHECK(result_bits(backends[i], placed.inputs()) == expected[i]);
      }
    });
  }
}

TEST_CASE("the later of two tokens for one slot stays, whatever the schedule") {
  const reference::TestPoolShape shape = {.layout = KvLayout::kHeadMajor,
                                          .num_blocks = 2,
                                          .block_size = 4,
                                          .num_kv_heads = 3,
                                          .head_dim = 12};
  const reference::RowPoolShape row_shape = {.num_rows = 6, .num_heads = 3, .head_dim = 12};
  reference::RowPool new_k(row_shape, 1);
  reference::RowPool new_v(row_shape, 2);
  const std::vector<std::int64_t> slots = {5, 2, 5, -1, 2, 7};
  const auto written = [&](const std::function<void(const KvWriteInputs&)>& write) {
    std::vector<reference::KvPool> pools = {{shape, 3}, {shape, 4}};
    write({.k = new_k.const_view(),
           .v = new_v.const_view(),
           .slot_mapping = slots,
           .kv = {.k = pools[0].view(), .v = pools[1].view()}});
    return std::vector{pools[0].bytes(), pools[1].bytes()};
  };
  const auto expected = written(reference::write_kv);
  for_each_schedule([&](const KernelRun& how) {
    CHECK(written([&how](const KvWriteInputs& inputs) { write_kv_by_kernel(how, inputs); }) ==
          expected);
  });
}

// Appends with rotary embedding, swaps into a pool of another layout, copies there, and gathers.
std::vector<std::vector<std::byte>> moved_about(const KernelRun& how) {
  const reference::TestPoolShape shape = {.layout = KvLayout::kPacked,
                                          .type = ElementType::kE5m2,
                                          .num_blocks = 3,
                                          .block_size = 4,
                                          .num_kv_heads = 3,
                                          .head_dim = 24,
                                          .pack_width = 8};
  reference::TestPoolShape other = shape;
  other.layout = KvLayout::kTokenMajor;
  const reference::RowPoolShape row_shape = {.num_rows = 3, .num_heads = 3, .head_dim = 24};
  reference::RowPool new_k(row_shape, 1);
  reference::RowPool new_v(row_shape, 2);
  reference::RowPool q(row_shape, 3);
  reference::RowPool angles({.num_rows = 8, .head_dim = 10}, 4);
  std::vector<reference::KvPool> pools = {{shape, 5}, {shape, 6}, {other, 7}, {other, 8}};
  const std::vector<std::int32_t> table = {2, 0, 1, -1, -1, -1};
  const std::vector<std::int32_t> cached_length = {6, 3, -1};
  append_kv_by_kernel(
      how, {.k = new_k.const_view(),
            .v = new_v.const_view(),
            .block_table = {table.data(), 3, 2, 2},
            .cached_length = cached_length.data(),
            .kv = {.k = pools[0].view(), .v = pools[1].view()},
            .rotary = {.dim = 20, .cosines = angles.const_view(), .sines = angles.const_view()},
            .q = q.const_view(),
            .rotated_q = q.view()});
  swap_blocks_by_kernel(how, {.k = pools[0].const_view(), .v = pools[1].const_view()},
                        {.k = pools[2].view(), .v = pools[3].view()},
                        std::vector<BlockPair>{{0, 2}, {1, 0}});
  copy_blocks_by_kernel(how, {.k = pools[2].view(), .v = pools[3].view()},
                        std::vector<BlockPair>{{2, 1}});
  const std::vector<std::int32_t> context_length = {7, 4, 0};
  const std::vector<std::int64_t> context_start = {0, 7, 11};
  const reference::RowPoolShape codes = {
      .type = shape.type, .num_rows = 12, .num_heads = 3, .head_dim = 24};
  reference::RowPool rows_k(codes, 9);
  reference::RowPool rows_v(codes, 10);
  gather_kv_by_kernel(how, {.kv = {.k = pools[2].const_view(), .v = pools[3].const_view()},
                            .block_table = {table.data(), 3, 2, 2},
                            .context_length = context_length,
                            .context_start = context_start,
                            .k = rows_k.view(),
                            .v = rows_v.view()});
  std::vector<std::vector<std::byte>> memory = {q.bytes(), rows_k.bytes(), rows_v.bytes()};
  for (const reference::KvPool& pool : pools) memory.push_back(pool.bytes());
  return memory;
}

TEST_CASE("results of append, swap, copy and gather do not depend on the schedule") {
  const auto expected = moved_about({});
  for_each_schedule([&](const KernelRun& how) { CHECK(moved_about(how) == expected); });
}

}  // namespace
}  // namespace recto::verify
