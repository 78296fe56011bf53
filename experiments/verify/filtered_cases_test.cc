// Filters of recto verify: cases within them are drawn, and calls beyond them are not made.

#include <cstdlib>
#include <string>
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

testing::TriedCommand verify(const std::string& library, std::vector<std::string> flags) {
  const std::vector<std::string> words = {"verify",
                                          "--kernel",
                                          library,
                                          "--out",
                                          std::string(std::getenv("TEST_TMPDIR")),
                                          "--rows-max",
                                          "20",
                                          "--context-max",
                                          "200",
                                          "--sequences-max",
                                          "8",
                                          "--q-heads-max",
                                          "16"};
  flags.insert(flags.begin(), words.begin(), words.end());
  return testing::try_command(verify_command, std::move(flags));
}

TEST_CASE("a library gets no call beyond the filter, whatever laws make of its cases") {
  const auto tried = verify(
      kRight, {"--type", "fp32", "--head-dim", "16,64", "--layout", "token-major", "--block-size",
               "16", "--without", "alibi,empty", "--require", "window", "--cases", "12", "--json"});
  INFO(tried.err);
  REQUIRE(tried.exit_code == 0);
  const Json json = parse_json(tried.out).value();
  REQUIRE(!json["sizes"].empty());
  for (const auto& [name, sizes] : json["sizes"].items()) {
    CAPTURE(name);
    CHECK(sizes["layouts"] == Json({"token-major"}));
    CHECK(sizes["types"] == Json({"fp32/fp32"}));
    CHECK(sizes["block sizes"] == Json({16}));
    for (const Json& dim : sizes["head dims"]) CHECK((dim == 16 || dim == 64));
    if (sizes.contains("context")) CHECK(sizes["context"][0].get<int>() >= 1);
  }
  const Json& counts = json["by_feature"];
  CHECK(counts["window"]["checks"].get<int>() > 20);
  CHECK(counts["fp32"]["checks"] == counts["window"]["checks"]);
  CHECK(counts["window"]["failed"] == 0);
  CHECK(!counts.contains("alibi"));
}

TEST_CASE("a filter that leaves no case is bad usage, and so are unknown words") {
  const auto check = [](const std::vector<std::string>& flags, const std::string& message) {
    const auto tried = verify(kRight, flags);
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(message));
  };
  check({"--require", "sinks", "--without", "sinks"}, "--require: found 'sinks'");
  check({"--kinds", "tiny"}, "--kinds: found 'tiny'; expected one of small, model");
  check({"--poison", "some"}, "--poison");
  check({"--numerics", "p=fp8"}, "p: found 'fp8'; expected fp32, fp16 or bf16");
  check({"--numerics", "q=fp16"},
        "found 'q'; expected p, products, partials, sum, exp or accumulate");
  check({"--numerics", "sum=fp16"}, "sum: found 'fp16'; expected rounded or unrounded");
  const auto nothing = testing::try_command(
      verify_command, {"verify", "--kernel", kRight, "--require", "rows-beyond-context",
                       "--rows-max", "1", "--out", std::getenv("TEST_TMPDIR")});
  CHECK(nothing.exit_code == 2);
  CHECK_THAT(nothing.err, ContainsSubstring("no drawn case meets all of them"));
  const auto tried = testing::try_command(verify_command, {"verify", "--caller", "999"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--caller: expected a connected socket"));
}

TEST_CASE("kinds of cases are chosen by name") {
  const auto tried = verify(
      kRight, {"--kinds", "chunks,speculation", "--law", "oracle", "--cases", "6", "--json"});
  INFO(tried.err);
  CHECK(parse_json(tried.out).value()["cases_of_serving_size"] == 2);
  const auto small =
      verify(kRight, {"--kinds", "small", "--law", "oracle", "--cases", "6", "--json"});
  CHECK(parse_json(small.out).value()["cases_of_serving_size"] == 0);
}

TEST_CASE("a run may end at the first case that fails") {
  const auto tried = verify(kFaulty, {"--fail-fast", "--law", "oracle", "--json"});
  CHECK(tried.exit_code == 1);
  const Json json = parse_json(tried.out).value();
  CHECK(json["failed"].get<int>() >= 1);
  CHECK(json["cases"].get<int>() < 120);
  const auto later = verify(kFaulty, {"--after-failure", "3", "--law", "oracle", "--json"});
  CHECK(parse_json(later.out).value()["cases"].get<int>() == json["cases"].get<int>() + 3);
  const auto counted =
      verify(kFaulty, {"--failures", "0", "--fail-fast", "--law", "oracle", "--json"});
  const Json none = parse_json(counted.out).value();
  CHECK(none["failures"].empty());
  CHECK(none["failed"] == json["failed"]);
  CHECK(none["cases"] == json["cases"]);
}

}  // namespace
}  // namespace recto::experiments
