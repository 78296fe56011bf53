// Faults of a library in its process: each is described, with the buffer concerned, and the next
// call finds the library in its initial state.

#include "verify/library/kernel_library.h"

#include <stdlib.h>

#include <cmath>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/cases/placed_problem.h"
#include "verify/library/outcome_test_parts.h"
#include "verify/quoted_text.h"

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

// Rows with gaps, and a block table of two rows of three entries.
const PlacedProblem& placed() {
  static const PlacedProblem kProblem(two_sequences(), {.block_size = 2, .row_padding = 16});
  return kProblem;
}

std::shared_ptr<KernelLibrary> opened(const KernelLibraryOptions& options = {}) {
  return KernelLibrary::open("verify/library/libfaults.so", options).value();
}

// The fault of processes that start during this object's lifetime.
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
  return library->attend(KernelFunction::kPrefill, placed().inputs(), {});
}

void check_wrong(const char* fault, const std::string& words,
                 const KernelLibraryOptions& options = {}) {
  const CallOutcome outcome = outcome_with(fault, options);
  CHECK(is_failed(outcome));
  CHECK(text_of(outcome) == "prefill " + words);
}

TEST_CASE("a successful call returns what the library wrote") {
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(), {});
  CHECK(is_done(outcome));
  const reference::AttentionResult result = result_of(outcome);
  REQUIRE(result.out.size() == 16);
  REQUIRE(result.lse_ln.size() == 4);
  for (const double value : result.out) CHECK(value == 0);
  for (const double value : result.lse_ln) CHECK(value == 0);
}

TEST_CASE("a library that gives no lse has results without it") {
  const reference::AttentionResult result = result_of(outcome_with("without lse"));
  CHECK(result.out.size() == 16);
  CHECK(result.lse_ln.empty());
}

TEST_CASE("accesses beyond buffers are reported with buffer and byte") {
  check_wrong("null pointer", "was ended by SIGSEGV: a write through a null pointer");
  check_wrong("read beyond table",
              "was ended by SIGSEGV: a read at byte 16384 of block_table, which has 24");
  check_wrong("read before table",
              "was ended by SIGSEGV: a read 8192 bytes before block_table, which has 24");
  check_wrong("write beyond lse",
              "was ended by SIGSEGV: a write at byte 8192 of lse_ln, which has 16");
  check_wrong("write far away", "was ended by SIGSEGV: a write far from any buffer");
}

TEST_CASE("a write to read-only memory is reported with buffer and byte") {
  check_wrong("write context_length",
              "was ended by SIGSEGV: a write at byte 4 of context_length, which may only be read");
}

TEST_CASE("writes beside elements, where nothing stops them, are found afterwards") {
  const CallOutcome outcome = outcome_with("write beside lse");
  CHECK(is_failed(outcome));
  // At the end without a guard page.
  CHECK((text_of(outcome).find("lse_ln, which has 16") != std::string::npos));
  check_wrong("write gap",
              "went beyond its rows: a write between rows 0 and 1 of out, at byte 12 of the gap of "
              "64");
}

TEST_CASE("a write between heads is reported with row, head and byte") {
  const Fault fault("write head gap");
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(),
                                               {.out_gaps = RowGaps{.rows = 0, .heads = 16}});
  CHECK(text_of(outcome) ==
        "prefill went beyond its rows: a write between heads 0 and 1 of row 0 of out, at byte 12 "
        "of the gap of 64");
}

TEST_CASE("results are read by the strides of heads and rows") {
  const CallOutcome outcome = opened()->attend(KernelFunction::kPrefill, placed().inputs(),
                                               {.out_gaps = RowGaps{.rows = 16, .heads = 32}});
  CHECK(is_done(outcome));
  const reference::AttentionResult result = result_of(outcome);
  REQUIRE(result.out.size() == 16);
  for (const double value : result.out) CHECK(value == 0);
}

