// The kernels that move K and V under memory checks: every access is within its buffer and its
// thread block's blocks of the cache, aligned, ordered, and reads only written memory. A cover of
// types, layouts and accesses, each under several schedules. (Attention: kernel_checks_test.cc.)

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/testing/kv_pool.h"
#include "verify/cases/case_spec.h"
#include "verify/kernels/checked_kernel_run.h"
#include "verify/kernels/kernel_cache_ops.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// Types of new rows, and of the cache into which they are written.
using MovedTypes = TypePair;

// Rows and a cache in one of the layouts, with scales per head if it is fp8.
struct CheckedPools {
  CheckedPools(MovedTypes types, KvLayout layout, std::int64_t padding)
      : shape{.layout = layout,
              .type = types.kv,
              .num_blocks = 4,
              .block_size = 20,
              .num_kv_heads = 5,  // more than a thread block has warps
              .head_dim = 12,
              .pack_width = 4,
              .padding = padding},
        rows{.type = types.q, .num_rows = 40, .num_heads = 5, .head_dim = 12, .padding = padding} {}

  MutablePagedKvView view() {
    MutablePagedKvView view = {.k = k.view(), .v = v.view()};
    if (!is_fp8(shape.type)) return view;
    view.k.scale = view.v.scale = {.kind = ScaleKind::kPerKvHead, .data = scales.data()};
    return view;
  }

  reference::TestPoolShape shape;
  reference::RowPoolShape rows;
  std::vector<float> scales = {0.5F, 3.0F, 0.37F, 1.0F, 2.5F};
  reference::KvPool k{shape, 1};
  reference::KvPool v{shape, 2};
  reference::RowPool new_k{rows, 3};
  reference::RowPool new_v{rows, 4};
};

