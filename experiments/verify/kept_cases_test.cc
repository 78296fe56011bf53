// Tests of the folder of failing cases: the number of saved cases, obstacles, and files of earlier
// runs.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/support/command.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
const std::string kRight = "experiments/examples/libpaged_kernel.so";
const std::string kFaulty = "experiments/examples/libfaulty_kernel.so";

testing::TriedCommand verify(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "verify");
  return testing::try_command(verify_command, std::move(arguments));
}

std::string folder_named(const char* name) {
  return (std::filesystem::path(std::getenv("TEST_TMPDIR")) / name).string();
}

TEST_CASE("the flag --failures limits the reduced failures, and equal ones are saved once") {
  const std::string folder = folder_named("several");
  const auto tried =
      verify({"--kernel", kFaulty, "--backend", "prefill", "--law", "oracle", "--cases", "60",
              "--context-max", "64", "--failures", "2", "--out", folder, "--json"});
  REQUIRE(tried.exit_code == 1);
  const Json json = parse_json(tried.out).value();
  const Json& counts = json["counts"][0];
  CHECK(counts["failed"].get<double>() >= 2);
  std::int64_t same = 0;
  for (const auto& [kind, failures] : counts["failed_by_kind"].items()) {
    same += failures["shrunk_to_shown"].get<int>();
  }
  CHECK(json["failures"].size() + static_cast<std::size_t>(same) == 2);
  const std::string second = folder + "/faulty-c-prefill-oracle-2.json";
  CHECK(std::filesystem::exists(second) == (same == 0));
}

TEST_CASE("a failing case that cannot be written is a failure that says so") {
  // A folder stands where its file would.
  const std::string folder = folder_named("taken");
  std::filesystem::create_directories(folder + "/faulty-c-prefill-oracle-1.json");
  const auto tried = verify({"--kernel", kFaulty, "--backend", "prefill", "--law", "oracle",
                             "--cases", "20", "--context-max", "64", "--out", folder});
  INFO(tried.out << tried.err);
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err, ContainsSubstring("faulty-c-prefill-oracle-1.json"));
  CHECK_THAT(tried.out, ContainsSubstring("faulty-c prefill  oracle"));
  CHECK_THAT(tried.out, ContainsSubstring("none, because the case could not be saved: " + folder));
  CHECK_THAT(tried.out, !ContainsSubstring("recto replay"));
}

TEST_CASE("the folder of --out is checked before the run, and not made without a failure") {
  const auto refused = verify({"--kernel", kRight, "--out", "/dev/null/x"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, ContainsSubstring("--out: /dev/null/x: "));
  const std::string folder = folder_named("no-need") + "/deeper";
  const auto tried = verify({"--backend", "naive-fp64", "--cases", "1", "--out", folder});
  CHECK(tried.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder_named("no-need")));
}

TEST_CASE("cases that replace others of an earlier run are named, and equal ones are not") {
  const std::string folder = folder_named("again");
  const auto with_bound = [&](const char* bound) {
    return verify({"--kernel", kFaulty, "--backend", "prefill", "--law", "oracle", "--cases", "20",
                   "--context-max", "64", "--bound", bound, "--out", folder});
  };
  const auto first = with_bound("probabilistic");
  INFO(first.out);
  CHECK(first.exit_code == 1);
  CHECK_THAT(first.out, !ContainsSubstring("Replaced"));
  CHECK(with_bound("probabilistic").out == first.out);
  const auto other = with_bound("worst-case");
  CHECK(other.exit_code == 1);
  CHECK_THAT(other.out,
             ContainsSubstring("\nOverwritten, with another case of an earlier run in it:\n  " +
                               folder + "/faulty-c-prefill-oracle-1.json\n"));
}

}  // namespace
}  // namespace recto::experiments
