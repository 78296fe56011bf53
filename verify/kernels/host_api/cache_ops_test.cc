// The calls that move K and V give the reference's results; each wrong call is refused with its own
// message, and nothing is written.

#include "cuda/cache_ops.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "reference/testing/kv_pool.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

using kernels::RepeatedSlots;
using reference::KvPool;
using reference::RowPool;
using reference::TestPoolShape;

TestPoolShape pool_shape(KvLayout layout, std::int64_t num_blocks) {
  return {.layout = layout,
          .type = ElementType::kFp16,
          .num_blocks = num_blocks,
          .block_size = 4,
          .num_kv_heads = 2,
          .head_dim = 16,
          .pack_width = 8};
}

struct Pools {
  Pools(KvLayout layout, std::int64_t num_blocks, std::uint64_t seed)
      : k(pool_shape(layout, num_blocks), seed), v(values_of(k.shape()), seed + 1) {}

  static TestPoolShape values_of(TestPoolShape shape) {
    shape.pack_width = 1;
    return shape;
  }
  MutablePagedKvView view() { return {.k = k.view(), .v = v.view()}; }
  bool operator==(const Pools& other) const {
    return k.bytes() == other.k.bytes() && v.bytes() == other.v.bytes();
  }

  KvPool k;
  KvPool v;
};

struct alignas(16) Sixteen {
  std::byte at[16];
};

// A write of five tokens, two copies within a cache of six blocks, and two from it to a cache of
// four. The views point into this object.
struct OpCall {
  explicit OpCall(KvLayout layout = KvLayout::kHeadMajor)
      : cache(layout, 6, 1), other(layout, 4, 3) {
    write = {.k = k.const_view(), .v = v.const_view(), .slot_mapping = slots, .kv = cache.view()};
    from = as_const(cache.view());
    to = other.view();
    options = {.contents_check = ContentsCheck::kOnDevice,
               .workspace = {.data = memory.data(), .bytes = 3 * sizeof(Sixteen)}};
  }
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

  Pools cache;
  Pools other;
  RowPool k{{.type = ElementType::kFp16, .num_rows = 5, .num_heads = 2, .head_dim = 16}, 5};
  RowPool v{{.type = ElementType::kFp16, .num_rows = 5, .num_heads = 2, .head_dim = 16}, 6};
  std::vector<std::int64_t> slots = {7, -1, 0, 23, 12};
  std::vector<BlockPair> copies = {{5, 0}, {5, 3}};
  std::vector<BlockPair> swaps = {{5, 0}, {0, 3}};
  RepeatedSlots repeated = RepeatedSlots::kNone;
  KvWriteInputs write;
  PagedKvView from;
  MutablePagedKvView to;
  CacheOpOptions options;
  std::vector<Sixteen> memory = std::vector<Sixteen>(3);  // on the heap, for access by a GPU
};

using Op = Status (*)(OpCall& call, simt::Stream& stream);

Status write_op(OpCall& call, simt::Stream& stream) {
  return run_kv_write(call.write, call.repeated, call.options, &stream);
}
Status copy_op(OpCall& call, simt::Stream& stream) {
  return run_block_copy(call.write.kv, call.copies, call.options, &stream);
}
Status swap_op(OpCall& call, simt::Stream& stream) {
  return run_block_swap(call.from, call.to, call.swaps, call.options, &stream);
}

void run_by_reference(Op op, OpCall& call) {
  if (op == write_op) reference::write_kv(call.write);
  if (op == copy_op) reference::copy_blocks(call.write.kv, call.copies);
  if (op == swap_op) reference::swap_blocks(call.from, call.to, call.swaps);
}

TEST_CASE("valid calls leave the cache as the reference does") {
  simt::Executor executor({});
  for (const Op op : {write_op, copy_op, swap_op}) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      for (const ContentsCheck check : {ContentsCheck::kNone, ContentsCheck::kOnDevice}) {
        OpCall expected(layout);
        run_by_reference(op, expected);
        OpCall call(layout);
        call.options.contents_check = check;
        if (check == ContentsCheck::kNone) call.options.workspace = {};
        simt::Stream stream(executor);
        CHECK(op(call, stream) == Status::ok());
        CHECK(stream.synchronise().passed());
        CHECK((call.cache == expected.cache));
        CHECK((call.other == expected.other));
        CHECK_FALSE((call.cache == OpCall(layout).cache && call.other == OpCall(layout).other));
      }
    }
  }
}

TEST_CASE("calls without tokens or pairs change nothing") {
  simt::Executor executor({});
  for (const Op op : {write_op, copy_op, swap_op}) {
    OpCall call;
    call.copies = call.swaps = {};
    call.write.k.num_rows = call.write.v.num_rows = 0;
    call.write.slot_mapping = {};
    simt::Stream stream(executor);
    CHECK(op(call, stream) == Status::ok());
    CHECK((call.cache == OpCall().cache));
  }
}

