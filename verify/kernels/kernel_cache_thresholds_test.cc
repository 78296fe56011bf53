// Dispatch thresholds of the kernels that move K and V: the width of row accesses, the heads and
// dims per warp, the ends of tables and positions. Below, at and above each threshold they take the
// expected path, and give the reference's results bit for bit.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernels/access_name.h"
#include "verify/kernels/kernel_cache_ops.h"
#include "verify/kernels/launch_recorder.h"
#include "verify/simt/executor/device_memory.h"

namespace recto::verify {
namespace {

using reference::KvPool;
using reference::RowPool;
using reference::TestPoolShape;

// Records the most bytes that a thread writes at once.
class WidestWrite final : public simt::Observer {
 public:
  WidestWrite(const simt::DeviceMemory& memory, std::size_t& widest)
      : memory_(memory), widest_(widest) {}

  void access(std::uintptr_t address, simt::AccessShape shape, std::uintptr_t) override {
    if (shape.kind != simt::AccessKind::kWrite || memory_.find(address) == nullptr) return;
    widest_ = std::max(widest_, shape.bytes);
  }

 private:
  const simt::DeviceMemory& memory_;
  std::size_t& widest_;
};

KernelRun run_noting(std::size_t& widest) {
  return {.executor = {}, .observer = [&widest](const simt::DeviceMemory& memory) {
            return std::make_shared<WidestWrite>(memory, widest);
          }};
}

struct Pools {
  explicit Pools(const TestPoolShape& shape) : k(shape, 1), v(shape, 2) {}

  MutablePagedKvView view() { return {.k = k.view(), .v = v.view()}; }

