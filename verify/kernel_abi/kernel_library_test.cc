// What a library does to its process: each fault is told in words, with the buffer that it was
// about, and the next call finds the library as new.

#include "verify/kernel_abi/kernel_library.h"

#include <stdlib.h>

#include <cmath>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {
namespace {

using Catch::Matchers::EndsWith;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

AttentionProblem two_sequences() {
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 4};
  for (const std::int64_t length : {3, 6}) {
    const auto size = static_cast<std::size_t>(length * 4);
    problem.sequences.push_back({.num_rows = 1,
                                 .context_length = length,
                                 .q = std::vector<float>(8, 1.0F),
                                 .k = std::vector<float>(size, 1.0F),
                                 .v = std::vector<float>(size, 1.0F)});
  }
  return problem;
}

// In rows with gaps, and a table of two rows of three entries.
const PlacedProblem& placed() {
  static const PlacedProblem problem(two_sequences(), {.block_size = 2, .row_padding = 16});
  return problem;
}

std::shared_ptr<KernelLibrary> opened(const KernelLibraryOptions& options = {}) {
  return KernelLibrary::open("verify/kernel_abi/libfaults.so", options).value();
}

// What processes that are started meanwhile go wrong in.
class Fault {
 public:
  explicit Fault(const char* name) { setenv("RECTO_TEST_FAULT", name, 1); }
  ~Fault() { unsetenv("RECTO_TEST_FAULT"); }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

CallOutcome outcome_with(const char* name, const KernelLibraryOptions& options = {}) {
  const Fault fault(name);
  const auto library = opened(options);
  reference::AttentionResult result;
  return library->attend(KernelFunction::kPrefill, placed().inputs(), result);
}

void check_wrong(const char* fault, const std::string& words,
                 const KernelLibraryOptions& options = {}) {
  const CallOutcome outcome = outcome_with(fault, options);
  CHECK(outcome.kind == CallOutcome::Kind::kWrong);
  CHECK(outcome.text == "prefill " + words);
}

TEST_CASE("a call that goes well gives what was written") {
  reference::AttentionResult result;
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(), result);
  CHECK(outcome.kind == CallOutcome::Kind::kDone);
  REQUIRE(result.out.size() == 16);
  REQUIRE(result.lse_ln.size() == 4);
  for (const double value : result.out) CHECK(value == 0);
  for (const double value : result.lse_ln) CHECK(value == 0);
}

TEST_CASE("accesses beyond buffers are told by buffer and byte") {
  check_wrong("null pointer", "was ended by SIGSEGV: a write through a null pointer");
  check_wrong("read beyond table",
              "was ended by SIGSEGV: a read at byte 16384 of block_table, which has 24");
  check_wrong("read before table",
              "was ended by SIGSEGV: a read 8192 bytes before block_table, which has 24");
  check_wrong("write beyond lse",
              "was ended by SIGSEGV: a write at byte 8192 of lse_ln, which has 16");
  check_wrong("write far away", "was ended by SIGSEGV: a write far from any buffer");
}

TEST_CASE("a write to what may only be read is told by buffer and byte") {
  check_wrong("write context_length",
              "was ended by SIGSEGV: a write at byte 4 of context_length, which may only be read");
}

TEST_CASE("writes beside elements, where nothing stops them, are found afterwards") {
  const CallOutcome outcome = outcome_with("write beside lse");
  CHECK(outcome.kind == CallOutcome::Kind::kWrong);
  // The end that has no guard.
  CHECK((outcome.text.find("lse_ln, which has 16") != std::string::npos));
  check_wrong("write gap",
              "went beyond its rows: a write between rows 0 and 1 of out, at byte 12 of the gap of "
              "64");
}

TEST_CASE("a write between heads is told by row, head and byte") {
  const Fault fault("write head gap");
  reference::AttentionResult result;
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(), result,
                                               {.gaps = RowGaps{.rows = 0, .heads = 16}});
  CHECK(outcome.text ==
        "prefill went beyond its rows: a write between heads 0 and 1 of row 0 of out, at byte 12 "
        "of the gap of 64");
}

TEST_CASE("what was written is read by heads' and rows' strides") {
  reference::AttentionResult result;
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(), result,
                                               {.gaps = RowGaps{.rows = 16, .heads = 32}});
  CHECK(outcome.kind == CallOutcome::Kind::kDone);
  REQUIRE(result.out.size() == 16);
  for (const double value : result.out) CHECK(value == 0);
}