TEST_CASE("the last of repeated slots stays if repeats are allowed") {
  simt::Executor executor({});
  OpCall call;
  call.slots[4] = 7;
  call.repeated = RepeatedSlots::kLaterStays;
  OpCall expected;
  expected.slots[4] = 7;
  run_by_reference(write_op, expected);
  simt::Stream stream(executor);
  CHECK(write_op(call, stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  CHECK((call.cache == expected.cache));
}

struct Fault {
  Op op;
  std::function<void(OpCall&)> plant;
  std::string message;
};

void expect_refused(const std::vector<Fault>& faults) {
  simt::Executor executor({});
  for (const Fault& fault : faults) {
    INFO(fault.message);
    OpCall call;
    fault.plant(call);
    simt::Stream stream(executor);
    const Status status = fault.op(call, stream);
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK(status.message() == fault.message);
    CHECK(stream.synchronise().passed());
    CHECK((call.cache == OpCall().cache));
    CHECK((call.other == OpCall().other));
  }
}

TEST_CASE("the device check refuses wrong slots and pairs") {
  const std::string slot = "expected -1, or a slot id below kv.k.num_blocks * kv.k.block_size = 24";
  const std::string id = "expected a block id from 0 to below ";
  expect_refused({
      {write_op, [](auto& c) { c.slots[0] = 24; }, "slot_mapping[0]: " + slot + ", got 24"},
      {write_op, [](auto& c) { c.slots[4] = -2; }, "slot_mapping[4]: " + slot + ", got -2"},
      {write_op, [](auto& c) { c.slots[2] = std::int64_t{1} << 40; },
       "slot_mapping[2]: " + slot + ", got 1099511627776"},
      {write_op,
       [](auto& c) {
         c.repeated = RepeatedSlots::kLaterStays;
         c.slots[1] = 99;
         c.slots[3] = -9;
       },
       "slot_mapping[1]: " + slot + ", got 99"},
      {write_op, [](auto& c) { c.slots[4] = 7; },
       "slot_mapping[4]: expected a slot other than that of slot_mapping[0], got 7"},
      {copy_op, [](auto& c) { c.copies[0].source = 6; },
       "copies[0].source: " + id + "kv.k.num_blocks = 6, got 6"},
      {copy_op, [](auto& c) { c.copies[1].destination = -1; },
       "copies[1].destination: " + id + "kv.k.num_blocks = 6, got -1"},
      {copy_op, [](auto& c) { c.copies[1].destination = 0; },
       "copies[1].destination: expected a block other than that of copies[0], got 0"},
      {copy_op, [](auto& c) { c.copies[1].destination = 5; },
       "copies[0].source: expected a block that no copy writes (copies[1] writes it), got 5"},
      {copy_op,
       [](auto& c) {
         c.copies[0] = {2, 2};
       },
       "copies[0].source: expected a block that no copy writes (copies[0] writes it), got 2"},
      {copy_op,
       [](auto& c) {
         c.copies.resize(1);
         c.copies[0].source = 6;
       },
       "copies[0].source: " + id + "kv.k.num_blocks = 6, got 6"},
      {swap_op, [](auto& c) { c.swaps[1].source = -3; },
       "copies[1].source: " + id + "from.k.num_blocks = 6, got -3"},
      {swap_op, [](auto& c) { c.swaps[0].destination = 4; },
       "copies[0].destination: " + id + "to.k.num_blocks = 4, got 4"},
      {swap_op, [](auto& c) { c.swaps[1].destination = 0; },
       "copies[1].destination: expected a block other than that of copies[0], got 0"},
  });
}

TEST_CASE(
    "wrong shapes and workspaces are refused on the host, with a check of contents and without") {
  const std::string at = "workspace.data: expected ";
  expect_refused({
      {write_op, [](auto& c) { c.options.workspace.bytes = 47; },
       "workspace.bytes: expected at least 48, got 47"},
      {copy_op, [](auto& c) { c.options.workspace.data = nullptr; }, at + "memory, got null"},
      {swap_op, [](auto& c) { c.options.workspace.data = c.memory[0].at + 4; },
       at + "an address at a multiple of 16 bytes, got 4 bytes behind one"},
      {write_op,
       [](auto& c) {
         c.options = {};
         c.write.slot_mapping = c.write.slot_mapping.first(4);
       },
       "k.num_rows: expected 4 as in slot_mapping.size, got 5"},
      {write_op, [](auto& c) { c.write.v.type = ElementType::kBf16; },
       "v.type: expected fp16 as in k.type, got bf16"},
      {copy_op,
       [](auto& c) {
         c.options = {};
         c.write.kv.v.block_size = 8;
       },
       "kv.v.block_size: expected 4 as in kv.k.block_size, got 8"},
      {swap_op, [](auto& c) { c.to.k.data = nullptr; }, "to.k.data: expected an address, got null"},
      {swap_op, [](auto& c) { c.to.k.head_dim = c.to.v.head_dim = 8; },
       "to.k.head_dim: expected 16 as in from.k.head_dim, got 8"},
  });
}

}  // namespace
}  // namespace recto::verify