TEST_CASE("the end of a library's process is reported with its cause") {
  check_wrong("exit", "ended its process, with exit code 0");
  check_wrong("_exit", "ended its process, with exit code 3");
  check_wrong("abort", "was ended by SIGABRT");
  check_wrong("kill", "was ended by SIGKILL");
  check_wrong("divide", "was ended by SIGFPE");
  check_wrong("stack", "was ended by SIGSEGV: a write far from any buffer");
  check_wrong("close everything",
              "closed file descriptors that are not its own, and did not continue");
  check_wrong("child keeps looping", "was ended by SIGABRT");
}

TEST_CASE("an endless loop is ended") {
  const CallOutcome outcome = outcome_with("loop", {.time_limit_ms = 200});
  CHECK(kind_of(outcome) == "time-out");
  // On a busy machine, the clock's limit may come first.
  CHECK_THAT(text_of(outcome),
             Equals("prefill did not return within 200 ms of CPU time") ||
                 StartsWith("prefill did not return within 1200 ms by the clock"));
}

TEST_CASE("the time limit counts CPU time, and not time spent waiting") {
  CHECK(is_done(outcome_with("wait for 1.5 s", {.time_limit_ms = 1000})));
}

TEST_CASE("a call that waits for ever is reported as hanging, and is not repeated") {
  const Fault fault("wait for ever");
  const auto library = opened({.time_limit_ms = 100});
  const auto outcome = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  };
  CHECK(text_of(outcome()) ==
        "prefill hangs: it did not return within 600 ms by the clock, and in the last 100 it "
        "waited and computed nothing");
  CHECK(kind_of(outcome()) == "time-out");
  CHECK_FALSE(may_be_machine(outcome()));
}

TEST_CASE("a call that is late after others is left to its caller, and fails if late again") {
  const Fault fault("loop on long contexts");
  const auto library = opened({.time_limit_ms = 100});
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  CHECK(is_done(library->attend(KernelFunction::kPrefill, good.inputs(), {})));
  const auto late = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  };
  CHECK(kind_of(late()) == "time-out");
  CHECK(may_be_machine(late()));
  library->restart(CallsAre::kTrials);
  CHECK(kind_of(late()) == "time-out");
  CHECK_FALSE(may_be_machine(late()));
}

TEST_CASE("a call that was late after others, and is not when repeated, does not count") {
  const std::string seen = std::string(getenv("TEST_TMPDIR")) + "/late-after-others";
  setenv("RECTO_TEST_SEEN", seen.c_str(), 1);
  const Fault fault("loop once on long contexts");
  const auto library = opened({.time_limit_ms = 100, .time_outs_max = 1});
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  library->attend(KernelFunction::kPrefill, good.inputs(), {});
  const auto outcome = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  };
  CHECK(may_be_machine(outcome()));
  library->restart(CallsAre::kTrials);
  CHECK(is_done(outcome()));
  unsetenv("RECTO_TEST_SEEN");
}

TEST_CASE("a call that is late once is repeated, and is not a failure") {
  const std::string seen = std::string(getenv("TEST_TMPDIR")) + "/late-once";
  setenv("RECTO_TEST_SEEN", seen.c_str(), 1);
  const Fault fault("loop once");
  const auto library = opened({.time_limit_ms = 500});
  const auto outcome = [&] {
    return library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  };
  CHECK(may_be_machine(outcome()));
  library->restart(CallsAre::kTrials);
  const reference::AttentionResult result = result_of(outcome());
  unsetenv("RECTO_TEST_SEEN");
  REQUIRE(result.out.size() == 16);
  for (const double value : result.out) CHECK(value == 0);
}

TEST_CASE("output of a failed call is shown with the failure") {
  check_wrong("print and abort", "was ended by SIGABRT\nit printed\n  about to\n  fail!");
}

TEST_CASE("output of a call that returns is kept, with control characters escaped") {
  const Fault fault("print");
  const auto library = opened();
  const CallOutcome outcome = library->attend(KernelFunction::kPrefill, placed().inputs(), {});
  CHECK(printed_text(std::get<Done>(outcome).printed) ==
        "it printed\n  a\tb\\x1b[31m\\x0d\n  \\xc2\\x9bc\303\244");
}

