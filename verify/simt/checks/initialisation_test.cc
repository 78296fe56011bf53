// Reads of memory that was never written, and of memory that asynchronous copies still write.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/checks/testdata/checked_device.h"
#include "verify/simt/checks/testdata/checked_kernels.cuh"
#include "verify/simt/checks/testdata/vector_kernels.cuh"

namespace recto::simt {
namespace {

TEST_CASE("shared memory is written before it is read, in each thread block anew") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"sum", {1}, {32}}, read_before_write, out, 1));
  check_finding(run.run({"sum", {1}, {32}}, read_before_write, out, 0), Check::kUninitialised,
                {"uninitialised read in kernel 'sum'", "thread 0 (warp 0, lane 0)",
                 "reads 4 bytes of shared sum+0, which no thread of its block has written"});
}

TEST_CASE("a loop that fills shared memory is observed to the last element") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(run.run({"fill", {1}, {32}}, fill_shared_in_loop, out, 256));
  check_finding(run.run({"fill", {1}, {32}}, fill_shared_in_loop, out, 255), Check::kUninitialised,
                {"thread 31 ", "reads 4 bytes of shared row+1020"});
}

TEST_CASE("an output is written before it is read, and stays written in later launches") {
  CheckedRun run;
  auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_finding(run.run({"sum", {1}, {32}}, accumulate, out, 0), Check::kUninitialised,
                {"reads 4 bytes of out+0, which were never written"});
  CheckedRun right;
  auto* right_out = right.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(right.run({"sum", {1}, {32}}, accumulate, right_out, 1));
  check_nothing(right.run({"sum", {1}, {32}}, accumulate, right_out, 0));
  right.checker().mark_unwritten(right_out + 7, sizeof(float));
  check_finding(right.run({"sum", {1}, {32}}, accumulate, right_out, 0), Check::kUninitialised,
                {"thread 7 ", "reads 4 bytes of out+28"});
  // After it is registered again, it is another buffer.
  CHECK(right.memory().remove(right_out));
  REQUIRE(right.memory()
              .add({"out", reinterpret_cast<std::byte*>(right_out), 128, BufferUse::kWriteFirst})
              .is_ok());
  check_finding(right.run({"sum", {1}, {32}}, accumulate, right_out, 0), Check::kUninitialised,
                {"thread 0 "});
  right.checker().mark_written(right_out, 128);
  check_nothing(right.run({"sum", {1}, {32}}, accumulate, right_out, 0));
}

TEST_CASE("an exchange writes unwritten memory, and other atomic operations read it") {
  CheckedRun run;
  auto* out = run.buffer<int>("out", 64, BufferUse::kWriteFirst);
  check_finding(run.run({"add", {1}, {32}}, exchange_first, out + 32, 1), Check::kUninitialised,
                {"of out+128, which were never written"});
  check_nothing(run.run({"exchange", {1}, {32}}, exchange_first, out, 0));
  check_nothing(run.run({"add", {1}, {32}}, exchange_first, out, 1));
  CHECK(out[31] == 2);
}

TEST_CASE("memory that the host program fills or copies to counts as written") {
  for (const bool is_copied : {false, true}) {
    CheckedRun run;
    auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
    const std::vector<float> in(16, 3.0F);
    Stream stream(run.executor());
    if (is_copied) {
      stream.copy(out, in.data(), 16 * sizeof(float));
    } else {
      stream.fill(out, 0, 16 * sizeof(float));
    }
    check_nothing(stream.synchronise());
    check_nothing(run.run({"sum", {1}, {16}}, accumulate, out, 0));
    check_finding(run.run({"sum", {1}, {17}}, accumulate, out, 0), Check::kUninitialised,
                  {"thread 16 ", "reads 4 bytes of out+64, which were never written"});
  }
}

TEST_CASE("copies and fills of the host program end where their buffers do") {
  CheckedRun run;
  auto* from = run.buffer<float>("from", 32, BufferUse::kReadOnly);
  auto* to = run.buffer<float>("to", 32, BufferUse::kReadWrite);
  std::vector<float> host(64, 1.0F);
  const auto text_of = [&run](const auto& ask) {
    Stream stream(run.executor());
    ask(stream);
    return stream.synchronise().text();
  };
  CHECK(text_of([&](Stream& stream) {
          stream.copy(from, host.data(), 128);  // a kernel's input is the host's output
          stream.copy(to, from, 128);
          stream.copy(host.data(), to, 128);
          stream.fill(host.data(), 0, 256);  // memory of the host
        }) == "");
  host.assign(64, 2.0F);
  CHECK(text_of([&](Stream& stream) { stream.copy(to, host.data(), 132); }) ==
        "out of bounds in the host program: copy writes 132 bytes of to+0, beyond its end\n");
  CHECK(to[0] == 1.0F);  // the copy does not happen
  CHECK(text_of([&](Stream& stream) { stream.copy(host.data(), from + 1, 128); }) ==
        "out of bounds in the host program: copy reads 128 bytes of from+4, beyond its end\n");
  CHECK(text_of([&](Stream& stream) { stream.fill(to + 31, 0, 5); }) ==
        "out of bounds in the host program: fill writes 5 bytes of to+124, beyond its end\n");
}

