// Tests with a library that is wrong because of state from earlier calls: the fault is found, and
// the saved cases fail again.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/command.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kLibrary = "experiments/verify/libearlier_calls.so";

struct Tried {
  testing::TriedCommand run;
  std::vector<std::string> files = {};  // that were kept
};

using Flags = std::vector<std::string>;

Tried verify_with(const std::string& fault, const std::string& law,
                  const Flags& flags = {"--cases", "24"}) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / (fault + "-" + law);
  setenv("RECTO_TEST_FAULT", fault.c_str(), 1);
  Flags arguments = {"verify",        "--kernel", kLibrary, "--law", law,
                     "--context-max", "100",      "--out",  folder};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  Tried tried{.run = testing::try_command(verify_command, std::move(arguments))};
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      tried.files.push_back(entry.path());
  return tried;
}

testing::TriedCommand replay(const std::string& file, const Flags& flags = {}) {
  Flags arguments = {"replay", file, "--kernel", kLibrary};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return testing::try_command(replay_command, std::move(arguments));
}

TEST_CASE("the library without a fault passes") {
  for (const char* law : {"history", "oracle", "kv_write"}) {
    const Tried tried = verify_with("none", law);
    INFO(tried.run.out);
    CHECK(tried.run.exit_code == 0);
    CHECK(tried.files.empty());
  }
}

TEST_CASE("a plan reused for batches of equal sizes is caught, and each saved case fails again") {
  for (const char* law : {"history", "batch_independence"}) {
    const Tried tried = verify_with("plan", law);
    INFO(tried.run.out);
    CHECK(tried.run.exit_code == 1);
    REQUIRE(!tried.files.empty());
    for (const std::string& file : tried.files) {
      const auto again = replay(file);
      INFO(again.out);
      CHECK(again.exit_code == 1);
      CHECK_THAT(again.out, ContainsSubstring(std::string("law        ") + law + " is broken"));
    }
  }
}

TEST_CASE("a case that fails only after another is kept with it, and fails again") {
  const Tried tried = verify_with("window", "oracle");
  INFO(tried.run.out);
  CHECK(tried.run.exit_code == 1);
  CHECK_THAT(tried.run.out,
             ContainsSubstring("fails\n  only after other cases: it holds alone in a new process, "
                               "and fails there after\n  1 other case:\n"));
  REQUIRE(!tried.files.empty());
  for (const std::string& file : tried.files) {
    const auto again = replay(file);
    INFO(again.out);
    CHECK(again.exit_code == 1);
    CHECK_THAT(again.out, ContainsSubstring("\nafter      1 other case, each time\n"));
  }
}

TEST_CASE("slots reused for writes of equal size are caught, and each saved case fails again") {
  const Tried tried = verify_with("write-plan", "kv_write");
  INFO(tried.run.out);
  CHECK(tried.run.exit_code == 1);
  CHECK_THAT(tried.run.out,
             ContainsSubstring("one of as many tokens, with other values and slots"));
  REQUIRE(!tried.files.empty());
  for (const std::string& file : tried.files) CHECK(replay(file).exit_code == 1);
}

// At each 20th call: that is kept with what makes it the 20th.
void check_found(const std::string& fault, const std::string& words) {
  const Flags limit = {"--time-limit", "0.1"};
  const Tried tried = verify_with(fault, "oracle", {"--cases", "24", "--time-limit", "0.1"});
  INFO(tried.run.out);
  CHECK(tried.run.exit_code == 1);
  CHECK_THAT(tried.run.out, ContainsSubstring(words));
  CHECK_THAT(tried.run.out, ContainsSubstring("only after other cases: it ") &&
                                ContainsSubstring(", and fails there after\n"));
  REQUIRE(!tried.files.empty());
  const auto again = replay(tried.files.front(), limit);
  INFO(again.out);
  CHECK(again.exit_code == 1);
  CHECK_THAT(again.out, ContainsSubstring("law        oracle is broken"));
  CHECK_THAT(again.out, ContainsSubstring(words));
}

TEST_CASE("a library that hangs at each 20th call fails, and its saved case hangs again") {
  check_found("deadlock",
              " hangs: it did not return within 600 ms by the clock, and in the last "
              "100 it waited and");
}

TEST_CASE("a library that is late at each 20th call fails, and its saved case is late again") {
  check_found("spin", " did not return within ");
}

TEST_CASE("a right library that sleeps in each call passes") {
  const Tried tried = verify_with("sleep", "oracle", {"--cases", "4"});
  INFO(tried.run.out);
  CHECK(tried.run.exit_code == 0);
  CHECK(tried.files.empty());
}

TEST_CASE("a call that hangs in a rare case is shown beside wrong numbers, and no case is missed") {
  const Tried tried =
      verify_with("rare-spin", "oracle,history",
                  {"--cases", "30", "--time-limit", "0.05", "--backend", "prefill"});
  INFO(tried.run.out);
  CHECK(tried.run.exit_code == 1);
  CHECK_THAT(tried.run.out, ContainsSubstring("30 cases, seed"));
  CHECK_THAT(tried.run.out, ContainsSubstring(" did not return within ") &&
                                ContainsSubstring("one of its calls for this case did not return"));
  CHECK_THAT(tried.run.out, ContainsSubstring("out[sequence "));
  CHECK_THAT(tried.run.out, !ContainsSubstring("given up"));
}

TEST_CASE("a library's printed text is shown beside wrong numbers, with control codes escaped") {
  const Tried tried = verify_with("print", "oracle");
  CHECK(tried.run.exit_code == 1);
  const std::string line = "it printed\n  \\x1b[1ma window\\x1b[0m\tof keys\n";
  CHECK_THAT(tried.run.out, ContainsSubstring("  it printed\n    \\x1b[1ma window\\x1b[0m\tof"));
  REQUIRE(!tried.files.empty());
  CHECK_THAT(replay(tried.files.front()).out, ContainsSubstring(line));
}

}  // namespace
}  // namespace recto::experiments
