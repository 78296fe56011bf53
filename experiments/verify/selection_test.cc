#include "experiments/verify/selection.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/json.h"
#include "core/random_stream.h"
#include "experiments/support/command.h"
#include "experiments/support/testing/tried_command.h"
#include "verify/cases/case_generator.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Matches;

// Ends the program, as programs' own handler does.
void end(const ContractReport& /*report*/) {}

TEST_CASE("a broken contract in a kernel throws, and does not end the program") {
  set_contract_handler(end);
  REQUIRE(select_checks(SelectionFlags{}).is_ok());
  CHECK_THROWS_AS([] { RECTO_CHECK_EQ(1, 2); }(), ContractFailure);
}

TEST_CASE("a crash in a kernel of the list fails its case, and not the program") {
  Selection selection =
      select_checks({.backends = "gqa-decode", .laws = "repetition,oracle"}).value();
  verify::Backend& backend = selection.backends.front().backend;
  backend.refusal = {};
  backend.attend = [](const auto&, const auto&) -> verify::CallOutcome {
    std::signal(SIGABRT, SIG_DFL);  // the test framework's handler would print much
    std::abort();
  };
  RandomStream stream(2026);
  const verify::CaseSpec spec = verify::draw_case(stream, {});
  const verify::LawCase law_case = {verify::make_problem(spec), spec.placement};
  const auto laws = checked_in_forks(selection.laws, names_on_executor(selection));
  REQUIRE(laws.size() == 2);
  for (const verify::Law& law : laws) {
    const auto verdict = law.check(backend, law_case, verify::BoundKind::kWorstCase);
    INFO(law.name);
    CHECK(verdict.failed());
    CHECK(verdict.kind() == "SIGABRT");
  }
}

TEST_CASE("an empty --backend or --law is refused") {
  for (const std::string flag : {"--backend", "--law"}) {
    const auto tried = testing::try_command(verify_command, {"verify", flag, "", "--list"});
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(flag + ": found ''; expected names of recto verify"));
  }
}

TEST_CASE("the report lists types and layouts that were tried beside the sizes") {
  const auto tried = testing::try_command(
      verify_command, {"verify", "--backend", "naive-fp64", "--law", "oracle", "--cases", "4"});
  CHECK_THAT(tried.out, ContainsSubstring("; types of q / of the cache\n") &&
                            ContainsSubstring("\n    types ") && ContainsSubstring(", layouts "));
}

TEST_CASE("the sizes are those of the calls that were made, not of the cases that were drawn") {
  const auto tried = testing::try_command(
      verify_command, {"verify", "--kernel", "experiments/examples/libpaged_kernel.so", "--law",
                       "engine_tables,kv_write", "--cases", "24", "--json"});
  REQUIRE(tried.exit_code == 0);
  const Json sizes = parse_json(tried.out).value()["sizes"];
  for (const char* function : {"plain-c decode", "plain-c prefill"}) {
    CHECK(sizes[function]["context"][1].get<double>() <= 120);
    CHECK(sizes[function]["sequences"][1].get<double>() <= 8);
    CHECK(sizes[function]["block sizes"] == std::vector<int>{4, 8, 16});
    CHECK_FALSE(sizes[function].contains("tokens"));
  }
  CHECK(sizes["plain-c decode"]["rows"] == std::vector<int>{1, 1});
  CHECK(sizes["plain-c prefill"]["rows"][1].get<double>() > 1);
  const Json& writes = sizes["plain-c kv_write"];
  CHECK(writes["tokens"][0].get<double>() >= 1);
  CHECK(writes["tokens"][1].get<double>() > 300);
  CHECK(writes["KV heads"][1].get<double>() > 1);
  for (const char* size : {"context", "sequences", "rows", "q heads", "groups"})
    CHECK_FALSE(writes.contains(size));
}

testing::TriedCommand independence_of(const std::string& library, bool is_promised) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "failing";
  std::vector<std::string> arguments = {
      "verify",        "--kernel", library, "--law", "batch_independence,chunking", "--cases", "12",
      "--context-max", "64",       "--out", folder};
  if (is_promised) arguments.emplace_back("--batch-invariant");
  return testing::try_command(verify_command, std::move(arguments));
}

TEST_CASE("a library that is said to be batch-invariant is held to the bits") {
  const auto right = independence_of("experiments/examples/libpaged_kernel.so", true);
  CHECK(right.exit_code == 0);
  CHECK_THAT(right.out, Matches("(.|\n)*batch_independence +[0-9]+ +0 +[0-9]+  bits(.|\n)*") &&
                            Matches("(.|\n)*chunking +[0-9]+ +0 +[0-9]+  bits(.|\n)*"));
  const std::string library = "experiments/verify/liblarge_faults.so";
  setenv("RECTO_TEST_FAULT", "batch:1", 1);
  CHECK(independence_of(library, false).exit_code == 0);
  const auto wrong = independence_of(library, true);
  unsetenv("RECTO_TEST_FAULT");
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.out, ContainsSubstring(" --kernel " + library + " --batch-invariant\n"));
}

TEST_CASE("the flag --batch-invariant without a library is refused") {
  const auto tried = testing::try_command(verify_command, {"verify", "--batch-invariant"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--batch-invariant: expected --kernel or --adapter"));
}

TEST_CASE("the help states how long a library's call may take") {
  const auto tried = testing::try_command(verify_command, {"verify", "--help"});
  CHECK_THAT(tried.out,
             ContainsSubstring("A call of a library that does not return within 10 s of CPU time, "
                               "or 120 s if it is built from\n"
                               "sources (--time-limit), or within 6 times that of wall time"));
}

TEST_CASE("a limit on a library's time is obeyed, and goes into the replay") {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "late";
  setenv("RECTO_TEST_FAULT", "loop", 1);
  const auto tried = testing::try_command(
      verify_command, {"verify", "--kernel", "verify/library/libfaults.so", "--law", "oracle",
                       "--cases", "3", "--time-limit", "0.05", "--out", folder});
  unsetenv("RECTO_TEST_FAULT");
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("prefill did not return within ") &&
                            ContainsSubstring("libfaults.so --time-limit 0.05\n"));
}

TEST_CASE("a time limit of 0, or without a library, is refused") {
  const auto without = testing::try_command(verify_command, {"verify", "--time-limit", "5"});
  CHECK(without.exit_code == 2);
  CHECK_THAT(without.err, ContainsSubstring("--time-limit: expected --kernel or --adapter"));
  const auto zero = testing::try_command(
      verify_command, {"verify", "--kernel", "verify/library/libfaults.so", "--time-limit", "0"});
  CHECK(zero.exit_code == 2);
  CHECK_THAT(zero.err, ContainsSubstring("--time-limit"));
}

}  // namespace
}  // namespace recto::experiments
