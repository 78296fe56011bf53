// The laws of block copies pass the reference's copies, and fail every copy with one fault.

#include "verify/laws/cache_operations/block_move_laws.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

LawReport report_of(const Law& law) {
  Backend copier;
  copier.name = "copier";
  Backend attention;
  attention.name = "attention";
  return run_laws({law}, {copier, attention},
                  drawn_cases({.name = "blocks", .count = 30, .times_full = 1}, {}),
                  {.failures_kept = 1, .shrinking_trials = 50});
}

void expect_held(const Law& law) {
  const LawReport report = report_of(law);
  INFO(report.table());
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].held == 30);
  CHECK(report.counts[1].skipped.at("it copies no blocks") == 30);
}

void expect_broken(const Law& law) {
  const LawReport report = report_of(law);
  CHECK(report.counts[0].failed > 0);
  REQUIRE(report.failures.size() == 1);
  INFO(report.failures[0]);
  CHECK((report.failures[0].find(" wrong, first in block ") != std::string::npos));
}

std::byte* first_byte(const void* pool) { return static_cast<std::byte*>(const_cast<void*>(pool)); }

TEST_CASE("the reference's copies keep the laws; backends without copies are skipped") {
  expect_held(block_copy_law("copier", done_after(reference::copy_blocks)));
  expect_held(block_swap_law("copier", done_after(reference::swap_blocks)));
}

TEST_CASE("a copy with one fault breaks the laws") {
  const std::vector<std::function<void(const MutablePagedKvView&, std::span<const BlockPair>)>>
      faulty = {[](const MutablePagedKvView&, std::span<const BlockPair>) {},
                [](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
                  if (!pairs.empty()) reference::copy_blocks(kv, pairs.first(pairs.size() - 1));
                },
                // Also changes a byte of V.
                [](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
                  reference::copy_blocks(kv, pairs);
                  *first_byte(kv.v.data) ^= std::byte{1};
                }};
  for (const auto& copy : faulty) expect_broken(block_copy_law("copier", done_after(copy)));
}

TEST_CASE("a swap with one fault breaks the laws") {
  const std::vector<std::function<void(const PagedKvView&, const MutablePagedKvView&,
                                       std::span<const BlockPair>)>>
      faulty = {// Uses the adjacent block.
                [](const PagedKvView& from, const MutablePagedKvView& to,
                   std::span<const BlockPair> pairs) {
                  std::vector<BlockPair> shifted(pairs.begin(), pairs.end());
                  for (BlockPair& pair : shifted)
                    pair.source = (pair.source + 1) % static_cast<std::int32_t>(from.k.num_blocks);
                  reference::swap_blocks(from, to, shifted);
                },
                // Changes the source.
                [](const PagedKvView& from, const MutablePagedKvView& to,
                   std::span<const BlockPair> pairs) {
                  reference::swap_blocks(from, to, pairs);
                  *first_byte(from.k.data) ^= std::byte{1};
                }};
  for (const auto& swap : faulty) expect_broken(block_swap_law("copier", done_after(swap)));
}

}  // namespace
}  // namespace recto::verify