TEST_CASE("a process that ends is told by how it ended") {
  check_wrong("exit", "ended its process, with exit code 0");
  check_wrong("_exit", "ended its process, with exit code 3");
  check_wrong("abort", "was ended by SIGABRT");
  check_wrong("kill", "was ended by SIGKILL");
  check_wrong("divide", "was ended by SIGFPE");
  check_wrong("stack", "was ended by SIGSEGV: a write far from any buffer");
  check_wrong("close everything", "closed files that are not its own, and did not go on");
  check_wrong("child keeps looping", "was ended by SIGABRT");
}

TEST_CASE("a loop without end is ended") {
  const CallOutcome outcome = outcome_with("loop", {.time_limit_ms = 200});
  CHECK(outcome.failure == "time-out");
  // Where others compute as well, the clock's limit comes first.
  CHECK_THAT(outcome.text, Equals("prefill did not come back within 200 ms of CPU time") ||
                               StartsWith("prefill did not come back within 1200 ms by the clock"));
}

TEST_CASE("a limit is on what a call computes, and by the clock there are six of it") {
  CHECK(outcome_with("wait for 1.5 s", {.time_limit_ms = 1000}).kind == CallOutcome::Kind::kDone);
}

TEST_CASE("a call that waits for ever hangs, and is not made again") {
  const Fault fault("wait for ever");
  const auto library = opened({.time_limit_ms = 100});
  reference::AttentionResult result;
  const auto outcome = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), result);
  };
  CHECK(outcome().text ==
        "prefill hangs: it did not come back within 600 ms by the clock, and in the last 100 it "
        "waited and computed nothing");
  CHECK(outcome().failure == "time-out");
  CHECK_FALSE(outcome().is_perhaps_machine);
}

TEST_CASE("a call that is late after others is not made alone, but for its caller to repeat") {
  const Fault fault("loop on long contexts");
  const auto library = opened({.time_limit_ms = 100});
  reference::AttentionResult result;
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  CHECK(library->attend(KernelFunction::kPrefill, good.inputs(), result).kind ==
        CallOutcome::Kind::kDone);
  const auto late = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), result);
  };
  CHECK(late().failure == "time-out");
  CHECK(late().is_perhaps_machine);
  library->restart();
  CHECK(late().failure == "time-out");
  CHECK_FALSE(late().is_perhaps_machine);
  CHECK(library->late_calls() == 0);
}

TEST_CASE("a call that was late after others, and is not when it is made again, does not count") {
  const std::string seen = std::string(getenv("TEST_TMPDIR")) + "/late-after-others";
  setenv("RECTO_TEST_SEEN", seen.c_str(), 1);
  const Fault fault("loop once on long contexts");
  const auto library = opened({.time_limit_ms = 100, .time_outs_max = 1});
  reference::AttentionResult result;
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  library->attend(KernelFunction::kPrefill, good.inputs(), result);
  const auto outcome = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), result);
  };
  CHECK(outcome().is_perhaps_machine);
  library->restart();
  CHECK(outcome().kind == CallOutcome::Kind::kDone);
  unsetenv("RECTO_TEST_SEEN");
  CHECK(library->late_calls() == 1);
}

TEST_CASE("a call that is late once is made again, and is no failure") {
  const std::string seen = std::string(getenv("TEST_TMPDIR")) + "/late-once";
  setenv("RECTO_TEST_SEEN", seen.c_str(), 1);
  const Fault fault("loop once");
  const auto library = opened({.time_limit_ms = 500});
  reference::AttentionResult result;
  const CallOutcome outcome = library->attend(KernelFunction::kPrefill, placed().inputs(), result);
  unsetenv("RECTO_TEST_SEEN");
  CHECK(outcome.kind == CallOutcome::Kind::kDone);
  CHECK(library->late_calls() == 1);
  REQUIRE(result.out.size() == 16);
  for (const double value : result.out) CHECK(value == 0);
}

TEST_CASE("what a library printed is shown where it fails") {
  check_wrong("print and abort", "was ended by SIGABRT\nit printed\n  about to\n  fail!");
}

