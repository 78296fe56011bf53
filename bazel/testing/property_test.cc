// Tests of drawing, shrinking and printing by properties.

#include "bazel/testing/property.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/contract.h"

namespace recto {
namespace {

using Catch::Matchers::ContainsSubstring;

// Checks a property that fails, and returns what it prints.
std::string failure_of(const PropertyBody& body) {
  const PropertyResult result = check_property(body);
  CHECK_FALSE(result.holds);
  return result.text;
}

TEST_CASE("each value is shrunk to the plainest that fails, and printed by its name") {
  const std::string text = failure_of([](Draw& draw) {
    const std::int64_t blocks = draw.uniform(1, 1000, "blocks");
    draw.uniform(-100, 100);
    draw.growing(-100, -50);
    draw.boolean();
    const auto layout =
        draw.element<std::string>({"token-major", "head-major", "packed"}, "layout");
    RECTO_REQUIRE((blocks < 17 || layout == "token-major"));
  });
  CHECK_THAT(text, ContainsSubstring("blocks:\n17\n\nin [-100, 100]:\n0\n\nin [-100, -50]:\n-50\n\n"
                                     "boolean:\nfalse\n\nlayout:\n\"head-major\"\n\n"));
}

TEST_CASE("lists lose all entries that a failure does not need") {
  const auto has_large = [](const std::vector<std::int64_t>& list) {
    return std::ranges::any_of(list, [](std::int64_t entry) { return entry >= 7; });
  };
  const auto numbers = [](Draw& draw) { return draw.growing(0, 1000); };
  CHECK_THAT(failure_of([&](Draw& draw) { RECTO_REQUIRE(!has_large(draw.list(numbers))); }),
             ContainsSubstring("list:\n{ 7 }\n\n"));
  CHECK_THAT(failure_of([&](Draw& draw) { RECTO_REQUIRE(draw.list(numbers).size() < 3); }),
             ContainsSubstring("list:\n{ 0, 0, 0 }\n\n"));
  CHECK_THAT(failure_of([&](Draw& draw) {
               draw.nonempty_list(numbers);
               RECTO_REQUIRE(!has_large(draw.list_of(3, numbers)));
             }),
             ContainsSubstring("list:\n{ 0 }\n\nlist:\n{ 0, 0, 7 }\n\n"));
}

TEST_CASE("a composite is one value, which shrinks by those that it is made of") {
  const auto pair = [](Draw& draw) {
    const std::int64_t first = draw.uniform(0, 50);
    return std::pair(first, draw.uniform(first, 100));
  };
  const std::string text = failure_of([&](Draw& draw) {
    const auto [first, second] = draw.composite("pair", pair);
    const auto pairs = draw.list(pair, "pairs");
    RECTO_REQUIRE((second < 20 || pairs.empty()));
  });
  CHECK_THAT(text, ContainsSubstring("shrinks\n\npair:\n{ 0, 20 }\n\npairs:\n{ { 0, 0 } }\n\n"));
}

TEST_CASE("a custom value shrinks to what is said to be simpler") {
  const auto make = [](std::uint64_t bits) { return std::to_string(bits % 1000) + " tokens"; };
  const auto simpler = [](const std::string& text) {
    return text.size() > 1 ? std::vector{text.substr(1)} : std::vector<std::string>{};
  };
  const std::string text = failure_of([&](Draw& draw) {
    RECTO_REQUIRE(draw.custom("text", make, simpler).find("ken") == std::string::npos);
  });
  CHECK_THAT(text, ContainsSubstring("text:\n\"kens\"\n\n"));
}

TEST_CASE("growing values come from the first ones first, uniform ones from all") {
  std::set<std::int64_t> growing;
  std::set<std::int64_t> uniform;
  const auto note = [&](Draw& draw) {
    growing.insert(draw.growing(5, 504));
    uniform.insert(draw.uniform(5, 504));
  };
  CHECK(check_property(note, {.size_max = 0}).holds);
  CHECK(growing == std::set<std::int64_t>{5});
  CHECK(*uniform.begin() < 55);
  CHECK(*uniform.rbegin() >= 455);
  CHECK(check_property(note).holds);
  CHECK(*growing.rbegin() >= 405);
  CHECK(*growing.rbegin() <= 504);
}

TEST_CASE("lists are as long as they may be in a case of its size") {
  std::set<std::size_t> sizes;
  const auto note = [&](Draw& draw) {
    const auto entry = [](Draw& one) { return one.boolean(); };
    sizes.insert(draw.list(entry).size());
    RECTO_REQUIRE(!draw.nonempty_list(entry).empty());
    RECTO_REQUIRE(draw.list_of(60, entry).size() == 60);
  };
  CHECK(check_property(note, {.size_max = 0}).holds);
  CHECK(sizes == std::set<std::size_t>{0});
  CHECK(check_property(note, {.cases = 1000}).holds);
  CHECK(*sizes.rbegin() > 80);
  CHECK(*sizes.rbegin() <= 100);
}

TEST_CASE("the seed says what is drawn") {
  const auto drawn = [](std::uint64_t seed) {
    std::vector<std::uint64_t> all;
    check_property([&all](Draw& draw) { all.push_back(draw.seed()); }, {.seed = seed});
    return all;
  };
  CHECK(drawn(1).size() == 100);
  CHECK(drawn(1) == drawn(1));
  CHECK_FALSE(drawn(1) == drawn(2));
}

TEST_CASE("discarded cases do not count, and there must be some that do") {
  int counted = 0;
  const auto discard_odd = [&counted](Draw& draw) {
    if (draw.uniform(0, 9) % 2 == 1) discard_case();
    ++counted;
  };
  CHECK(check_property(discard_odd).holds);
  CHECK(counted == 100);
  CHECK_THAT(failure_of([](Draw&) { discard_case(); }), ContainsSubstring("Gave up after 0 tests"));
}

TEST_CASE("a property that holds tells how often each label came up") {
  const PropertyResult result = check_property(
      [](Draw& draw) { draw.classify(draw.uniform(0, 3) == 0 ? "a quarter" : "the rest"); });
  CHECK(result.holds);
  CHECK_THAT(result.text, ContainsSubstring("% - a quarter"));
  CHECK_THAT(result.text, ContainsSubstring("% - the rest"));
}

TEST_CASE("a requirement prints its operands") {
  const std::string text = failure_of([](Draw& draw) {
    const std::int64_t number = draw.uniform(0, 100);
    RECTO_REQUIRE(number + 1 < 18);
  });
  CHECK_THAT(text, ContainsSubstring("RECTO_REQUIRE(number + 1 < 18)\n\nExpands to:\n18 < 18"));
}

TEST_CASE("broken contracts fail a case, which shrinks, and so does any exception") {
  const std::string text = failure_of([](Draw& draw) {
    const std::int64_t number = draw.uniform(0, 100);
    RECTO_CHECK_LT(number, 17);
  });
  CHECK_THAT(text, ContainsSubstring("]:\n17\n\nException thrown with message:\n"));
  CHECK_THAT(text, ContainsSubstring("contract broken: number < 17 (17 vs 17)"));
}

TEST_CASE("nothing to draw from is a mistake, and no discarded case") {
  CHECK_THAT(failure_of([](Draw& draw) { draw.uniform(2, 1); }),
             ContainsSubstring("contract broken: first <= last (2 vs 1)"));
  CHECK_THAT(failure_of([](Draw& draw) { draw.element(std::vector<int>{}); }),
             ContainsSubstring("contract broken: count > 0U"));
}

}  // namespace
}  // namespace recto
