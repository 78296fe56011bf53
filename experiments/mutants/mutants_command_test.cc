#include "experiments/support/command.h"

#include <fstream>
#include <utility>

#include "bazel/testing/catch.h"
#include "experiments/mutants/campaign_result.h"
#include "experiments/mutants/summary.h"
#include "experiments/support/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

testing::TriedCommand mutants(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "mutants");
  return testing::try_command(mutants_command, std::move(arguments));
}

std::string mutant(const char* name, const char* ours, const char* listed) {
  return std::string(R"({"name": ")") + name +
         R"(", "area": "kernels", "operator": "index", "place": "a.cuh:1", "text": "a -> b", )" +
         R"("listed": )" + listed + R"(, "ours": ")" + ours +
         R"(", "by": "some test", "sort": "some law", "seconds": 1.5, )" +
         R"("imitations": ["killed", "passed"]})";
}

std::string written(const std::string& text) {
  const std::string path = "campaign.json";
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("equivalent mutants are set apart, and shares are of the others") {
  const std::string mutants_of_it =
      mutant("a", "killed", "null") + ", " + mutant("b", "passed", "\"equivalent\"") + ", " +
      mutant("d", "passed", "\"same code\"") + ", " + mutant("c", "passed", "null");
  const std::string path = written(R"({"date": "2026-01-02", "mutants": [)" + mutants_of_it + "]}");
  const testing::TriedCommand tried = mutants({"--result", path});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("campaign of 2026-01-02, 4 mutants"));
  CHECK_THAT(tried.out, ContainsSubstring("kernels        4                  1           1  "
                                          "1/2 (50.0 %)         1          0        0"));
  CHECK_THAT(tried.out, ContainsSubstring("2/2 (100.0 %)  0/2 (0.0 %)"));
  CHECK_THAT(tried.out, ContainsSubstring("some law         1              1.5   1.5"));
  const testing::TriedCommand listed = mutants({"--result", path, "--list", "--area", "kernels"});
  CHECK_THAT(listed.out, ContainsSubstring("b       equivalent      1.5  a.cuh:1  some test"));
  CHECK_THAT(listed.out, ContainsSubstring("c       survived"));
  CHECK_THAT(listed.out, ContainsSubstring("d       same code"));
}

TEST_CASE("who killed first is counted apart, and that none was left is said") {
  std::string mutants_of_it;
  for (const char* sort : {"the oracle", "law: chunking", "checks of the executor", "goldens",
                           "undefined behaviour", "bounds of containers", "thresholds"}) {
    std::string one = mutant("a", "killed", "null");
    one.replace(one.find("some law"), 8, sort);
    mutants_of_it += (mutants_of_it.empty() ? "" : ", ") + one;
  }
  const std::string path = written(R"({"date": "2026-01-02", "mutants": [)" + mutants_of_it + "]}");
  const testing::TriedCommand tried = mutants({"--result", path});
  CHECK_THAT(tried.out, ContainsSubstring("None survived, crashed, or was ended by the clock."));
  CHECK_THAT(tried.out, ContainsSubstring("kernels                     3          2         2"));
}

TEST_CASE("what each kills alone is shown of campaigns that tried it") {
  const auto with_alone = [](const char* verify, const char* laws) {
    std::string one = mutant("a", "killed", "null");
    one.pop_back();
    return one + R"(, "alone": {"verify": ")" + verify + R"(", "laws": [)" + laws + "]}}";
  };
  const std::string mutants_of_it = with_alone("killed", R"("chunking", "oracle")") + ", " +
                                    with_alone("killed", R"("oracle")") + ", " +
                                    with_alone("threw", "") + ", " + mutant("b", "killed", "null");
  const std::string path =
      written(R"({"date": "2026-01-02", "laws": ["chunking", "history", "oracle"], "mutants": [)" +
              mutants_of_it + "]}");
  const std::string out = mutants({"--result", path}).out;
  CHECK_THAT(out,
             ContainsSubstring("3/3 (100.0 %)  2/3 (66.7 %)     1/3 (33.3 %)    3/3 (100.0 %)"));
  CHECK_THAT(out, ContainsSubstring("\noracle           2  the reference"));
  CHECK_THAT(out, ContainsSubstring("\nchunking         1  the same backend"));
  CHECK_THAT(out, ContainsSubstring("\nhistory          0  the same backend"));
  const std::string without =
      written(R"({"date": "", "mutants": [)" + mutant("a", "killed", "null") + "]}");
  CHECK_THAT(mutants({"--result", without}).out, !ContainsSubstring("alone"));
}

TEST_CASE("the last campaign is built in, and has every area") {
  const testing::TriedCommand tried = mutants({});
  CHECK(tried.exit_code == 0);
  for (const char* area : {"kernels", "launches", "host API", "block manager", "prefix cache",
                           "scheduler", "reference"}) {
    CHECK_THAT(tried.out, ContainsSubstring(std::string("\n") + area));
  }
}

TEST_CASE(
    "a row each is of the campaign, of it without the compiler's checks, and of another draw") {
  const std::string out = mutants({}).out;
  for (const char* row : {"picked ones and the first draw",
                          "\nthe same, without the compiler's checks", "\na second draw"}) {
    CHECK_THAT(out, ContainsSubstring(row));
  }
  CHECK_THAT(mutants({"--area", "kernels"}).out, !ContainsSubstring("a second draw"));
}

TriedMutant tried(const char* name, const char* ours) {
  TriedMutant mutant;
  mutant.name = name;
  mutant.ours = ours;
  return mutant;
}

TEST_CASE("what was tried anew became what it became there, and others what they were") {
  const std::vector<TriedMutant> first = {tried("a", "killed"), tried("b", "killed")};
  const auto anew = tried_anew(first, {tried("b", "crashed")});
  REQUIRE(anew.is_ok());
  CHECK(anew.value()[0].ours == "killed");
  CHECK(anew.value()[1].ours == "crashed");
  CHECK(tried_anew(first, {tried("c", "killed")}).status() ==
        Status::invalid_input("mutant 'c': expected one of the campaign's"));
}

TEST_CASE("what is no result is refused by field") {
  const auto refusal = [](const std::string& text) {
    return parse_campaign_result("x", text).status().message();
  };
  CHECK(refusal("{") == "x: expected JSON");
  CHECK(refusal("[]") == "x: expected an object");
  CHECK(refusal("{}") == "x: field 'date': expected text");
  CHECK(refusal(R"({"date": ""})") == "x: field 'mutants': expected a list");
  CHECK(refusal(R"({"date": "", "mutants": []})") == "x: field 'mutants': expected at least one");
  CHECK(refusal(R"({"date": "", "mutants": [1]})") == "x: mutant 1: expected an object");
  CHECK(refusal(R"({"date": "", "mutants": [{"name": "a"}]})") ==
        "x: mutant 1: field 'area': expected text");
  CHECK(refusal(R"({"date": "", "laws": 1})") == "x: field 'laws': expected a list");
  std::string alone = mutant("a", "killed", "null");
  alone.replace(alone.size() - 1, 1, R"(, "alone": {"verify": "killed", "laws": [1]}})");
  CHECK(refusal(R"({"date": "", "mutants": [)" + alone + "]}") ==
        "x: mutant 1: field 'laws': expected a list of texts");
  CHECK(mutants({"--result", "nowhere.json"}).exit_code == 2);
  const testing::TriedCommand tried = mutants({"--area", "x"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--area: found 'x'; expected one of "));
}

}  // namespace
}  // namespace recto::experiments
