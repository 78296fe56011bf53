// The contents check on the device, alone: it finds the first error.

#include "cuda/kernels/contents_check.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

// Sequences without tokens, of which those in `wrong` have a negative context.
std::int64_t first_found(std::int64_t num_seqs, const std::vector<std::size_t>& wrong) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(num_seqs), 0);
  for (const std::size_t sequence : wrong) lengths[sequence] = -1;
  const auto found = std::make_unique<kernels::ContentsViolation>();
  simt::Executor executor({});
  simt::Stream stream(executor);
  const kernels::ContentsCheckParams params = {.block_table = {.num_seqs = num_seqs},
                                               .block_size = 1,
                                               .lengths = lengths.data(),
                                               .violation = found.get()};
  CHECK(kernels::launch_contents_check(params, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  const bool is_found = found->rule == kernels::ContentsRule::kContextNegative;
  CHECK((is_found || found->rule == kernels::ContentsRule::kNone));
  return is_found ? found->index : -1;
}

TEST_CASE("contents are checked by 256 threads, and the first finding is reported") {
  for (const std::int64_t num_seqs : {1, 255, 256, 257, 511, 512, 513}) {
    CHECK(first_found(num_seqs, {}) == -1);
    CHECK(first_found(num_seqs, {static_cast<std::size_t>(num_seqs - 1)}) == num_seqs - 1);
  }
  CHECK(first_found(257, {255, 256}) == 255);
  CHECK(first_found(257, {256, 0}) == 0);
  CHECK(first_found(600, {556, 300}) == 300);  // both handled by one thread, in turn
  CHECK(first_found(600, {511, 512}) == 511);
}

// What a slot check finds: the token, and the token that it conflicts with.
kernels::ContentsViolation found_in_slots(const std::vector<std::int64_t>& slots,
                                          std::int64_t num_slots) {
  const auto found = std::make_unique<kernels::ContentsViolation>();
  simt::Executor executor({});
  simt::Stream stream(executor);
  const kernels::SlotCheckParams params = {.slot_mapping = slots.data(),
                                           .num_tokens = std::ssize(slots),
                                           .num_slots = num_slots,
                                           .repeated = kernels::RepeatedSlots::kNone,
                                           .violation = found.get()};
  CHECK(kernels::launch_slot_check(params, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  return *found;
}

TEST_CASE("the first wrong slot is found, whichever thread checks it") {
  using enum kernels::ContentsRule;
  for (const std::int64_t num_tokens : {1, 255, 256, 257, 600}) {
    std::vector<std::int64_t> slots(static_cast<std::size_t>(num_tokens));
    std::iota(slots.rbegin(), slots.rend(), 0);
    CHECK(found_in_slots(slots, num_tokens).rule == kNone);
    const kernels::ContentsViolation beyond = found_in_slots(slots, num_tokens - 1);
    CHECK(beyond.rule == kSlot);
    CHECK(beyond.index == 0);
    CHECK(beyond.value == num_tokens - 1);
    if (num_tokens == 1) continue;
    slots.back() = slots[static_cast<std::size_t>(num_tokens / 2)];
    const kernels::ContentsViolation repeated = found_in_slots(slots, num_tokens);
    CHECK(repeated.rule == kRepeatedSlot);
    CHECK(repeated.index == num_tokens - 1);
    CHECK(repeated.other == num_tokens / 2);
    slots[static_cast<std::size_t>(num_tokens / 2)] = slots.back() = -1;
    CHECK(found_in_slots(slots, num_tokens).rule == kNone);
  }
}

kernels::ContentsViolation found_in_pairs(const std::vector<BlockPair>& pairs,
                                          kernels::Caches caches) {
  const auto found = std::make_unique<kernels::ContentsViolation>();
  simt::Executor executor({});
  simt::Stream stream(executor);
  const kernels::PairCheckParams params = {.pairs = pairs.data(),
                                           .num_pairs = std::ssize(pairs),
                                           .num_sources = 1000,
                                           .num_destinations = 1000,
                                           .caches = caches,
                                           .violation = found.get()};
  CHECK(kernels::launch_pair_check(params, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  return *found;
}

TEST_CASE("the first wrong pair is found, whichever thread checks it") {
  using enum kernels::ContentsRule;
  using enum kernels::Caches;
  for (const std::int32_t num_pairs : {1, 255, 256, 257, 400}) {
    std::vector<BlockPair> pairs;
    for (std::int32_t i = 0; i < num_pairs; ++i) pairs.push_back({i, 999 - i});
    CHECK(found_in_pairs(pairs, kOne).rule == kNone);
    BlockPair& last = pairs.back();
    last.source = 999;  // which the first pair writes
    CHECK(found_in_pairs(pairs, kTwo).rule == kNone);
    const kernels::ContentsViolation overwritten = found_in_pairs(pairs, kOne);
    CHECK(overwritten.rule == kOverwrittenSource);
    CHECK(overwritten.index == num_pairs - 1);
    CHECK(overwritten.other == 0);
    last.source = 1000;
    CHECK(found_in_pairs(pairs, kTwo).rule == kSource);
    CHECK(found_in_pairs(pairs, kTwo).index == num_pairs - 1);
    if (num_pairs == 1) continue;
    last = {0, 998};  // which the second pair writes
    const kernels::ContentsViolation repeated = found_in_pairs(pairs, kOne);
    CHECK(repeated.rule == kRepeatedWrite);
    CHECK(repeated.other == 1);
  }
}

TEST_CASE("the first wrong scale is found, K's before V's") {
  using enum kernels::ContentsRule;
  for (const std::int64_t heads : {1, 127, 128, 129, 300}) {
    std::vector<float> k(static_cast<std::size_t>(heads), 1.0F);
    std::vector<float> v = k;
    const auto found = [&] {
      const auto violation = std::make_unique<kernels::ContentsViolation>();
      simt::Executor executor({});
      simt::Stream stream(executor);
      const kernels::ScaleCheckParams params = {.k = k.data(),
                                                .num_k = heads,
                                                .v = v.data(),
                                                .num_v = heads,
                                                .violation = violation.get()};
      CHECK(kernels::launch_scale_check(params, &stream) == Status::ok());
      CHECK(stream.synchronise().passed());
      return *violation;
    };
    CHECK(found().rule == kNone);
    v.back() = -1.0F;
    CHECK(found().rule == kScaleV);
    CHECK(found().index == heads - 1);
    CHECK(found().value == 0xbf800000);
    k.back() = 0.0F;
    CHECK(found().rule == kScaleK);
    CHECK(found().index == heads - 1);
  }
}

TEST_CASE("the first sequence whose rows are out of range or shared is found by any thread") {
  using enum kernels::ContentsRule;
  for (const std::int64_t num_seqs : {1, 255, 256, 257, 400}) {
    const std::vector<std::int32_t> lengths(static_cast<std::size_t>(num_seqs), 2);
    std::vector<std::int64_t> starts;
    for (std::int64_t s = 0; s < num_seqs; ++s) starts.push_back(2 * (num_seqs - 1 - s));
    const auto found = [&](std::int64_t num_rows) {
      const auto violation = std::make_unique<kernels::ContentsViolation>();
      simt::Executor executor({});
      simt::Stream stream(executor);
      const kernels::RowCheckParams params = {.context_length = lengths.data(),
                                              .context_start = starts.data(),
                                              .num_seqs = num_seqs,
                                              .num_rows = num_rows,
                                              .violation = violation.get()};
      CHECK(kernels::launch_row_check(params, &stream) == Status::ok());
      CHECK(stream.synchronise().passed());
      return *violation;
    };
    CHECK(found(2 * num_seqs).rule == kNone);
    CHECK(found(2 * num_seqs - 1).rule == kRowsBeyond);
    CHECK(found(2 * num_seqs - 1).index == 0);
    if (num_seqs == 1) continue;
    starts.back() = starts[0] + 1;
    CHECK(found(2 * num_seqs + 1).rule == kSharedRows);
    CHECK(found(2 * num_seqs + 1).index == num_seqs - 1);
    CHECK(found(2 * num_seqs + 1).other == 0);
  }
}

}  // namespace
}  // namespace recto::verify
