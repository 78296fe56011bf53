#include "experiments/support/command.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/fragmentation/fragmentation_study.h"
#include "experiments/support/output_file.h"
#include "experiments/support/report_json.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Lines = std::vector<std::string>;

testing::TriedCommand fragmentation(Lines arguments) {
  arguments.insert(arguments.begin(), "fragmentation");
  return testing::try_command(fragmentation_command, arguments);
}

std::string folder_of(const std::string& name) {
  const char* base = std::getenv("TEST_TMPDIR");
  const auto folder = std::filesystem::path(base == nullptr ? "/tmp" : base) / name;
  std::filesystem::remove_all(folder);
  return folder.string();
}

Lines lines_of(const std::string& text) {
  std::istringstream in(text);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("a small study prints exactly the recorded text") {
  const auto tried = fragmentation(
      {"--requests", "300", "--scale-rate", "4", "--block-sizes", "16,256", "--pool-gib", "6"});
  CHECK(tried.exit_code == 0);
  CHECK(tried.err.empty());
  // To update it after an intended change: recto fragmentation with these flags and --ascii.
  CHECK(tried.out == read_text_file("experiments/fragmentation/testdata/small_study.txt").value());
}

TEST_CASE("tables fit into 100 columns, whatever the figures") {
  const std::vector<Lines> studies{
      {"--requests", "400"},
      {"--requests", "400", "--view", "paper", "--block-sizes", "1,16,1024"},
      {"--requests", "2000", "--scale-rate", "1000", "--pool-slots", "3000", "--block-sizes", "1"},
      {"--requests", "50", "--block-sizes", "1048576", "--model", "Llama-2-7B", "--pool-slots",
       "134217728", "--max-length", "100000"},
      {"--requests", "50", "--max-length", "8"}};
  for (const Lines& study : studies) {
    const auto tried = fragmentation(study);
    CHECK(tried.exit_code == (study.back() == "8" ? 1 : 0));  // 8 tokens serve no request
    for (const std::string& line : lines_of(tried.out)) {
      INFO(line);
      CHECK(display_width(line) <= 100);
    }
  }
}

TEST_CASE("files are the same from 1 and 8 threads") {
  const std::string one = folder_of("one");
  const std::string eight = folder_of("eight/below");
  const Lines flags{"--requests", "200", "--decoding", "parallel:2", "--pool-gib", "6", "--out"};
  Lines first = flags;
  first.insert(first.end(), {one, "--threads", "1"});
  Lines second = flags;
  second.insert(second.end(), {eight, "--threads", "8"});
  REQUIRE(fragmentation(first).exit_code == 0);
  REQUIRE(fragmentation(second).exit_code == 0);
  for (const char* name : {"/fragmentation.csv", "/series.csv", "/manifest.json", "/report.json"}) {
    INFO(name);
    CHECK(read_text_file(one + name).value() == read_text_file(eight + name).value());
    CHECK_FALSE(read_text_file(one + name).value().empty());
  }
  CHECK(std::distance(std::filesystem::directory_iterator(one), {}) == 4);
}

TEST_CASE("the files hold every gauge and every setting") {
  const std::string out = folder_of("complete");
  REQUIRE(fragmentation(
              {"--requests", "100", "--allocators", "paged", "--block-sizes", "8,16", "--out", out})
              .exit_code == 0);
  const Lines csv = lines_of(read_text_file(out + "/fragmentation.csv").value());
  REQUIRE(csv.size() == 3);
  CHECK(csv[1].starts_with("paged,8,"));
  const Lines series = lines_of(read_text_file(out + "/series.csv").value());
  REQUIRE(series.size() > 2);
  for (const sim::GaugeInfo& info : sim::kGauges) {
    CHECK_THAT(csv[0], ContainsSubstring(std::string(",report.gauges.") + info.name + ".p99,"));
    CHECK_THAT(series[0], ContainsSubstring(info.name));
  }
  const auto columns = [](const std::string& line) { return std::ranges::count(line, ','); };
  for (const std::string& line : series) CHECK(columns(line) == columns(series[0]));
  const Json manifest = parse_json(read_text_file(out + "/manifest.json").value()).value();
  CHECK(manifest["configurations"].size() == 2);
  CHECK(manifest["configurations"][1].size() == to_json(RunConfig()).size());
  CHECK(manifest["configurations"][1]["pool_gib"] == 12.0);
  CHECK(manifest["configurations"][1]["block_size"] == 16);
  CHECK(manifest["command"] == "fragmentation");
  CHECK(manifest["time_models"] ==
        parse_json(R"([{"name": "roofline", "provenance": "cited, not measured on this card"}])")
            .value());
  CHECK_THAT(csv[0], ContainsSubstring(",time_model,time_model_provenance,"));
  CHECK_THAT(csv[1], ContainsSubstring(",roofline,\"cited, not measured on this card\","));
  CHECK_FALSE(manifest.contains("written_at"));
}

TEST_CASE("the paper's states add up to the whole pool") {
  RunConfig base;
  base.requests = 500;
  base.pool_gib = 12;
  const auto configs = expand({.base = base,
                               .allocators = {"contiguous-max", "contiguous-oracle", "paged"},
                               .block_sizes = {16}});
  REQUIRE(configs.is_ok());
  const auto rows = run_all(configs.value(), {.threads = 2});
  REQUIRE(rows.is_ok());
  for (const FragmentationRow& row : rows.value()) {
    const PaperShares paper = paper_shares(row.mean_shares());
    INFO(row.label());
    CHECK(paper.token_states + paper.reservation + paper.internal_fragmentation +
              paper.external_and_others ==
          Catch::Approx(1));
    CHECK(paper.external_and_others >= row.mean_shares().rounding + row.mean_shares().free);
  }
  // 7 reservations of 2048 in 15,728 slots once all are taken; an oracle never over-reserves.
  CHECK(paper_shares(rows.value()[0].mean_shares()).external_and_others ==
        Catch::Approx(0.0885).margin(0.005));
  CHECK(paper_shares(rows.value()[1].mean_shares()).internal_fragmentation == 0);
}

TEST_CASE("the pool is the paper's unless flags set it") {
  const auto pool = [](Lines flags) {
    flags.insert(flags.end(), {"--requests", "10", "--allocators", "paged", "--block-sizes", "16"});
    return lines_of(fragmentation(flags).out).front();
  };
  CHECK_THAT(pool({}), EndsWith("; pool of 15,728 slots (12.00 GiB)"));
  CHECK_THAT(pool({"--pool-slots", "5000"}), EndsWith("; pool of 5,000 slots (3.81 GiB)"));
  CHECK_THAT(pool({"--pool-slots", "5000", "--tp", "2"}),
             EndsWith("; pool of 5,000 slots (1.91 GiB on each card)"));
  CHECK_THAT(pool({"--gpu", "A100-80"}), !ContainsSubstring("15,728"));
}

TEST_CASE("an empty --out is refused") {
  const auto refused = fragmentation({"--requests", "100", "--out", ""});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--out: found ''; expected a folder"));
  CHECK(refused.out.empty());
}

TEST_CASE("a setting that no row uses is refused; one that some rows use is not") {
  const auto refused = fragmentation({"--allocators", "paged", "--placement", "best-fit"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--placement best-fit: has no effect here"));
  const auto blocks = fragmentation({"--allocators", "contiguous-max", "--block-sizes", "16"});
  CHECK(blocks.exit_code == 2);
  CHECK_THAT(blocks.err, ContainsSubstring("--block-sizes 16: has no effect here"));
  CHECK(fragmentation({"--requests", "20", "--placement", "best-fit", "--block-sizes", "16"})
            .exit_code == 0);
}

TEST_CASE("a remark names rows with a model's own window and rows without; the table has it") {
  const std::string out = folder_of("windows");
  const auto tried =
      fragmentation({"--model", "Mistral-7B", "--gpu", "H100", "--requests", "20", "--allocators",
                     "paged,prefix-cached", "--block-sizes", "16", "--out", out});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("is on for paged and off for prefix-cached"));
  const Json manifest = parse_json(read_text_file(out + "/manifest.json").value()).value();
  REQUIRE(manifest["remarks"].size() == 1);
  CHECK_THAT(manifest["remarks"][0].get<std::string>(), ContainsSubstring("sliding window of Mis"));
  const Lines csv = lines_of(read_text_file(out + "/fragmentation.csv").value());
  CHECK(csv[0].find(",window_tokens,") != std::string::npos);
  CHECK(csv[1].find(",4096,") != std::string::npos);
  CHECK(csv[2].find(",4096,") == std::string::npos);
}

TEST_CASE("several seeds give means with intervals, in tables and in the file") {
  const std::string out = folder_of("seeds");
  const Lines flags{"--requests", "60", "--allocators", "paged", "--block-sizes", "16",
                    "--seeds",    "3",  "--out",        out};
  const auto tried = fragmentation(flags);
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out,
             ContainsSubstring("Figures, percentiles too, are means over 3 seeds, from 1 on"));
  const Lines csv = lines_of(read_text_file(out + "/fragmentation.csv").value());
  REQUIRE(csv.size() == 2);
  CHECK_THAT(csv[0], ContainsSubstring("figures.mean_shares.used,figures.mean_shares.used_ci95,"));
  CHECK_THAT(csv[0], ContainsSubstring("report.ttft.p99_ns,report.ttft.p99_ns_ci95,"));
  CHECK_THAT(csv[0], ContainsSubstring("report.ttft.p99_ns_ci95,report.ttft.p99_ns_by_seed,"));
  CHECK(parse_json(read_text_file(out + "/manifest.json").value()).value()["seeds"] == 3);

  RunConfig base;
  base.requests = 60;
  base.pool_gib = 12;
  std::vector<double> used;
  for (base.seed = 1; base.seed <= 3; ++base.seed)
    used.push_back(run(base).value().figures.shares.used);
  base.seed = 1;
  const auto rows = run_all({base}, {.seeds = 3, .threads = 2});
  REQUIRE(rows.is_ok());
  const MeanInterval expected = mean_with_interval(used);
  CHECK(expected.half_width > 0);
  CHECK_THAT(csv[1], ContainsSubstring("," + csv_numbers(used) + ","));
  CHECK(rows.value()[0].mean_shares().used == Catch::Approx(expected.mean).epsilon(1e-12));
  CHECK(find_interval(rows.value()[0].intervals, "figures.mean_shares.used").half_width ==
        Catch::Approx(expected.half_width).epsilon(1e-9));
  const auto one = fragmentation({"--requests", "60", "--seeds", "1", "--block-sizes", "16"});
  CHECK(one.out == fragmentation({"--requests", "60", "--block-sizes", "16"}).out);
}

TEST_CASE("each row of the table says what its means cover") {
  // In blocks of 1000 the first request can never fit, so that the last is the first admitted.
  const std::string trace = folder_of("covered.csv");
  REQUIRE(write_file(trace, "arrival_s,prompt_tokens,output_tokens\n0,1500,9\n1,50,9\n").is_ok());
  const auto tried = fragmentation({"--trace", trace, "--pool-slots", "1990", "--allocators",
                                    "paged", "--block-sizes", "16,1000"});
  REQUIRE(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("to the last arrival; the drain is left out"));
  CHECK_THAT(tried.out, ContainsSubstring("Those of paged 1000 extend to the last answer"));
  const auto one = fragmentation({"--requests", "1", "--block-sizes", "16"});
  CHECK_THAT(one.out, ContainsSubstring("to the last answer: nothing arrived after the"));
  CHECK_THAT(one.out, !ContainsSubstring("to the last arrival"));
}

TEST_CASE("the output says how many requests were rejected") {
  const auto some = fragmentation(
      {"--requests", "100", "--max-length", "200", "--allocators", "paged", "--block-sizes", "16"});
  CHECK(some.exit_code == 0);
  CHECK_THAT(some.out, ContainsSubstring("of 100 requests rejected, because they can never fit"));
  const std::string out = folder_of("rejected");
  const auto one_idle =
      fragmentation({"--requests", "400", "--pool-slots", "1000", "--allocators",
                     "contiguous-max,paged", "--block-sizes", "16", "--out", out});
  REQUIRE(one_idle.exit_code == 0);
  // A row that served no request has no latency, and is not the best one.
  CHECK_THAT(one_idle.out, ContainsSubstring("0  0.000      -      -         -\n"));
  CHECK_THAT(one_idle.out, ContainsSubstring("to the last arrival; the drain is left out"));
  CHECK_THAT(one_idle.out, !ContainsSubstring("to the last answer"));
  const Json manifest = parse_json(read_text_file(out + "/manifest.json").value()).value();
  const Json& rejected = manifest["rejected"]["contiguous-max"];
  CHECK(rejected["requests_rejected"] == 400);
  CHECK(rejected["rejected_ids_listed"] == 100);
  CHECK(rejected["rejected_ids_listed_max"] == 100);
  CHECK(rejected["rejected_ids"].size() == 100);
  const auto all = fragmentation(
      {"--requests", "100", "--pool-slots", "1000", "--allocators", "contiguous-max"});
  CHECK(all.exit_code == 1);
  CHECK_THAT(all.out, ContainsSubstring("ALL 100 of 100 requests rejected"));
  CHECK_THAT(all.err, ContainsSubstring("no request was served"));
}

}  // namespace
}  // namespace recto::experiments