TEST_CASE("a library that prints without end is ended before it has filled memory") {
  const CallOutcome outcome = outcome_with("print without end");
  CHECK(is_failed(outcome));
  CHECK_THAT(text_of(outcome),
             StartsWith("prefill was ended by SIGXFSZ: it printed more than 64 MiB, "
                        "or wrote as much to a file\nit printed\n  -----"));
  CHECK_THAT(text_of(outcome), EndsWith("---\n  [...]"));
  CHECK(text_of(outcome).size() < 3000);
}

TEST_CASE("each status gives its outcome, with the library's message") {
  CHECK(is_unsupported(outcome_with("unsupported")));
  CHECK(text_of(outcome_with("unsupported")) == "soft caps");
  CHECK(text_of(outcome_with("unsupported without a word")) == "unsupported, without a reason");
  CHECK(text_of(outcome_with("unsupported in colours")) == "?[31mno matter");
  check_wrong("failed", "returned 2: 'out of shared memory'");
  check_wrong("failed in two lines", "returned 2, and says\n  race: row 1\n  race: row 2");
  CHECK(kind_of(outcome_with("failed in two lines")) == "status: race");
  check_wrong("failed in printed lines", "returned 2\nit printed\n  race: row 1\n  race: row 2");
  CHECK_THAT(text_of(outcome_with("failed in many")),
             StartsWith("prefill returned 2\nit printed\n"));
  check_wrong("failed in less", "returned 2: 'race: row 1'\nit printed\n  race: row 12");
  check_wrong("status 7", "returned 7, which is not a status, without a message");
  CHECK(kind_of(outcome_with("failed")) == "status");
  CHECK(kind_of(outcome_with("failed by a race")) == "status: race in kernel * of fp16");
}

TEST_CASE("a call after a crash succeeds in a new process") {
  const Fault fault("abort on long contexts");
  const auto library = opened();
  AttentionProblem shorter = two_sequences();
  shorter.sequences.pop_back();
  const PlacedProblem good(shorter, {});
  for (int i = 0; i < 3; ++i) {
    CHECK(text_of(library->attend(KernelFunction::kPrefill, placed().inputs(), {})) ==
          "prefill was ended by SIGABRT");
    CHECK(is_done(library->attend(KernelFunction::kPrefill, good.inputs(), {})));
  }
}

// The outcome of a call of another size.
CallOutcome outcome_in(KernelLibrary& library, std::int64_t block_size) {
  const PlacedProblem other(two_sequences(), {.block_size = block_size});
  return library.attend(KernelFunction::kPrefill, other.inputs(), {});
}

TEST_CASE("a library that keeps not returning is called no more, and known outcomes are kept") {
  const Fault fault("loop");
  const auto library = opened({.time_limit_ms = 50, .time_outs_max = 2});
  const auto is_late = StartsWith("prefill did not return within ");
  CHECK_THAT(text_of(outcome_in(*library, 1)), is_late);
  CHECK_THAT(text_of(outcome_in(*library, 1)), is_late);  // and is not tried again
  CHECK_THAT(text_of(outcome_in(*library, 2)), is_late);
  CHECK(is_unsupported(outcome_in(*library, 4)));
  CHECK(text_of(outcome_in(*library, 4)) == "no longer called, after 2 calls that did not return");
  CHECK_THAT(text_of(outcome_in(*library, 2)), is_late);
}

TEST_CASE("calls of trials that do not return do not count towards the limit") {
  const Fault fault("loop");
  const auto library = opened({.time_limit_ms = 20, .time_outs_max = 1});
  library->restart(CallsAre::kTrials);
  CHECK(is_failed(outcome_in(*library, 1)));
  CHECK(is_failed(outcome_in(*library, 2)));
  library->restart(CallsAre::kOfDrawnCases);
  CHECK(is_failed(outcome_in(*library, 4)));
  CHECK(is_unsupported(outcome_in(*library, 8)));
}

}  // namespace
}  // namespace recto::verify
