// The kernels that check tables, lengths, slots and pairs, under memory checks: whatever the
// contents, they access only their own memory, in order, and their results do not depend on the
// schedule.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/kernels/checked_kernel_run.h"
#include "verify/kernels/contents_call.h"

namespace recto::verify {
namespace {

using kernels::ContentsCheckParams;
using kernels::ContentsRule;
using enum kernels::ContentsRule;

constexpr std::int64_t kSeqs = 600;  // two or three for each thread
constexpr std::int64_t kMaxBlocks = 4;
constexpr std::int64_t kRowStride = 6;
constexpr std::int64_t kBlockSize = 8;
constexpr std::int64_t kNumBlocks = 50;
constexpr std::int64_t kMaxQueries = 3;
constexpr std::int64_t kMaxContext = 30;

// Valid contents; entries that contexts do not reach are arbitrary.
struct Contents {
  Contents() : query_start(kSeqs + 1), lengths(kSeqs), table(kSeqs * kRowStride) {
    RandomStream random = RandomStream(2026).split("contents");
    for (std::size_t i = 0; i < kSeqs; ++i) {
      const auto rows = static_cast<std::int32_t>(random.next_below(kMaxQueries + 1));
      query_start[i + 1] = query_start[i] + rows;
      lengths[i] = static_cast<std::int32_t>(random.next_below(kMaxContext + 1));
      for (std::size_t column = 0; column < kRowStride; ++column) {
        const bool is_reached = static_cast<std::int64_t>(column) * kBlockSize < lengths[i];
        table[i * kRowStride + column] =
            is_reached ? static_cast<std::int32_t>(random.next_below(kNumBlocks)) : 1 << 30;
      }
    }
    params = {.block_table = {table.data(), kSeqs, kMaxBlocks, kRowStride},
              .num_blocks = kNumBlocks,
              .block_size = kBlockSize,
              .query_start = query_start.data(),
              .lengths = lengths.data(),
              .num_query_rows = query_start.back(),
              .max_query_length = kMaxQueries,
              .max_context_length = kMaxContext};
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // A context with `in_last` tokens in its last block, whose id is as told; those before it are
  // right.
  void set_id(std::size_t sequence, std::size_t column, std::int64_t id, std::size_t in_last = 1) {
    lengths[sequence] = static_cast<std::int32_t>(column * kBlockSize + in_last);
    for (std::size_t i = 0; i < column; ++i) table[sequence * kRowStride + i] = 0;
    table[sequence * kRowStride + column] = static_cast<std::int32_t>(id);
  }

  std::vector<std::int32_t> query_start;
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> table;
  ContentsCheckParams params;
};

struct Fault {
  std::string name;
  std::function<void(Contents&)> plant;
  kernels::ContentsViolation expected;
};

// Block ids that are out of range, and ids that no context reaches.
std::vector<Fault> block_id_faults() {
  return {
      {"an id too large",
       [](Contents& c) { c.set_id(0, 2, kNumBlocks); },
       {kBlockId, 0, 2, kNumBlocks, kNumBlocks}},
      {"an id too large, in a last block that is full",
       [](Contents& c) { c.set_id(599, 2, kNumBlocks, kBlockSize); },
       {kBlockId, 599, 2, kNumBlocks, kNumBlocks}},
      {"an id below 0, in an only block that is full",
       [](Contents& c) { c.set_id(256, 0, -1, kBlockSize); },
       {kBlockId, 256, 0, -1, kNumBlocks}},
      {"a full block, before one that the context does not reach",
       [](Contents& c) {
         c.set_id(0, 1, kNumBlocks - 1, kBlockSize);
         c.table[2] = -1;
       },
       {}},
      {"an id below 0, and others behind it",
       [](Contents& c) {
         for (const std::size_t sequence : {599, 300, 512, 557}) c.set_id(sequence, 1, -1);
       },
       {kBlockId, 300, 1, -1, kNumBlocks}},
  };
}

// Faults of each rule: in the first sequence, the last one, and at the end of a round of threads.
std::vector<Fault> faults() {
  std::vector<Fault> all = {
      {"none", [](Contents&) {}, {}},
      {"no query_start is given", [](Contents& c) { c.params.query_start = nullptr; }, {}},
      {"rows from 1", [](Contents& c) { c.query_start[0] = 1; }, {kQueryStartFirst, 0, 0, 1, 0}},
      {"rows that go back",
       [](Contents& c) {
         c.query_start[256] = 7;
         c.query_start[257] = 6;
         c.query_start[255] = 5;
       },
       {kQueryStartAscends, 254, 0, 5, 0}},
      {"rows beyond the limit",
       [](Contents& c) { c.query_start[kSeqs] += 4; },
       {kQueryLength, kSeqs - 1, 0, 0, kMaxQueries}},
      {"rows that are not there",
       [](Contents& c) { ++c.params.num_query_rows; },
       {kQueryStartEnd, kSeqs - 1, 0, 0, 0}},
      {"a negative context",
       [](Contents& c) { c.lengths[255] = -3; },
       {kContextNegative, 255, 0, -3, 0}},
      {"padding",
       [](Contents& c) {
         c.params.added_tokens = 1;
         c.params.max_context_length = kMaxContext + 1;
         for (std::int32_t& length : c.lengths) length = -1;
       },
       {}},
      {"a context beyond the plan",
       [](Contents& c) { c.lengths[256] = kMaxContext + 1; },
       {kContextBeyondPlan, 256, 0, kMaxContext + 1, kMaxContext}},
      {"a context beyond the table",
       [](Contents& c) {
         c.params.max_context_length = 1000;
         c.lengths[kSeqs - 1] = 33;
       },
       {kContextBeyondTable, kSeqs - 1, 0, 33, kMaxBlocks * kBlockSize}},
      {"a position beyond the angles",
       [](Contents& c) {
         c.params.num_positions = 29;
         for (std::int32_t& length : c.lengths) length = 0;
         c.lengths[511] = 29;
       },
       {kPositionBeyondRotary, 511, 0, 29, 29}},
  };
  std::ranges::move(block_id_faults(), std::back_inserter(all));
  return all;
}

// Random contents next to the fault are expected as they are.
kernels::ContentsViolation expected_of(const Fault& fault, const Contents& contents) {
  kernels::ContentsViolation expected = fault.expected;
  const auto sequence = static_cast<std::size_t>(expected.index);
  const std::int64_t first = contents.query_start[sequence];
  const std::int64_t end = contents.query_start[sequence + 1];
  if (expected.rule == kQueryStartAscends) expected.limit = first;
  if (expected.rule == kQueryLength) expected.value = end - first;
  if (expected.rule == kQueryStartEnd) {
    expected.value = end;
    expected.limit = contents.params.num_query_rows;
  }
  return expected;
}

void check_fault(const Fault& fault, const simt::Schedule& schedule) {
  Contents contents;
  fault.plant(contents);
  std::uint64_t accesses = 0;
  const KernelRun how = checked_run(schedule, accesses);
  simt::Executor executor(how.executor);
  INFO(fault.name << ", " << simt::schedule_policy_name(schedule.policy) << ", seed "
                  << schedule.seed);
  CHECK(fields_of(call_contents_check(executor, how.observer, contents.params)) ==
        fields_of(expected_of(fault, contents)));
  CHECK(accesses > kSeqs);
}

TEST_CASE(
    "the check of contents accesses only its own memory, without races, whatever the contents") {
  for (const Fault& fault : faults()) {
    for (const simt::Schedule& schedule : kCheckedSchedules) check_fault(fault, schedule);
  }
}

// Among 300 slots two are equal, or none.
void check_slots(bool is_repeated, const simt::Schedule& schedule) {
  std::vector<std::int64_t> slots(300);
  std::iota(slots.begin(), slots.end(), 0);
  if (is_repeated) slots[299] = 17;
  std::uint64_t accesses = 0;
  const KernelRun how = checked_run(schedule, accesses);
  simt::Executor executor(how.executor);
  const kernels::ContentsViolation found =
      call_slot_check(executor, how.observer,
                      {.slot_mapping = slots.data(),
                       .num_tokens = 300,
                       .num_slots = 300,
                       .repeated = kernels::RepeatedSlots::kNone});
  CHECK(found.rule == (is_repeated ? kRepeatedSlot : kNone));
  if (is_repeated) CHECK((found.index == 299 && found.other == 17));
  CHECK(accesses > 300);
}

// Among 300 pairs within one cache, the last writes a block that another reads, or none does.
void check_pairs(bool is_overwritten, const simt::Schedule& schedule) {
  std::vector<BlockPair> pairs;
  for (std::int32_t i = 0; i < 300; ++i) pairs.push_back({i, 300 + i});
  if (is_overwritten) pairs[299].destination = 17;
  std::uint64_t accesses = 0;
  const KernelRun how = checked_run(schedule, accesses);
  simt::Executor executor(how.executor);
  const kernels::ContentsViolation found = call_pair_check(executor, how.observer,
                                                           {.pairs = pairs.data(),
                                                            .num_pairs = 300,
                                                            .num_sources = 600,
                                                            .num_destinations = 600,
                                                            .caches = kernels::Caches::kOne});
  CHECK(found.rule == (is_overwritten ? kOverwrittenSource : kNone));
  if (is_overwritten) CHECK((found.index == 17 && found.other == 299));
  CHECK(accesses > 300);
}

TEST_CASE("the checks of slots and of pairs access only their own memory, without races") {
  for (const bool is_wrong : {false, true}) {
    for (const simt::Schedule& schedule : kCheckedSchedules) {
      check_slots(is_wrong, schedule);
      check_pairs(is_wrong, schedule);
    }
  }
}

TEST_CASE("no result of a check of contents depends on where threads are preempted") {
  for (std::uint64_t seed = 0; seed < kPreemptingSeeds; ++seed) {
    check_fault(faults().front(), preempting_schedule(seed));
    check_fault(faults().back(), preempting_schedule(seed));
    check_slots(true, preempting_schedule(seed));
    check_pairs(true, preempting_schedule(seed));
  }
}

}  // namespace
}  // namespace recto::verify
