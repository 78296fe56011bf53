#include "experiments/support/command.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "experiments/support/testing/tried_command.h"
#include "experiments/sweep/sweep_columns.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Arguments = std::vector<std::string>;

std::string path_of(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
}

testing::TriedCommand sweep(const std::string& out, const Arguments& more) {
  Arguments arguments{"sweep", "--out", path_of(out)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return testing::try_command(sweep_command, arguments);
}

std::string file(const std::string& out, const char* name) {
  return read_text_file(path_of(out) + "/" + name).value();
}

// 2 x 3 x 2 points that take milliseconds.
const Arguments kGrid{
    "--requests", "60",        "--allocator", "paged,contiguous-pow2", "--block-size", "8,16,32",
    "--arrivals", "poisson:1", "--arrivals",  "gamma:rate=4,cv=2"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST_CASE("rows are in the order of the grid, axes in that of the command line") {
  CHECK(sweep("order", kGrid).exit_code == 0);
  const std::vector<std::string> rows = lines_of(file("order", "sweep.csv"));
  REQUIRE(rows.size() == 13);
  CHECK_THAT(rows[0], ContainsSubstring("point,allocator,block_size,arrivals,outcome,error,"));
  CHECK(rows[1].starts_with("0,paged,8,poisson:1,ok,,"));
  CHECK(rows[2].starts_with("1,paged,8,\"gamma:rate=4,cv=2\",ok,,"));
  CHECK(rows[12].starts_with("11,contiguous-pow2,32,\"gamma:rate=4,cv=2\",ok,,"));
}

TEST_CASE("the number of threads changes no byte") {
  REQUIRE(sweep("one", with(kGrid, {"--threads", "1", "--seeds", "2"})).exit_code == 0);
  REQUIRE(sweep("eight", with(kGrid, {"--threads", "8", "--seeds", "2"})).exit_code == 0);
  CHECK(file("one", "sweep.csv") == file("eight", "sweep.csv"));
  CHECK(file("one", "manifest.json") == file("eight", "manifest.json"));
}

TEST_CASE("the manifest has the content of sweep.csv") {
  REQUIRE(sweep("hashed", kGrid).exit_code == 0);
  const Json manifest = parse_json(file("hashed", "manifest.json")).value();
  CHECK(manifest["files"]["sweep.csv"] == written_file(file("hashed", "sweep.csv")));
  CHECK(check_written_files(path_of("hashed"), manifest).is_ok());
}

TEST_CASE("a sweep resumes from any prefix of its journal") {
  REQUIRE(sweep("whole", kGrid).exit_code == 0);
  const std::string journal = file("whole", "sweep.journal.jsonl");
  for (const double part : {0.0, 0.3, 0.77, 1.0}) {
    REQUIRE(make_folder(path_of("part")).is_ok());
    const auto size = static_cast<std::size_t>(part * static_cast<double>(journal.size()));
    REQUIRE(write_file(path_of("part/sweep.journal.jsonl"), journal.substr(0, size)).is_ok());
    const auto tried = sweep("part", kGrid);
    CHECK(tried.exit_code == 0);
    // The first line is not a run.
    const bool has_runs = std::ranges::count(journal.substr(0, size), '\n') > 1;
    CHECK((tried.err.find("of 12 runs were done before") != std::string::npos) == has_runs);
    CHECK(file("part", "sweep.csv") == file("whole", "sweep.csv"));
    CHECK(file("part", "manifest.json") == file("whole", "manifest.json"));
  }
}

TEST_CASE("another grid does not continue the journal, unless a fresh start is requested") {
  REQUIRE(sweep("changed", kGrid).exit_code == 0);
  const Arguments other = with(kGrid, {"--tp", "2"});
  const auto refused = sweep("changed", other);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("/grid/base/tp was 1, is 2"));
  CHECK(sweep("changed", with(other, {"--fresh"})).exit_code == 0);
}

TEST_CASE("a point that fails is a row; the others go on, and the sweep fails") {
  const auto tried =
      sweep("failing", {"--requests", "20", "--model", "OPT-13B,OPT-66B,Llama-2-7B"});
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.err,
             ContainsSubstring("1 of 3 points failed; the first: point 1 (model OPT-66B)"));
  const std::vector<std::string> rows = lines_of(file("failing", "sweep.csv"));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].starts_with("0,OPT-13B,ok,,"));
  CHECK(rows[2].starts_with("1,OPT-66B,failed,"));
  CHECK(rows[3].starts_with("2,Llama-2-7B,ok,,"));
  const auto manifest = parse_json(file("failing", "manifest.json")).value();
  CHECK(manifest["failed_points"][0]["point"] == 1);
  // Tried again, it fails again.
  CHECK(sweep("failing", {"--requests", "20", "--model", "OPT-13B,OPT-66B,Llama-2-7B"}).exit_code ==
        1);
}

