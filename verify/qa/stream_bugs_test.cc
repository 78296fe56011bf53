// Faults of host programs around the manager and its kernels, each under its id in
// docs/known-bugs.md: on streams whose operations run in any order that CUDA allows. Each program
// is run as it should be, and with the fault, which has to be seen.

#include <cstdint>
#include <functional>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/slot_mapping.h"
#include "cuda/cache/testing/checked_manager.h"
#include "cuda/cache_ops.h"
#include "verify/qa/kv_caches.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::ids_from;
using cache::testing::small_options;
using kernels::RepeatedSlots;

std::vector<simt::HostOptions> all_orders() {
  using enum simt::HostOrder;
  std::vector<simt::HostOptions> orders = {{.order = kEager}, {.order = kLate}};
  for (std::uint64_t seed = 0; seed < 8; ++seed) orders.push_back({.order = kRandom, .seed = seed});
  return orders;
}

// Whether a host program is right in all orders.
bool is_always_right(const std::function<bool(simt::HostRuntime&)>& program) {
  for (simt::HostOptions options : all_orders()) {
    options.checks_dependencies = false;  // results tell
    simt::Executor executor({});
    simt::HostRuntime runtime(executor, options);
    if (!program(runtime)) return false;
  }
  return true;
}

enum class Next : std::uint8_t { kOnTheSameStream, kBehindAnEvent, kOnAnother };

// A step writes token 0 of block 3, and the block goes to the host.
bool is_swapped_as_written(simt::HostRuntime& runtime, Next how) {
  Caches device(shape_of(KvLayout::kHeadMajor, 4, 0), 1);
  Caches host(shape_of(KvLayout::kHeadMajor, 4, 0), 7);
  const RowPool k({.type = ElementType::kFp16, .num_rows = 1, .num_heads = 2, .head_dim = 16}, 5);
  RowPool rows = k;
  const std::vector<std::int64_t> slots = {12};
  const std::vector<BlockPair> pairs = {{3, 0}};
  simt::Stream compute(runtime);
  simt::Stream other(runtime);
  const KvWriteInputs step = {
      .k = rows.const_view(), .v = rows.const_view(), .slot_mapping = slots, .kv = device.view()};
  CHECK(run_kv_write(step, RepeatedSlots::kNone, {}, &compute) == Status::ok());
  simt::Event written;
  compute.record(written);
  if (how == Next::kBehindAnEvent) CHECK(other.wait(written) == Status::ok());
  simt::Stream& swaps = how == Next::kOnTheSameStream ? compute : other;
  CHECK(run_block_swap(device.const_view(), host.view(), pairs, {}, &swaps) == Status::ok());
  runtime.finish_all();
  return host.k.code(host.k.place(0, 1, 0, 3)) == k.code(0, 1, 3) &&
         host.v.code(host.v.place(0, 0, 0, 2)) == k.code(0, 0, 2);
}

TEST_CASE("offload-store-before-compute: a swap comes after the writes of its stream") {
  const auto is_right = [](Next how) {
    return is_always_right([how](auto& runtime) { return is_swapped_as_written(runtime, how); });
  };
  CHECK(is_right(Next::kOnTheSameStream));
  CHECK(is_right(Next::kBehindAnEvent));
  CHECK_FALSE(is_right(Next::kOnAnother));  // that it would be seen
}

// The first token of a sequence is written by a step; the sequence is given up before the step has
// run, and another one writes its first token into the same block.
bool is_newest_owner_read(simt::HostRuntime& runtime, Next how) {
  CheckedManager cache(small_options(1));
  Caches device(shape_of(KvLayout::kHeadMajor, 4, 0), 1);
  const reference::RowPoolShape row = {
      .type = ElementType::kFp16, .num_rows = 1, .num_heads = 2, .head_dim = 16};
  std::vector<RowPool> rows = {RowPool(row, 5), RowPool(row, 6)};
  std::vector<std::vector<std::int64_t>> slots(2, std::vector<std::int64_t>(1));
  simt::Stream first(runtime);
  simt::Stream other(runtime);
  for (std::size_t owner = 0; owner < 2; ++owner) {
    const SequenceHandle sequence = cache.admit(ids_from(0, 1));
    cache.append(sequence, 1);
    const std::vector<cache::TokenRange> step = {{.sequence = sequence, .first = 0, .count = 1}};
    CHECK(cache::write_slot_mapping(cache.manager(), 0, step, slots[owner]) == Status::ok());
    const KvWriteInputs write = {.k = rows[owner].const_view(),
                                 .v = rows[owner].const_view(),
                                 .slot_mapping = slots[owner],
                                 .kv = device.view()};
    simt::Stream& stream = owner == 1 && how != Next::kOnTheSameStream ? other : first;
    if (owner == 1 && how == Next::kBehindAnEvent) {
      simt::Event written;
      first.record(written);
      CHECK(other.wait(written) == Status::ok());
    }
    CHECK(run_kv_write(write, RepeatedSlots::kNone, {}, &stream) == Status::ok());
    CHECK(cache.release(sequence) == Status::ok());
  }
  runtime.finish_all();
  REQUIRE(slots[0] == slots[1]);
  return device.k.code(device.k.place(0, 1, 0, 3)) == rows[1].code(0, 1, 3);
}

