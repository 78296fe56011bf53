#include "verify/own_process.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

// Ends the process; the test framework's handler would print much.
[[noreturn]] void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
  abort();
}

using Attend = std::function<CallOutcome(const PagedAttentionInputs&, const CallOptions&)>;

CallOutcome called(Attend attend) {
  const Backend backend = in_own_process({.name = "own", .attend = std::move(attend)});
  return backend.call({});
}

Failed failed_of(const CallOutcome& outcome) {
  REQUIRE(std::holds_alternative<Failed>(outcome));
  return std::get<Failed>(outcome);
}

TEST_CASE("a call's outcome comes back unchanged, and what it wrote to memory does not") {
  int calls = 0;
  const auto two_rows = [&](const PagedAttentionInputs&, const CallOptions&) -> CallOutcome {
    ++calls;
    reference::AttentionResult result(2, 3, 5);
    for (std::size_t i = 0; i < result.out.size(); ++i) result.out[i] = static_cast<double>(i) / 7;
    result.lse_ln.back() = -1.5;
    return Done{result};
  };
  const reference::AttentionResult seen = result_of(called(two_rows));
  const reference::AttentionResult expected = std::get<Done>(two_rows({}, {})).result;
  CHECK(calls == 1);  // here
  CHECK(seen.num_rows == 2);
  CHECK(seen.num_heads == 3);
  CHECK(seen.head_dim == 5);
  CHECK(seen.out == expected.out);
  CHECK(seen.lse_ln == expected.lse_ln);

  const CallOutcome refused = called([](const auto&, const auto&) { return Unsupported{"q"}; });
  CHECK(std::get<Unsupported>(refused).reason == "q");
  const Failed thrown = failed_of(
      called([](const auto&, const auto&) -> CallOutcome { throw std::runtime_error("broken"); }));
  CHECK(thrown.kind == kThrown);
  CHECK(thrown.message == "broken");
}

TEST_CASE("a call that hangs is ended at its limit, whether it computes or waits") {
  const auto ended = [](Attend attend) {
    return failed_of(
        in_own_process({.name = "own", .attend = std::move(attend)}, {.cpu_s = 1, .clock_s = 2})
            .call({}));
  };
  const Failed computes = ended([](const auto&, const auto&) -> CallOutcome {
    volatile bool goes_on = true;
    while (goes_on) {
    }
    return Unsupported{"never"};
  });
  CHECK(computes.kind == kTimeOut);
  CHECK(computes.message.starts_with("took more than "));
  const Failed waits = ended([](const auto&, const auto&) -> CallOutcome {
    for (;;) pause();
  });
  CHECK(waits.kind == kTimeOut);
  CHECK(waits.message == "took more than 2 s");
  CHECK(waits.may_be_machine);
}

TEST_CASE("a call that ends its process fails by the signal's name, with what it printed") {
  const Failed segfault =
      failed_of(called([](const auto&, const auto&) -> CallOutcome { end_by(SIGSEGV); }));
  CHECK(segfault.kind == "SIGSEGV");
  CHECK(segfault.message == "was ended by SIGSEGV");
  const Failed corrupted = failed_of(called([](const auto&, const auto&) -> CallOutcome {
    signal(SIGABRT, SIG_DFL);
    auto* volatile row = static_cast<char*>(malloc(64));
    memset(row - 16, 0xff, 16);  // libc keeps the size there
    free(row);
    return Unsupported{"libc saw nothing"};
  }));
  CHECK(corrupted.kind == "SIGABRT");
  CHECK_THAT(corrupted.message,
             Catch::Matchers::StartsWith("was ended by SIGABRT\nit printed\n") &&
                 Catch::Matchers::EndsWith("(): invalid pointer"));  // free or munmap_chunk
  const Failed left = failed_of(called([](const auto&, const auto&) -> CallOutcome { _exit(3); }));
  CHECK(left.kind == "exit");
  CHECK(left.message == "ended its process, with exit code 3");
}

Law law_of(std::function<LawVerdict()> check) {
  return in_own_process(Law{.name = "moves",
                            .statement = "",
                            .why_not_applicable = [](const LawCase&) { return std::nullopt; },
                            .check = [check = std::move(check)](const Backend&, const LawCase&,
                                                                BoundKind) { return check(); }});
}

LawVerdict checked(std::function<LawVerdict()> check) {
  return law_of(std::move(check)).check({}, {}, BoundKind::kWorstCase);
}

TEST_CASE("a law's verdict comes back unchanged, or as the end of its process") {
  LawVerdict verdict;
  verdict.comparison.elements = 9;
  Mismatch mismatch;
  mismatch.kind = MismatchKind::kNaN;
  mismatch.block = 4;
  verdict.comparison.first = mismatch;
  verdict.what = "the pool";
  verdict.skipped_parts = {"a part", "another"};
  verdict.found = "a wrong block";
  verdict.printed = "text";
  const LawVerdict seen = checked([&] { return verdict; });
  CHECK(seen.comparison.text() == verdict.comparison.text());
  CHECK(seen.comparison.elements == 9);
  CHECK(seen.what == verdict.what);
  CHECK(seen.skipped_parts == verdict.skipped_parts);
  CHECK(seen.found == verdict.found);
  CHECK(seen.printed == verdict.printed);
  CHECK_FALSE(seen.skipped);
  CHECK_FALSE(seen.call_failure);
  CHECK(checked([] { return LawVerdict{.skipped = "why"}; }).skipped == "why");
  CHECK(checked([]() -> LawVerdict { end_by(SIGFPE); }).call_failure->kind == "SIGFPE");
  const LawVerdict thrown = checked([]() -> LawVerdict { throw std::runtime_error("broken"); });
  CHECK(thrown.call_failure->kind == kThrown);
}

}  // namespace
}  // namespace recto::verify