TEST_CASE("a grid of which no point can be run is bad input") {
  const auto tried = sweep("hopeless", {"--model", "OPT-66B,OPT-175B"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("no point can be run; the first: "));
}

TEST_CASE("seeds give means with intervals") {
  REQUIRE(sweep("seeds", {"--requests", "40", "--seeds", "4"}).exit_code == 0);
  const std::vector<std::string> rows = lines_of(file("seeds", "sweep.csv"));
  REQUIRE(rows.size() == 2);
  CHECK_THAT(rows[0],
             ContainsSubstring("latency_mean_s,latency_mean_s_ci95,latency_mean_s_by_seed"));
  CHECK_THAT(rows[0], ContainsSubstring("requests_finished_by_seed"));
  CHECK_THAT(rows[1], ContainsSubstring(",40;40;40;40,"));
  CHECK_THAT(rows[1], ContainsSubstring("0,ok,,"));
}

TEST_CASE("seeds of a trace, which draws nothing, are refused") {
  const std::string path = path_of("small.csv");
  REQUIRE(write_file(path, "arrival_s,prompt_tokens,output_tokens\n0,100,20\n1,50,30\n").is_ok());
  const auto refused = sweep("traced", {"--trace", path, "--seeds", "3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--seeds: found 3; expected 1, as a trace has"));
  CHECK(sweep("traced", {"--trace", path}).exit_code == 0);
}

TEST_CASE("a row has the source of its step times, bytes, percentiles and goodput") {
  REQUIRE(
      sweep("columns", {"--requests", "40", "--decoding", "parallel:2", "--ttft-limit-ms", "500"})
          .exit_code == 0);
  const std::vector<std::string> rows = lines_of(file("columns", "sweep.csv"));
  REQUIRE(rows.size() == 2);
  CHECK_THAT(rows[1], ContainsSubstring("0,ok,,roofline,\"cited, not measured on this card\","));
  for (const char* column :
       {"table_bytes_mean", "table_bytes_max", "copied_bytes", "prefix_flops_saved",
        "largest_hole_share", "queueing_mean_s", "queueing_p50_s", "queueing_p90_s",
        "queueing_p99_s", "ttft_p50_s", "ttft_p90_s", "tpot_p50_s", "tpot_p90_s", "latency_p50_s",
        "latency_p90_s", "normalized_latency_p50_s", "normalized_latency_p90_s",
        "requests_within_limits", "goodput_per_s"}) {
    CHECK_THAT(rows[0], ContainsSubstring(std::string(",") + column + ","));
  }
}

TEST_CASE("a sweep's figures of a run are those of its report") {
  RunConfig config;
  config.requests = 40;
  config.decoding = "parallel:2";
  config.ttft_limit_ms = 500;
  const sim::Report report = run(config).value().report;
  const std::vector<double> values = measure(config).value();
  const auto value_of = [&](std::string_view name) {
    const auto columns = sweep_columns();
    const auto found = std::ranges::find(columns, name);
    REQUIRE(found != columns.end());
    return values[static_cast<std::size_t>(found - columns.begin())];
  };
  CHECK(report.counters.copied_slots > 0);
  // K and V of 40 layers of 40 heads of 128, two bytes each; a table entry takes 4.
  CHECK(value_of("copied_bytes") ==
        static_cast<double>(report.counters.copied_slots) * 2 * 40 * 40 * 128 * 2);
  CHECK(value_of("table_bytes_max") ==
        4 * static_cast<double>(report.gauge(sim::Gauge::kTableEntries).max));
  CHECK(value_of("ttft_p50_s") == Catch::Approx(static_cast<double>(report.ttft.p50_ns) / 1e9));
  CHECK(value_of("latency_p90_s") ==
        Catch::Approx(static_cast<double>(report.end_to_end.p90_ns) / 1e9));
  CHECK(value_of("queueing_mean_s") == Catch::Approx(report.queueing.mean_ns / 1e9));
  CHECK(value_of("requests_within_limits") ==
        static_cast<double>(report.counters.requests_within_limits));
}

TEST_CASE("a point that serves no request has no latency, on screen and in the file") {
  const auto tried = sweep(
      "idle", {"--requests", "60", "--pool-slots", "1000", "--allocator", "contiguous-max,paged"});
  REQUIRE(tried.exit_code == 0);
  CHECK_THAT(tried.out, !ContainsSubstring("nan"));
  CHECK_THAT(tried.out, ContainsSubstring("  -  "));
  const std::vector<std::string> rows = lines_of(file("idle", "sweep.csv"));
  REQUIRE(rows.size() == 3);
  // Queueing and what follows it.
  CHECK_THAT(rows[1], ContainsSubstring(",,,,,,,,,,,,,,,,,,,"));
  CHECK_THAT(rows[2], !ContainsSubstring(",,,"));
}

TEST_CASE("a grid file and flags combine, and an axis in both is refused") {
  const std::string path = path_of("grid.json");
  REQUIRE(
      write_file(path, R"({"base": {"requests": 30}, "axes": {"block_size": [8, 16]}})").is_ok());
  CHECK(sweep("file", {"--grid", path, "--tp", "1,2"}).exit_code == 0);
  CHECK(lines_of(file("file", "sweep.csv")).size() == 5);
  const auto clash = sweep("clash", {"--grid", path, "--block-size", "32"});
  CHECK(clash.exit_code == 2);
  CHECK_THAT(clash.err, ContainsSubstring("--block-size: is an axis of the grid already"));
  REQUIRE(write_file(path, R"({"axes": {"blocks": [8]}})").is_ok());
  const auto bad = sweep("bad", {"--grid", path});
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.err, ContainsSubstring("grid.json: axes: 'blocks' is not a setting"));
}

