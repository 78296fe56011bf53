#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/dialect/testdata/copies_kernels.cuh"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr int kTiles = 7;

template <typename... Parameters, typename... Arguments>
LaunchReport run_block(const Schedule& schedule, void (*kernel)(Parameters...),
                       Arguments... arguments) {
  Executor executor({.schedule = schedule});
  return launch(executor, {.kernel = "copies", .grid = {1}, .block = {32}}, kernel, arguments...);
}

std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) all.push_back({policy, seed});
  }
  return all;
}

template <typename T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> all(count);
  std::iota(all.begin(), all.end(), T{1});
  return all;
}

std::vector<unsigned> sums_of_tiles(const std::vector<unsigned>& in) {
  std::vector<unsigned> sums(32);
  for (std::size_t i = 0; i < in.size(); ++i) sums[31 - i % 32] += in[i];
  return sums;
}

std::string fault_text(CopyFault fault) {
  alignas(16) std::array<unsigned, 64> in = {};
  std::array<unsigned, 4> out = {};
  return run_block({}, copy_wrongly, fault, in.data(), out.data()).text();
}

}  // namespace

TEST_CASE("asynchronous copies bring 4, 8 and 16 bytes") {
  for (const int piece_bytes : {4, 8, 16}) {
    const auto count = static_cast<std::size_t>(32 * piece_bytes);
    alignas(16) std::array<unsigned char, 512> in;
    std::iota(in.begin(), in.end(), static_cast<unsigned char>(3));
    std::vector<unsigned char> out(count);
    const LaunchReport report = run_block({}, copy_pieces, piece_bytes, in.data(), out.data());
    CHECK(report.text().empty());
    CHECK(std::equal(out.begin(), out.end(), in.begin()));
  }
}

TEST_CASE("bytes that a copy does not read are filled with zeros") {
  for (unsigned source_bytes = 0; source_bytes <= 16; ++source_bytes) {
    alignas(16) std::array<unsigned char, 512> in;
    in.fill(0xab);
    std::vector<unsigned char> out(512, 1);
    const LaunchReport report = run_block({}, copy_and_fill, source_bytes, in.data(), out.data());
    CHECK(report.text().empty());
    for (std::size_t i = 0; i < out.size(); ++i) {
      REQUIRE(out[i] == (i % 16 < source_bytes ? 0xab : 0));
    }
  }
}

TEST_CASE("a copy that reads nothing may read it from a null pointer") {
  std::array<unsigned, 4> out = {1, 1, 1, 1};
  CHECK(run_block({}, copy_nothing, out.data()).text().empty());
  CHECK(out == std::array<unsigned, 4>{});
}

TEST_CASE("a copy's bytes arrive at the wait that covers them, and not before") {
  const auto in = numbers<unsigned>(96);
  std::vector<unsigned> seen(3 * 96);
  CHECK(run_block({}, copy_groups, in.data(), seen.data()).text().empty());
  for (std::size_t stage = 0; stage < 3; ++stage) {
    for (std::size_t i = 0; i < 96; ++i) {
      REQUIRE(seen[stage * 96 + i] == (i % 3 <= stage ? in[i] : ~0U));
    }
  }
  std::array<unsigned, 2> before_and_after = {};
  CHECK(run_block({}, look_before_waiting, in.data(), before_and_after.data()).text().empty());
  CHECK(before_and_after[0] == ~0U);
  CHECK(before_and_after[1] == in[0]);
}

TEST_CASE("a pipeline of copies gives the same sums under every schedule") {
  const auto in = numbers<unsigned>(32 * kTiles);
  for (const Schedule& schedule : schedules()) {
    std::vector<unsigned> out(32);
    const LaunchReport report =
        run_block(schedule, sum_tiles_by_cp_async, in.data(), kTiles, out.data());
    CHECK(report.text().empty());
    CHECK(out == sums_of_tiles(in));
  }
}

TEST_CASE("a pipeline of bulk copies gives the same sums under every schedule") {
  alignas(16) std::array<unsigned, 32 * kTiles> in;
  std::iota(in.begin(), in.end(), 1U);
  for (const Schedule& schedule : schedules()) {
    for (const int tiles : {1, 2, 3, kTiles}) {
      std::vector<unsigned> out(32);
      const LaunchReport report =
          run_block(schedule, sum_tiles_by_bulk_copies, in.data(), tiles, out.data());
      CHECK(report.text().empty());
      CHECK(report.proxy_fences == 1);
      CHECK(out == sums_of_tiles({in.begin(), in.begin() + 32 * tiles}));
    }
  }
}

