#include "verify/drawn_cases.h"

#include <cstdlib>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

DrawnCases three() { return {.name = "three", .count = 3}; }
DrawnCases seven() { return {.name = "seven", .count = 7}; }

std::vector<DescribedCase> all_of(CaseSource source) {
  std::vector<DescribedCase> cases;
  while (std::optional<DescribedCase> next = source()) cases.push_back(std::move(*next));
  return cases;
}

TEST_CASE("a choice names a set, or a case of it that a full run has") {
  const std::vector<DrawnCases> sets = {three(), seven()};
  const Result<CaseChoice> set = parse_case_choice("seven", sets);
  REQUIRE(set.status() == Status::ok());
  CHECK(set.value().includes(seven()));
  CHECK_FALSE(set.value().includes(three()));
  CHECK_FALSE(set.value().number);
  CHECK(parse_case_choice("three:0", sets).value().number == 0);
  CHECK(parse_case_choice("three:29", sets).value().number == 29);
  CHECK(parse_case_choice("seven:69", sets).value().number == 69);
}

TEST_CASE("any other choice of cases is refused, and the message lists the choices") {
  const std::vector<DrawnCases> sets = {three(), seven()};
  for (const char* text :
       {"", "abc", "5", "three:", "three:abc", "three:-1", "three: 1", "three:1x", "three:30",
        "seven:70", "thre", "threee:1", ":1", "three:1:2"})
    CHECK(parse_case_choice(text, sets).status().message() ==
          std::string("RECTO_CASE: expected three, three:0 to three:29, seven, seven:0 to "
                      "seven:69, got '") +
              text + "'");
}

TEST_CASE("a choice picks the cases of one set, by the numbers that they have in any run") {
  if (std::getenv("RECTO_FULL") != nullptr) RECTO_SKIP("a full run draws more cases");
  const std::vector<DescribedCase> all = all_of(drawn_cases(seven(), {}));
  REQUIRE(all.size() == 7);
  CHECK(all_of(drawn_cases(seven(), {.set = "seven"})).size() == 7);
  CHECK(all_of(drawn_cases(seven(), {.set = "three"})).empty());
  CHECK(all_of(drawn_cases(seven(), {.set = "three", .number = 2})).empty());
  const std::vector<DescribedCase> one =
      all_of(drawn_cases(seven(), {.set = "seven", .number = 5}));
  REQUIRE(one.size() == 1);
  CHECK(one[0].description == all[5].description);
  CHECK(one[0].description != all[4].description);
  // Beyond the count without RECTO_FULL.
  CHECK(all_of(drawn_cases(seven(), {.set = "seven", .number = 69})).size() == 1);
}

TEST_CASE("sets of different names have different cases, and each case its replay") {
  const char* target = std::getenv("TEST_TARGET");
  const DescribedCase drawn = drawn_case(seven(), 5);
  CHECK(drawn.description != drawn_case(three(), 5).description);
  CHECK(drawn.description ==
        drawn_case({.name = "a", .count = 7, .stream = "seven"}, 5).description);
  CHECK(drawn.replay == "./bazelw test --test_env=RECTO_CASE=seven:5 " +
                            std::string(target == nullptr ? "<this test>" : target));
  REQUIRE(drawn.simpler_cases);
  CHECK(drawn.simpler_cases().front()().replay == drawn.replay);
}

}  // namespace
}  // namespace recto::verify