TEST_CASE("bad flags are named, with what was expected") {
  const auto refused = [](const Arguments& arguments, const char* message) {
    const auto tried = sweep("refused", arguments);
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(message));
  };
  refused({"--block-size", "8,zero"}, "--block-size: found 'zero'; expected an integer");
  refused({"--block-size", "8,8"}, "--block-size: found '8' twice");
  refused({"--allocator", "heap"}, "--allocator: found 'heap'; expected one of paged");
  refused({"--manager", "mine"}, "--manager: found 'mine'; expected one of simulator, production");
  refused({"--seeds", "0"}, "--seeds: found '0'; expected an integer from 1 to");
  refused({"--seeds", "2", "--seed", "1,2"}, "--seeds: expected 1 where the seed is an axis");
  refused({"--threads", "0"}, "--threads");
  refused({"--grid", "no/such.json"}, "--grid: no/such.json");
  refused({"--grid", ""}, "--grid: found ''; expected a file");
  refused({"--trace", "no/such.csv"}, "no/such.csv");
  refused({"--colour"}, "--colour");
  CHECK(testing::try_command(sweep_command, {"sweep"}).exit_code == 2);  // no --out
}

TEST_CASE("a setting that no point uses is refused; one that some points use is not") {
  const Arguments swapped{"--requests", "20", "--preemption", "recompute,swap"};
  const auto refused = sweep("unused", swapped);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--preemption swap: has no effect here"));
  CHECK(sweep("used", with(swapped, {"--host-gib", "4"})).exit_code == 0);
}

TEST_CASE("a remark names points with a model's own window and points without") {
  const auto tried = sweep("windows", {"--requests", "20", "--model", "Mistral-7B", "--gpu", "H100",
                                       "--allocator", "paged,prefix-cached"});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("is on for paged and off for prefix-cached"));
  CHECK(parse_json(file("windows", "manifest.json")).value()["remarks"].size() == 2);
  const std::vector<std::string> rows = lines_of(file("windows", "sweep.csv"));
  CHECK_THAT(rows[0], ContainsSubstring("pool_slots,window_tokens,requests_finished"));
  CHECK_THAT(rows[1], ContainsSubstring(",4096,20,"));
  CHECK_THAT(rows[2], ContainsSubstring(",0,20,"));
}

TEST_CASE("an output folder that cannot be made is bad input") {
  REQUIRE(write_file(path_of("a_file"), "").is_ok());
  const auto tried = sweep("a_file/inside", {"--requests", "5"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("a_file"));
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = testing::try_command(sweep_command, {"sweep", "--help"});
  CHECK(tried.exit_code == 0);
  for (const RunField& field : run_fields())
    CHECK_THAT(tried.out, ContainsSubstring(flag_of(field)));
  for (const char* part : {"--out", "--grid", "--seeds", "--threads", "--fresh", "Examples:"}) {
    CHECK_THAT(tried.out, ContainsSubstring(part));
  }
}

TEST_CASE("the screen and the manifest say how many requests were rejected") {
  const char* said = "At 1 of 2 points requests were rejected, because they can never fit";
  const auto tried = sweep("rejected", {"--requests", "60", "--pool-slots", "2032", "--allocator",
                                        "contiguous-max,paged"});
  REQUIRE(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring(said));
  CHECK_THAT(json_text(parse_json(file("rejected", "manifest.json")).value()["remarks"]),
             ContainsSubstring(said));
}

}  // namespace
}  // namespace recto::experiments