TEST_CASE("written memory is tracked byte by byte") {
  CheckedRun run;
  auto* bytes = run.buffer<std::uint8_t>("bytes", 16, BufferUse::kWriteFirst);
  auto* out = run.buffer<std::uint32_t>("out", 4, BufferUse::kWriteFirst);
  const auto* words = reinterpret_cast<const std::uint32_t*>(bytes);
  check_nothing(run.run({"write", {1}, {16}}, write_some, bytes, 0, 7));
  check_finding(run.run({"read", {1}, {2}}, read_words, words, out), Check::kUninitialised,
                {"thread 1 ", "reads 1 byte of bytes+7"});
  check_nothing(run.run({"write", {1}, {16}}, write_some, bytes, 7, 1));
  check_nothing(run.run({"read", {1}, {2}}, read_words, words, out));
}

TEST_CASE("a severity turns findings into notes, or off") {
  CheckedRun noting({}, {.uninitialised_global = Severity::kNote});
  auto* out = noting.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(noting.run({"sum", {1}, {32}}, accumulate, out, 0));
  REQUIRE(noting.checker().notes().size() == 1);
  CHECK(contains(noting.checker().notes()[0].text(), "in kernel 'sum'"));
  CheckedRun off({}, {.races = Severity::kOff, .uninitialised_shared = Severity::kOff});
  auto* off_out = off.buffer<float>("out", 32, BufferUse::kWriteFirst);
  check_nothing(off.run({"sum", {1}, {32}}, read_before_write, off_out, 0));
  check_nothing(off.run({"exchange", {1}, {32}}, exchange_in_warp, off_out, 0));
  CHECK(off.checker().notes().empty());
}

TEST_CASE("an asynchronous copy is waited for before its bytes are used, and before the end") {
  for (const SchedulePolicy policy : kSchedulePolicies) {
    const auto report_of = [policy](MissingWait missing) {
      forget_copies();
      CheckedRun run({.policy = policy});
      return run.run({"stage", {1}, {32}}, stage, run.buffer<float>("in", 32, BufferUse::kReadOnly),
                     run.buffer<float>("out", 32, BufferUse::kWriteFirst), missing);
    };
    check_nothing(report_of(MissingWait::kNone));
    check_among(report_of(MissingWait::kBeforeRead), Check::kUnfinishedCopy,
                {"unfinished copy in kernel 'stage'", "reads 4 bytes of shared staged+",
                 "began a copy to it, not yet waited for"});
    check_finding(report_of(MissingWait::kBeforeExit), Check::kUnfinishedCopy,
                  {"exits without waiting for its copy of 16 bytes to shared staged+"});
    check_among(report_of(MissingWait::kBarrier), Check::kRace, {"shared staged+"});
  }
}

TEST_CASE("an asynchronous copy's accesses are checked like any others") {
  forget_copies();
  // The kernel only copies, so it has no observed accesses.
  CheckedRun run({}, {.unobserved_launches = Severity::kOff});
  auto* in = run.buffer<float>("in", 4, BufferUse::kReadWrite);
  auto* out = run.buffer<float>("out", 8, BufferUse::kWriteFirst);
  check_nothing(run.run({"change", {1}, {2}}, change_source, in, out, 0));
  check_finding(run.run({"change", {1}, {2}}, change_source, in, out, 1), Check::kRace,
                {"thread 1 ", "writes 4 bytes of in+8", "thread 0 ", "read it"});
  CheckedRun reversed({.policy = SchedulePolicy::kReverse});
  auto* reversed_in = reversed.buffer<float>("in", 4, BufferUse::kReadWrite);
  auto* reversed_out = reversed.buffer<float>("out", 8, BufferUse::kWriteFirst);
  check_finding(reversed.run({"change", {1}, {2}}, change_source, reversed_in, reversed_out, 1),
                Check::kRace, {"thread 0 ", "reads 4 bytes of in+8", "thread 1 ", "wrote it"});
  check_nothing(run.run({"copy", {1}, {1}}, copy_to, in, out, 4));
  check_finding(run.run({"copy", {1}, {1}}, copy_to, in, out, 8), Check::kOutOfBounds,
                {"writes 16 bytes of memory 0 bytes past the end of out"});
  check_finding(run.run({"copy", {1}, {1}}, copy_to, in, out, 2), Check::kMisaligned,
                {"writes 16 bytes of out+8, which is not aligned to 16 bytes"});
  check_finding(run.run({"copy", {1}, {1}}, copy_to, in + 1, out, 4), Check::kOutOfBounds,
                {"reads 16 bytes of in+4, beyond its end"});
  // Two copies to one place.
  check_among(run.run({"copy", {2}, {1}}, copy_to, in, out, 4), Check::kGridRace,
              {"writes 4 bytes of out+16"});
}

TEST_CASE("the first findings are reported, up to the limit") {
  for (const std::size_t findings_max : {16U, 5U, 4U, 2U, 1U, 0U}) {
    CheckedRun run;
    run.executor().set_options({.findings_max = findings_max});
    const float* unwritten = run.buffer<float>("unwritten", 8, BufferUse::kWriteFirst);
    auto* out = run.buffer<float>("out", 32, BufferUse::kWriteFirst);
    const LaunchReport report =
        run.run({"read", {1}, {32}}, read_unwritten_on_lines, unwritten, out);
    INFO(findings_max << "\n" << report.text());
    // A limit of 0 counts as 1, because a launch without findings would pass.
    const std::size_t expected = findings_max == 0 ? 1 : std::min<std::size_t>(5, findings_max);
    REQUIRE(report.findings.size() == expected);
    for (std::size_t i = 0; i < expected; ++i) {
      CHECK(contains(report.findings[i].text(), "unwritten+" + std::to_string(4 * i)));
    }
  }
}

}  // namespace
}  // namespace recto::simt
