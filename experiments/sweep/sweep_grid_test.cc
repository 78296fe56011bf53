#include "experiments/sweep/sweep_grid.h"

#include <limits>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Values = std::vector<std::string>;

const RunField& field(const char* name) { return *find_run_field(name); }

void check_refused(const Status& status, const std::string& message) {
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK_THAT(status.message(), ContainsSubstring(message));
}

TEST_CASE("the last axis varies fastest, and seeds faster still") {
  SweepGrid grid;
  REQUIRE(grid.set_base(field("seed"), "7").is_ok());
  REQUIRE(grid.add_axis({&field("allocator"), {"paged", "contiguous-max"}}).is_ok());
  REQUIRE(grid.add_axis({&field("block_size"), {"8", "16", "32"}}).is_ok());
  REQUIRE(grid.set_seed_count(2).is_ok());
  CHECK(grid.point_count() == 6);
  CHECK(grid.run_count() == 12);
  CHECK(grid.point_values(0) == Values{"paged", "8"});
  CHECK(grid.point_values(1) == Values{"paged", "16"});
  CHECK(grid.point_values(5) == Values{"contiguous-max", "32"});
  CHECK(grid.run_config(2).block_size == 16);
  CHECK(grid.run_config(2).seed == 7);
  CHECK(grid.run_config(3).seed == 8);
  CHECK(grid.run_config(11).allocator == "contiguous-max");
}

TEST_CASE("a grid without axes has one point: the base") {
  const SweepGrid grid;
  CHECK(grid.run_count() == 1);
  CHECK(grid.run_config(0) == RunConfig());
}

TEST_CASE("an invalid change to a grid is refused, and the grid stays as it was") {
  SweepGrid grid;
  REQUIRE(grid.add_axis({&field("block_size"), {"8"}}).is_ok());
  check_refused(grid.add_axis({&field("block_size"), {"16"}}),
                "is an axis of the grid already; expected it");
  check_refused(grid.set_base(field("block_size"), "16"), "is an axis of the grid already");
  check_refused(grid.add_axis({&field("tp"), {}}), "has no values; expected an integer");
  check_refused(grid.add_axis({&field("tp"), {"1", "two"}}), "found 'two'; expected an integer");
  check_refused(grid.add_axis({&field("scale_rate"), {"1", "1.0"}}), "found '1' twice");
  check_refused(grid.add_axis({&field("allocator"), {"heap"}}), "found 'heap'; expected one of");
  check_refused(grid.set_seed_count(0), "found 0; expected an integer from 1");
  CHECK(grid.axes().size() == 1);
  CHECK(grid.run_count() == 1);
}

TEST_CASE("seeds are repetitions or an axis, and stay in range") {
  SweepGrid grid;
  REQUIRE(grid.set_seed_count(2).is_ok());
  check_refused(grid.add_axis({&field("seed"), {"1", "2"}}),
                "cannot be an axis beside --seeds; expected one");
  SweepGrid swept;
  REQUIRE(swept.add_axis({&field("seed"), {"1", "2"}}).is_ok());
  check_refused(swept.set_seed_count(2), "expected 1 where the seed is an axis");
  SweepGrid late;
  REQUIRE(late.set_base(field("seed"), std::to_string(std::numeric_limits<std::int64_t>::max()))
              .is_ok());
  check_refused(late.set_seed_count(2), "beyond the largest seed");
}

TEST_CASE("the number of runs is bounded") {
  SweepGrid grid;
  Values values;
  for (int i = 1; i <= 1000; ++i) values.push_back(std::to_string(i));
  REQUIRE(grid.add_axis({&field("block_size"), values}).is_ok());
  values.emplace_back("1001");
  check_refused(grid.add_axis({&field("max_sequences"), values}),
                "more than 1000000 runs; expected");
  check_refused(grid.set_seed_count(1001), "more than 1000000 runs");
  CHECK(grid.set_seed_count(1000).is_ok());
}

TEST_CASE("a grid file is read with its base, axes and seeds") {
  const auto grid = parse_sweep_grid(R"({
    "base": {"workload": "chat", "pool_gib": 12, "requests": 50},
    "axes": {"scale_rate": [1, 2.5], "allocator": ["paged"]},
    "seeds": 3})");
  REQUIRE(grid.is_ok());
  CHECK(grid.value().base().workload == "chat");
  CHECK(grid.value().base().pool_gib == 12.0);
  CHECK(grid.value().point_count() == 2);
  CHECK(grid.value().seed_count() == 3);
  CHECK(grid.value().point_values(1) == Values{"2.5", "paged"});
  CHECK(parse_sweep_grid("{}").value().run_count() == 1);
}

TEST_CASE("a grid is read back from its JSON") {
  SweepGrid grid;
  REQUIRE(grid.set_base(field("arrivals"), "gamma:rate=2,cv=3").is_ok());
  REQUIRE(grid.add_axis({&field("block_size"), {"8", "16"}}).is_ok());
  REQUIRE(grid.set_seed_count(4).is_ok());
  const auto again = parse_sweep_grid(json_text(to_json(grid)));
  REQUIRE(again.is_ok());
  CHECK(to_json(again.value()) == to_json(grid));
}

TEST_CASE("bad grid files name the line or the field, and what was expected") {
  const auto refused = [](const char* text, const char* message) {
    INFO(text);
    check_refused(parse_sweep_grid(text).status(), message);
  };
  refused("", "line 1: not valid JSON");
  refused("{\n\"base\": {\n\"tp\": }\n}", "line 3: not valid JSON");
  refused("[1]", "found array; expected an object with base, axes and seeds");
  refused(R"({"axis": {}})", "'axis': unknown field; expected base, axes or seeds");
  refused(R"({"base": 5})", "base: found number; expected an object");
  refused(R"({"base": {"blok_size": 8}})",
          "base: 'blok_size' is not a setting; expected a flag of recto simulate");
  refused(R"({"base": {"block_size": "8"}})", "base: block_size: found \"8\"; expected an integer");
  refused(R"({"base": {"tp": 1, "tp": 2}})", "'tp': given twice");
  refused(R"({"axes": [8]})", "axes: found [8]; expected an object of lists");
  refused(R"({"axes": {"block-size": [8]}})",
          "axes: 'block-size' is not a setting; expected 'block_size'");
  refused(R"({"axes": {"block_size": 8}})", "axes: block_size: found 8; expected a list");
  refused(R"({"axes": {"block_size": []}})", "axes: block_size: has no values");
  refused(R"({"axes": {"block_size": [8, null]}})", "found null; expected numbers or texts");
  refused(R"({"axes": {"block_size": [8, 0]}})", "axes: block_size: found '0'; expected");
  refused(R"({"seeds": 1.5})", "seeds: found 1.5; expected an integer");
  refused(R"({"seeds": -1})", "seeds: found -1; expected an integer from 1");
  check_refused(load_sweep_grid("no/such/grid.json").status(), "no/such/grid.json: ");
}

}  // namespace
}  // namespace recto::experiments