  KvPool k;
  KvPool v;
};

// In parentheses, so that a failure does not print thousands of bytes.
void expect_same(const Pools& seen, const Pools& expected) {
  CHECK((seen.k.bytes() == expected.k.bytes()));
  CHECK((seen.v.bytes() == expected.v.bytes()));
}

// Copies a block within a pool; returns the widest write.
std::size_t copy(const TestPoolShape& shape) {
  const std::vector<BlockPair> pairs = {{2, 0}, {2, 3}};
  Pools seen(shape);
  Pools expected(shape);
  reference::copy_blocks(expected.view(), pairs);
  std::size_t widest = 0;
  copy_blocks_by_kernel(run_noting(widest), seen.view(), pairs);
  expect_same(seen, expected);
  return widest;
}

TestPoolShape pool_of(KvLayout layout, ElementType type, std::int64_t head_dim) {
  return {.layout = layout,
          .type = type,
          .num_blocks = 4,
          .block_size = 4,
          .num_kv_heads = 3,
          .head_dim = head_dim};
}

std::size_t copy_rows_of(ElementType type, std::int64_t head_dim, std::int64_t padding = 0) {
  TestPoolShape shape = pool_of(KvLayout::kHeadMajor, type, head_dim);
  shape.padding = padding;
  INFO(type << ", head dim " << head_dim << ", gaps of " << padding);
  return copy(shape);
}

TEST_CASE("blocks are copied by 16 bytes, or by the largest code that every row is a multiple of") {
  using enum ElementType;
  // Small elements, since every code fits.
  CHECK(copy_rows_of(kE4m3, 13) == 1);
  CHECK(copy_rows_of(kE4m3, 14) == 2);
  CHECK(copy_rows_of(kE4m3, 12) == 4);
  CHECK(copy_rows_of(kE4m3, 16) == 16);
  CHECK(copy_rows_of(kE4m3, 17) == 1);
  CHECK(copy_rows_of(kFp16, 1) == 2);
  CHECK(copy_rows_of(kFp16, 6) == 4);
  CHECK(copy_rows_of(kFp16, 7) == 2);
  CHECK(copy_rows_of(kFp16, 8) == 16);
  CHECK(copy_rows_of(kFp16, 9) == 2);
  CHECK(copy_rows_of(kFp16, 16, 7) == 2);
  CHECK(copy_rows_of(kFp16, 16, 6) == 4);
  CHECK(copy_rows_of(kFp16, 16, 8) == 16);
  CHECK(copy_rows_of(kFp32, 3) == 4);
  CHECK(copy_rows_of(kFp32, 4) == 16);
  CHECK(copy_rows_of(kFp32, 5) == 4);
}

// Slots of a pack without gaps are copied as one run.
TEST_CASE("adjacent packs are copied as one run, others pack by pack") {
  TestPoolShape shape = pool_of(KvLayout::kPacked, ElementType::kFp16, 24);
  shape.pack_width = 8;
  CHECK(copy(shape) == 16);
  shape.pack_width = 2;  // four slots are 16 bytes
  CHECK(copy(shape) == 16);
  shape.pack_width = 1;
  CHECK(copy(shape) == 4);
  shape.block_size = 3;
  CHECK(copy(shape) == 2);
  shape.pack_width = 8;
  CHECK(copy(shape) == 16);
  shape.padding = 8;  // four elements of a pack at once
  CHECK(copy(shape) == 8);
  shape.padding = 4;
  CHECK(copy(shape) == 8);
  shape.padding = 2;
  CHECK(copy(shape) == 2);
}

TEST_CASE("blocks are swapped from packs into packs of another width, and into rows") {
  const std::vector<BlockPair> pairs = {{2, 0}, {1, 3}};
  TestPoolShape packs = pool_of(KvLayout::kPacked, ElementType::kFp16, 24);
  packs.pack_width = 8;
  TestPoolShape other = packs;
  for (const std::int64_t width : {8, 4, 2, 1}) {
    other.pack_width = width;
    for (const KvLayout layout : {KvLayout::kPacked, KvLayout::kTokenMajor}) {
      other.layout = layout;
      Pools from(packs);
      Pools seen(other);
      Pools expected(other);
      std::size_t widest = 0;
      reference::swap_blocks(as_const(from.view()), expected.view(), pairs);
      swap_blocks_by_kernel(run_noting(widest), as_const(from.view()), seen.view(), pairs);
      expect_same(seen, expected);
      const bool has_fours = layout == KvLayout::kTokenMajor || width >= 4;
      const bool has_runs = layout == KvLayout::kPacked && width == 8;
      CHECK(widest == (has_runs ? 16U : has_fours ? 8U : 2U));
    }
  }
}

struct Sizes {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t padding = 0;
};

std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << sizes.num_heads << " heads of " << sizes.head_dim << ", gaps of " << sizes.padding;
}

// Four warps take one head each; each lane takes four dims, 128 per warp and round.
std::vector<Sizes> sizes_about_warps() {
  std::vector<Sizes> all;
  for (const std::int64_t num_heads : {1, 3, 4, 5, 8, 9}) {
    for (const std::int64_t head_dim : {1, 3, 4, 5, 127, 128, 129, 132}) {
      for (const std::int64_t padding : {0, 4, 1}) all.push_back({num_heads, head_dim, padding});
    }
  }
  return all;
}

TEST_CASE(
    "rows are moved by fours if every row begins and ends at a multiple of four, else dim by dim") {
  for (const Sizes& sizes : sizes_about_warps()) {
    INFO(sizes);
    TestPoolShape shape = pool_of(KvLayout::kTokenMajor, ElementType::kFp16, sizes.head_dim);
    shape.num_kv_heads = sizes.num_heads;
    shape.padding = sizes.padding;
    const reference::RowPoolShape rows = {.type = shape.type,
                                          .num_rows = 5,
                                          .num_heads = sizes.num_heads,
                                          .head_dim = sizes.head_dim,
                                          .padding = sizes.padding};
    RowPool new_k(rows, 3);
    RowPool new_v(rows, 4);
    Pools seen(shape);
    Pools expected(shape);
    // The pool's first slot and its last one; -1; a repeated slot.
    const std::vector<std::int64_t> slots = {15, -1, 0, 6, 6};
    KvWriteInputs inputs = {
        .k = new_k.const_view(), .v = new_v.const_view(), .slot_mapping = slots};
    inputs.kv = expected.view();
    reference::write_kv(inputs);
    inputs.kv = seen.view();
    std::size_t widest = 0;
    write_kv_by_kernel(run_noting(widest), inputs);
    expect_same(seen, expected);
    const bool has_fours = sizes.head_dim % 4 == 0 && sizes.padding % 4 == 0;
    CHECK(access_name(inputs.k, inputs.v, inputs.kv.k, inputs.kv.v) ==
          (has_fours ? "fours" : "singles"));
    CHECK(widest == (has_fours ? 8U : 2U));
  }
}

TEST_CASE("a thread block gathers 32 tokens") {
  const TestPoolShape shape = {.layout = KvLayout::kHeadMajor,
                               .type = ElementType::kBf16,
                               .num_blocks = 8,
                               .block_size = 16,
                               .num_kv_heads = 3,
                               .head_dim = 8};
  Pools pools(shape);
  const std::vector<std::int32_t> table = {7, 2, 1, 5, 6, 0, 4, 3};
  for (const std::int32_t longest : {1, 31, 32, 33, 63, 64}) {
    INFO("longest context " << longest);
    const std::vector<std::int32_t> lengths = {longest, longest - 1};
    const std::vector<std::int64_t> starts = {longest, 0};
    const reference::RowPoolShape rows = {
        .type = shape.type, .num_rows = 2 * longest, .num_heads = 3, .head_dim = 8};
    RowPool k(rows, 3);
    RowPool v(rows, 4);
    RowPool expected_k = k;
    RowPool expected_v = v;
    GatherInputs inputs = {.kv = as_const(pools.view()),
                           .block_table = {table.data(), 2, 4, 4},
                           .context_length = lengths,
                           .context_start = starts,
                           .k = expected_k.view(),
                           .v = expected_v.view()};
    reference::gather_kv(inputs);
    inputs.k = k.view();
    inputs.v = v.view();
    std::vector<RecordedLaunch> launches;
    gather_kv_by_kernel(recorded_run(launches), inputs);
    CHECK((k.bytes() == expected_k.bytes()));
    CHECK((v.bytes() == expected_v.bytes()));
    CHECK(text_of(launches) == fmt::format("gather 2x{}x3", longest <= 32 ? 1 : 2));
  }
}

// Two blocks of four slots each; rotary tables have `positions` positions.
void expect_appended(std::int32_t cached_length, std::int64_t positions, std::int64_t slot) {
  INFO("position " << cached_length << " of " << positions);
  const TestPoolShape shape = pool_of(KvLayout::kHeadMajor, ElementType::kFp16, 8);
  const reference::RowPoolShape rows = {
      .type = shape.type, .num_rows = 1, .num_heads = 3, .head_dim = 8};
  RowPool new_k(rows, 3);
  RowPool new_v(rows, 4);
  Pools seen(shape);
  Pools expected(shape);
  const std::vector<std::int64_t> slots = {slot};
  reference::write_kv({.k = new_k.const_view(),
                       .v = new_v.const_view(),
                       .slot_mapping = slots,
                       .kv = expected.view()});
  // Rotates by an angle of zero.
  const std::vector<float> cosines(static_cast<std::size_t>(positions), 1.0F);
  const std::vector<float> sines(static_cast<std::size_t>(positions), 0.0F);
  const auto table_of = [positions](const std::vector<float>& entries) {
    return RowsView{.data = entries.data(),
                    .num_rows = positions,
                    .num_heads = 1,
                    .head_dim = 1,
                    .row_stride = 1};
  };
  const std::vector<std::int32_t> table = {3, 1, 0};
  std::int32_t context_length = -7;
  append_kv_by_kernel({},
                      {.k = new_k.const_view(),
                       .v = new_v.const_view(),
                       .block_table = {table.data(), 1, 2, 3},
                       .cached_length = &cached_length,
                       .kv = seen.view(),
                       .rotary = {.dim = 2, .cosines = table_of(cosines), .sines = table_of(sines)},
                       .context_length = &context_length});
  expect_same(seen, expected);
  CHECK(context_length == std::max(cached_length, 0) + (slot >= 0 ? 1 : 0));
}

TEST_CASE("a token is appended only within its block table and the rotary tables") {
  expect_appended(-1, 100, -1);
  expect_appended(0, 100, 12);
  expect_appended(3, 100, 15);
  expect_appended(4, 100, 4);
  expect_appended(7, 100, 7);
  expect_appended(8, 100, -1);  // a third block exists, but not in the table
  expect_appended(5, 7, 5);
  expect_appended(6, 7, 6);
  expect_appended(7, 7, -1);
}

}  // namespace
}  // namespace recto::verify
