// Libraries that take device memory, on a stand-in device: inputs and results are copied, faults
// are reported as on the host, and a program without a device refuses such libraries.

#include <stdlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/placed_problem.h"
#include "verify/library/kernel_library.h"
#include "verify/library/outcome_test_parts.h"
#include "verify/library/stand_in_device.h"

namespace recto::verify {
namespace {

using testing::StandInDevice;

const std::string kFaults = "verify/library/libfaults_on_device.so";

// One sequence of ten tokens in blocks of two, in a table of one row.
const PlacedProblem& placed() {
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 4};
  problem.sequences.push_back({.num_rows = 1,
                               .context_length = 10,
                               .q = std::vector<float>(8, 1.0F),
                               .k = std::vector<float>(40, 1.0F),
                               .v = std::vector<float>(40, 1.0F)});
  static const PlacedProblem kPlaced(problem, {.block_size = 2, .row_padding = 16});
  return kPlaced;
}

CallOutcome outcome_with(const char* fault, StandInDevice device = {}) {
  setenv("RECTO_TEST_FAULT", fault, 1);
  const auto library = KernelLibrary::open(kFaults, {.device = &device}).value();
  CallOutcome outcome = library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  unsetenv("RECTO_TEST_FAULT");
  return outcome;
}

void check_wrong(const CallOutcome& outcome, const std::string& words) {
  CHECK(is_failed(outcome));
  CHECK(text_of(outcome) == "prefill " + words);
}

TEST_CASE("results come back from the device") {
  StandInDevice device;
  const auto library = KernelLibrary::open(kFaults, {.device = &device}).value();
  for (int call = 0; call < 3; ++call) {
    const CallOutcome outcome = library->attend(KernelFunction::kPrefill, placed().inputs(), {});
    CHECK(text_of(outcome).empty());
    const reference::AttentionResult result = result_of(outcome);
    REQUIRE(result.out.size() == 8);
    // Without a copy back this would be NaN.
    for (const double value : result.out) CHECK(value == 0);
    for (const double value : result.lse_ln) CHECK(value == 0);
  }
}

// They are at the start of their pages, or at the end.
TEST_CASE("buffers without bytes have addresses on the device, too") {
  StandInDevice device;
  const auto library = KernelLibrary::open(kFaults, {.device = &device}).value();
  for (std::int64_t length = 1; length <= 12; ++length) {
    AttentionProblem problem;
    problem.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim_k = 1, .head_dim_v = 1};
    const std::vector<float> numbers(static_cast<std::size_t>(length), 1.0F);
    problem.sequences.push_back(
        {.num_rows = 0, .context_length = length, .q = {}, .k = numbers, .v = numbers});
    const PlacedProblem empty(problem, {});
    CHECK(text_of(library->attend(KernelFunction::kPrefill, empty.inputs(), {})).empty());
  }
}

TEST_CASE("a kernel on the device reads the pool at its device address") {
  const CallOutcome right = outcome_with("right offsets");
  CHECK(is_done(right));
}

TEST_CASE("a library's message reaches the host") {
  CHECK(text_of(outcome_with("unsupported")) == "soft caps");
  check_wrong(outcome_with("failed"), "returned 2: 'out of shared memory'");
}

TEST_CASE("writes that no guard stops are found in the buffers that come back") {
  check_wrong(outcome_with("write context_length"),
              "went beyond its memory: a write at byte 4 of context_length, which has 4");
  const CallOutcome beside = outcome_with("write beside lse");
  CHECK(is_failed(beside));
  CHECK((text_of(beside).find("went beyond its memory: a write") != std::string::npos));
  CHECK((text_of(beside).find("lse_ln, which has 8") != std::string::npos));
  check_wrong(outcome_with("change table"),
              "went beyond its memory: a write at byte 0 of block_table, which may only be read");
}

TEST_CASE("an address of the host is none of the device's") {
  const CallOutcome outcome = outcome_with("read the host's q");
  CHECK(is_failed(outcome));
  CHECK((text_of(outcome).find("prefill was ended by SIGSEGV: a read ") == 0));
  CHECK((text_of(outcome).find(" q, which ") != std::string::npos));
}

TEST_CASE("a device error ends the library's process, and the next call has a new one") {
  StandInDevice device;
  device.failure = "an illegal memory access was encountered";
  const auto library = KernelLibrary::open(kFaults, {.device = &device}).value();
  const std::string words =
      "left the device with the error 'an illegal memory access was encountered'";
  check_wrong(library->attend(KernelFunction::kPrefill, placed().inputs(), {}), words);
  device.failure = nullptr;
  const PlacedProblem other(
      [] {
        AttentionProblem problem;
        problem.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 4};
        problem.sequences.push_back({.num_rows = 1,
                                     .context_length = 1,
                                     .q = std::vector<float>(4, 1.0F),
                                     .k = std::vector<float>(4, 1.0F),
                                     .v = std::vector<float>(4, 1.0F)});
        return problem;
      }(),
      {});
  CHECK(is_done(library->attend(KernelFunction::kPrefill, other.inputs(), {})));
}

TEST_CASE("a call that finds no room on the device is skipped") {
  StandInDevice device;
  device.room_bytes = 1 << 10;
  const CallOutcome outcome = outcome_with("", device);
  CHECK(is_unsupported(outcome));
  CHECK(text_of(outcome) == "the device has no room for the call's memory");
}

TEST_CASE("a device without memory after an earlier error is reported with that error") {
  StandInDevice device;
  device.room_bytes = 1 << 10;
  device.failure = "an illegal memory access was encountered";
  check_wrong(outcome_with("", device),
              "left the device with the error 'an illegal memory access was encountered'");
}

TEST_CASE("a library that needs device memory is refused where there is none") {
  const std::string path = kFaults + ": ";
  CHECK(KernelLibrary::open(kFaults, {}).status() ==
        Status::invalid_input(path +
                              "memories: expected kRectoHostMemory (1), got kRectoDeviceMemory (2) "
                              "alone: this program has no device memory; recto_on_gpu "
                              "(//experiments:recto_on_gpu) has it"));
  StandInDevice device;
  device.why_not_there = "no CUDA-capable device is detected";
  CHECK(KernelLibrary::open(kFaults, {.device = &device}).status() ==
        Status::invalid_input(path + "needs device memory, but there is no GPU: no CUDA-capable "
                                     "device is detected"));
}

}  // namespace
}  // namespace recto::verify