// What a call left outside its pools.
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
  reference::RowPool angles({.type = pools.rows.type, .num_rows = 40, .head_dim = 5, .padding = 1},
                            9);
  reference::RowPoolShape four = pools.rows;
  four.num_rows = 4;
  reference::RowPool new_k(four, 5);
  reference::RowPool new_v(four, 6);
  reference::RowPool q(four, 7);
  reference::RowPool rotated_q(four, 8);
  append_kv_by_kernel(how, {.k = new_k.const_view(),
                            .v = new_v.const_view(),
                            .block_table = {table.data(), 4, 2, 2},
                            .cached_length = cached_length.data(),
                            .kv = pools.view(),
                            .rotary = {.dim = 10,
                                       .pairing = pools.shape.layout == KvLayout::kTokenMajor
                                                      ? kernels::RotaryPairing::kHalves
                                                      : kernels::RotaryPairing::kInterleaved,
                                       .cosines = angles.const_view(),
                                       .sines = angles.const_view()},
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
  CheckedPools other({pools.rows.type, pools.shape.type}, KvLayout::kHeadMajor, 1);
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

struct CheckedCall {
  const char* name;
  Memory (*run)(const KernelRun& how, CheckedPools& pools);
};
constexpr CheckedCall kCheckedCalls[] = {{"kv-write", write_checked},
                                         {"kv-append", append_checked},
                                         {"block-copy", copy_checked},
                                         {"swap", swap_checked},
                                         {"gather", gather_checked}};

// Equal types, and every conversion to codes: from wider numbers, and with scales.
constexpr MovedTypes kMovedTypes[] = {
    {ElementType::kFp32, ElementType::kFp32}, {ElementType::kFp16, ElementType::kFp16},
    {ElementType::kBf16, ElementType::kBf16}, {ElementType::kFp32, ElementType::kBf16},
    {ElementType::kFp16, ElementType::kE4m3}, {ElementType::kBf16, ElementType::kE5m2},
    {ElementType::kFp32, ElementType::kE4m3}};

// Runs the calls one after the other on the same pools; the results must equal those of an
// unchecked run.
void check_calls(const simt::Schedule& schedule, CheckedPools& pools, CheckedPools& undisturbed,
                 const std::string& configuration, RunCover& cover) {
  std::uint64_t accesses = 0;
  const KernelRun how = checked_run(schedule, accesses);
  for (const CheckedCall& call : kCheckedCalls) {
    INFO(call.name);
    // The checked run comes first: a stray write would damage the other.
    const Memory seen = call.run(how, pools);
    // In parentheses, so that a failure does not print thousands of bytes.
    CHECK((seen == call.run({}, undisturbed)));
    CHECK((pools.k.bytes() == undisturbed.k.bytes()));
    CHECK((pools.v.bytes() == undisturbed.v.bytes()));
    CHECK(accesses > 0);
    cover.add(call.name, configuration, accesses);
    accesses = 0;
  }
}

TEST_CASE(
    "kernels that move K and V access only their own memory, without races, under every schedule") {
  RunCover cover;
  for (const MovedTypes types : kMovedTypes) {
    for (const KvLayout layout : kCheckedLayouts) {
      // Gaps of four elements keep rows aligned, others do not.
      for (const std::int64_t padding : {0, 4, 3}) {
        for (const simt::Schedule& schedule : kCheckedSchedules) {
          CheckedPools pools(types, layout, padding);
          CheckedPools undisturbed(types, layout, padding);
          std::ostringstream text;
          text << types.q << "/" << types.kv << " " << layout << " "
               << access_name(pools.k.view(), pools.v.view(), pools.new_k.view()) << " gaps "
               << padding;
          INFO(text.str() << ", " << simt::schedule_policy_name(schedule.policy));
          check_calls(schedule, pools, undisturbed, text.str(), cover);
        }
      }
    }
  }
  cover.print();
  for (const CheckedCall& call : kCheckedCalls) {
    CHECK(cover.complete(call.name, std::size(kCheckedSchedules)) ==
          std::size(kMovedTypes) * kCheckedLayouts.size() * 3);
  }
  for (const std::string access : {"fours", "singles", "packs"}) {
    INFO(access);
    CHECK(cover.configurations_with(access) > std::size(kMovedTypes));
  }
}

// Makes the change after everything is registered, and before the kernel runs.
ObserverMaker checks_after(const std::function<void()>& change) {
  return [change](const simt::DeviceMemory& memory) {
    change();
    return std::make_shared<simt::AccessChecker>(memory, simt::AccessCheckerOptions{});
  };
}

TEST_CASE("an access to a block outside a pair is found, as source and as destination") {
  CheckedPools from({}, KvLayout::kTokenMajor, 0);
  CheckedPools to({}, KvLayout::kHeadMajor, 0);
  std::vector<BlockPair> pairs = {{0, 2}, {3, 1}};
  const auto swapped = [&](const std::vector<BlockPair>& others) {
    pairs = {{0, 2}, {3, 1}};
    const KernelRun how = {.observer = checks_after([&] { pairs = others; })};
    swap_blocks_by_kernel(how, as_const(from.view()), to.view(), pairs);
  };
  CHECK_NOTHROW(swapped({{0, 2}, {3, 1}}));
  CHECK_THROWS_WITH(swapped({{0, 2}, {0, 1}}),
                    ContainsSubstring("logical bounds in kernel 'block_copy'") &&
                        ContainsSubstring("of from.k+0, in piece 0"));
  CHECK_THROWS_WITH(swapped({{0, 2}, {3, 0}}),
                    ContainsSubstring("logical bounds in kernel 'block_copy'") &&
                        ContainsSubstring("writes") && ContainsSubstring("k_cache"));
}

TEST_CASE("no bit that kernels write to the cache depends on where threads are preempted") {
  RunCover cover;
  for (std::uint64_t seed = 0; seed < kPreemptingSeeds; ++seed) {
    for (const MovedTypes types : {kMovedTypes[0], kMovedTypes[4]}) {
      INFO("seed " << seed << " " << types.q << "/" << types.kv);
      const KvLayout layout = kCheckedLayouts[seed % 3];
      CheckedPools pools(types, layout, 3);
      CheckedPools undisturbed(types, layout, 3);
      check_calls(preempting_schedule(seed), pools, undisturbed, "preempted", cover);
    }
  }
  CHECK(cover.complete("kv-write", 2 * kPreemptingSeeds) == 1);
}

}  // namespace
}  // namespace recto::verify
