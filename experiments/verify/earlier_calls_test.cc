// A library that is wrong by what earlier calls have left in it: it is found, and what is kept of
// it fails again.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/replay/replay_command.h"
#include "experiments/support/tried_command.h"
#include "experiments/verify/verify_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kLibrary = "experiments/verify/libearlier_calls.so";

struct Tried {
  testing::TriedCommand run;
  std::vector<std::string> files = {};  // that were kept
};

Tried verify_with(const std::string& fault, const std::string& law) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / (fault + "-" + law);
  setenv("RECTO_TEST_FAULT", fault.c_str(), 1);
  Tried tried{.run = testing::try_command(add_verify_command,
                                          {"verify", "--kernel", kLibrary, "--law", law, "--cases",
                                           "24", "--context-max", "100", "--out", folder})};
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      tried.files.push_back(entry.path());
  return tried;
}

testing::TriedCommand replay(const std::string& file) {
  return testing::try_command(add_replay_command, {"replay", file, "--kernel", kLibrary});
}

TEST_CASE("the library without a fault passes") {
  for (const char* law : {"history", "oracle"}) {
    const Tried tried = verify_with("none", law);
    INFO(tried.run.out);
    CHECK(tried.run.exit_code == 0);
    CHECK(tried.files.empty());
  }
}

TEST_CASE("a plan that is kept for a batch's sizes is found, and each kept case fails again") {
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
             ContainsSubstring("fails\n  only after other calls: it holds alone in a new process, "
                               "and fails there after\n  1 other check:\n  oracle on "));
  REQUIRE(!tried.files.empty());
  for (const std::string& file : tried.files) {
    const auto again = replay(file);
    INFO(again.out);
    CHECK(again.exit_code == 1);
    CHECK_THAT(again.out, ContainsSubstring("\nafter      1 other check, each time\n"));
  }
}

}  // namespace
}  // namespace recto::experiments