TEST_CASE("what it printed where nothing ended is kept, but for what would steer a terminal") {
  const Fault fault("print");
  const auto library = opened();
  reference::AttentionResult result;
  CHECK_FALSE(library->why_unsupported(KernelFunction::kPrefill, placed().inputs()));
  library->attend(KernelFunction::kPrefill, placed().inputs(), result);
  CHECK(library->take_printed() == "it printed\n  a\tb\\x1b[31m\\x0d\n  \\xc2\\x9bc\303\244");
  CHECK(library->take_printed().empty());
}

TEST_CASE("a library that prints without end is ended before it has filled memory") {
  const CallOutcome outcome = outcome_with("print without end");
  CHECK(outcome.kind == CallOutcome::Kind::kWrong);
  CHECK_THAT(outcome.text, StartsWith("prefill was ended by SIGXFSZ: it printed more than 64 MiB, "
                                      "or wrote as much to a file\nit printed\n  -----"));
  CHECK_THAT(outcome.text, EndsWith("---\n  [...]"));
  CHECK(outcome.text.size() < 3000);
}

TEST_CASE("a status is what it says") {
  CHECK(outcome_with("unsupported").kind == CallOutcome::Kind::kUnsupported);
  CHECK(outcome_with("unsupported").text == "soft caps");
  CHECK(outcome_with("unsupported without a word").text == "unsupported, it says no more");
  CHECK(outcome_with("unsupported in colours").text == "?[31mno matter");
  check_wrong("failed", "returned 2: 'out of shared memory'");
  check_wrong("failed in two lines", "returned 2, and says\n  race: row 1\n  race: row 2");
  CHECK(outcome_with("failed in two lines").failure == "status: race");
  check_wrong("failed in printed lines", "returned 2\nit printed\n  race: row 1\n  race: row 2");
  CHECK_THAT(outcome_with("failed in many").text, StartsWith("prefill returned 2\nit printed\n"));
  check_wrong("failed in less", "returned 2: 'race: row 1'\nit printed\n  race: row 12");
  check_wrong("status 7", "returned 7, which is no status, and gave no message");
  CHECK(outcome_with("failed").failure == "status");
  CHECK(outcome_with("failed by a race").failure == "status: race in kernel * of fp16");
}

TEST_CASE("the call after a fault finds the library as new") {
  const Fault fault("abort on long contexts");
  const auto library = opened();
  reference::AttentionResult result;
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  for (int i = 0; i < 3; ++i) {
    CHECK(library->attend(KernelFunction::kPrefill, placed().inputs(), result).text ==
          "prefill was ended by SIGABRT");
    CHECK_FALSE(library->why_unsupported(KernelFunction::kPrefill, placed().inputs()));
    CHECK(library->attend(KernelFunction::kPrefill, good.inputs(), result).kind ==
          CallOutcome::Kind::kDone);
  }
}

// Of a call of another size.
CallOutcome outcome_in(KernelLibrary& library, std::int64_t block_size) {
  reference::AttentionResult result;
  const PlacedProblem other(two_sequences(), {.block_size = block_size});
  return library.attend(KernelFunction::kPrefill, other.inputs(), result);
}

TEST_CASE("a library that never comes back is given up, but for what is known of it") {
  const Fault fault("loop");
  const auto library = opened({.time_limit_ms = 50, .time_outs_max = 2});
  const auto is_late = StartsWith("prefill did not come back within ");
  CHECK_THAT(outcome_in(*library, 1).text, is_late);
  CHECK_THAT(outcome_in(*library, 1).text, is_late);  // and is not tried again
  CHECK_THAT(outcome_in(*library, 2).text, is_late);
  CHECK(outcome_in(*library, 4).kind == CallOutcome::Kind::kUnsupported);
  CHECK(outcome_in(*library, 4).text == "given up after 2 calls that did not come back");
  CHECK_THAT(outcome_in(*library, 2).text, is_late);
}

TEST_CASE("calls of trials that do not come back do not count, and are not given up") {
  const Fault fault("loop");
  const auto library = opened({.time_limit_ms = 20, .time_outs_max = 1});
  library->restart();
  CHECK(outcome_in(*library, 1).kind == CallOutcome::Kind::kWrong);
  CHECK(outcome_in(*library, 2).kind == CallOutcome::Kind::kWrong);
  library->end_trials();
  CHECK(outcome_in(*library, 4).kind == CallOutcome::Kind::kWrong);
  CHECK(outcome_in(*library, 8).kind == CallOutcome::Kind::kUnsupported);
}

}  // namespace
}  // namespace recto::verify