TEST_CASE("threads that wait at an mbarrier continue when its phase ends") {
  alignas(16) const std::array<unsigned, 4> in = {5, 6, 7, 8};
  for (const Schedule& schedule : schedules()) {
    unsigned sum = 0;
    CHECK(run_block(schedule, gather_at_mbarrier, &sum).text().empty());
    CHECK(sum == 31 * 30 / 2);
    for (const auto kernel : {wait_before_copy, poll_mbarrier}) {
      std::array<unsigned, 4> out = {};
      CHECK(run_block(schedule, kernel, in.data(), out.data()).text().empty());
      CHECK(out == in);
    }
  }
}

TEST_CASE("copies that are never waited for are found, with the line that requested them") {
  CHECK_THAT(fault_text(CopyFault::kNoWait),
             ContainsSubstring("unfinished copy in kernel 'copies': thread 0") &&
                 ContainsSubstring("exits with an unfinished asynchronous copy; ") &&
                 ContainsSubstring("copies_kernels.cu:") &&
                 ContainsSubstring("4 bytes were requested"));
  CHECK_THAT(fault_text(CopyFault::kNoBulkWait),
             ContainsSubstring("unfinished copy") && ContainsSubstring("16 bytes were requested"));
}

TEST_CASE("copies with misaligned or impossible addresses are found") {
  CHECK_THAT(
      fault_text(CopyFault::kMisalignedDestination),
      ContainsSubstring("misaligned") &&
          ContainsSubstring("copy_async_8 with words+4, which is not a multiple of 8 bytes"));
  CHECK_THAT(
      fault_text(CopyFault::kMisalignedSource),
      ContainsSubstring("misaligned") && ContainsSubstring("which is not a multiple of 16 bytes"));
  CHECK_THAT(
      fault_text(CopyFault::kGlobalDestination),
      ContainsSubstring("out of bounds") && ContainsSubstring("which is not in shared memory"));
  CHECK_THAT(fault_text(CopyFault::kBeyondVariable),
             ContainsSubstring("16 bytes at words+128, which has 128 bytes"));
  CHECK_THAT(fault_text(CopyFault::kTooManySourceBytes),
             ContainsSubstring("to read 5 bytes: expected at most 4"));
  CHECK_THAT(fault_text(CopyFault::kBulkBytes),
             ContainsSubstring("copy_bulk for 24 bytes: expected a multiple of 16"));
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a copy from a null pointer faults at its own line") {
  CHECK_THAT(fault_text(CopyFault::kNullSource), ContainsSubstring("fault in kernel 'copies': ") &&
                                                     ContainsSubstring("copies_kernels.cu:") &&
                                                     ContainsSubstring("touches 0x0"));
}
#endif

TEST_CASE("misuse of an mbarrier is found") {
  CHECK_THAT(fault_text(CopyFault::kUninitialisedMbarrier),
             ContainsSubstring("mbarrier in kernel 'copies'") &&
                 ContainsSubstring("arrive_at_mbarrier on an mbarrier that no thread has init"));
  CHECK_THAT(fault_text(CopyFault::kInitialisedTwice), ContainsSubstring("is already initialised"));
  CHECK_THAT(fault_text(CopyFault::kNoArrivals), ContainsSubstring("for 0 arrivals: expected 1"));
  CHECK_THAT(fault_text(CopyFault::kTooManyArrivals),
             ContainsSubstring("already has all of its 1 arrivals"));
  CHECK_THAT(fault_text(CopyFault::kOverwrittenMbarrier), ContainsSubstring("was overwritten"));
  CHECK_THAT(fault_text(CopyFault::kUsedAfterInvalidation),
             ContainsSubstring("that no thread has initialised"));
}

TEST_CASE("a phase that never ends is a deadlock, reported with the waiting thread") {
  for (const CopyFault fault : {CopyFault::kMissingArrival, CopyFault::kMissingBytes}) {
    CHECK_THAT(fault_text(fault), ContainsSubstring("deadlock") &&
                                      ContainsSubstring("thread 0: waiting wait_at_mbarrier at"));
  }
}

}  // namespace recto::simt