TEST_CASE("defer-free-inflight-step: a block's last owner writes before its next owner") {
  const auto is_right = [](Next how) {
    return is_always_right([how](auto& runtime) { return is_newest_owner_read(runtime, how); });
  };
  CHECK(is_right(Next::kOnTheSameStream));
  CHECK(is_right(Next::kBehindAnEvent));
  CHECK_FALSE(is_right(Next::kOnAnother));  // that it would be seen
}

enum class Reuse : std::uint8_t { kWhenUploaded, kAtOnce };

// Two steps, whose tables are uploaded from the one buffer that they are kept in.
bool are_tables_as_planned(simt::HostRuntime& runtime, Reuse reuse) {
  CheckedManager cache(small_options(8));
  std::vector<std::int32_t> buffer(8);
  cache::BatchTables tables =
      cache::BatchTables::create(cache.manager(), {.max_rows = 1}, buffer).value();
  const SequenceHandle sequence = cache.admit(ids_from(0, 4));
  CHECK(tables.assign(0, sequence) == Status::ok());
  simt::Stream stream(runtime);
  std::vector<std::vector<std::int32_t>> on_device(2, std::vector<std::int32_t>(8));
  std::vector<std::vector<std::int32_t>> planned;
  for (std::size_t step = 0; step < 2; ++step) {
    cache.append(sequence, 5);
    tables.update();
    planned.push_back(buffer);
    stream.copy(on_device[step].data(), buffer.data(), buffer.size() * sizeof(std::int32_t));
    simt::Event uploaded;
    stream.record(uploaded);
    if (reuse == Reuse::kWhenUploaded) CHECK(uploaded.synchronise() == Status::ok());
  }
  runtime.finish_all();
  return on_device == planned;
}

TEST_CASE("host-blocktable-staging-race: tables change only in `update`, not while they are read") {
  const auto is_right = [](Reuse reuse) {
    return is_always_right([reuse](auto& run) { return are_tables_as_planned(run, reuse); });
  };
  CHECK(is_right(Reuse::kWhenUploaded));
  CHECK_FALSE(is_right(Reuse::kAtOnce));  // that it would be seen
}

// Two batches of copies, of which the second is asked for before the first has run.
bool are_copies_as_asked(simt::HostRuntime& runtime, Reuse reuse) {
  Caches cache(shape_of(KvLayout::kHeadMajor, 4, 0), 1);
  const Caches before = cache;
  simt::Stream stream(runtime);
  std::vector<std::vector<BlockPair>> pairs = {{{5, 0}}, {{4, 1}}};
  for (std::size_t batch = 0; batch < 2; ++batch) {
    std::vector<BlockPair>& list = pairs[reuse == Reuse::kAtOnce ? 0 : batch];
    if (reuse == Reuse::kAtOnce && batch == 1) list = {{4, 1}};
    CHECK(run_block_copy(cache.view(), list, {}, &stream) == Status::ok());
  }
  runtime.finish_all();
  return codes_of(cache.k, 0) == codes_of(before.k, 5) &&
         codes_of(cache.k, 1) == codes_of(before.k, 4);
}

TEST_CASE("kv-zeroer-staging-race: each batch of copies reads its own pairs") {
  const auto is_right = [](Reuse reuse) {
    return is_always_right([reuse](auto& run) { return are_copies_as_asked(run, reuse); });
  };
  CHECK(is_right(Reuse::kWhenUploaded));
  CHECK_FALSE(is_right(Reuse::kAtOnce));  // that it would be seen
}

}  // namespace
}  // namespace recto::verify
