#include "experiments/support/command.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run_config.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Matches;
using Lines = std::vector<std::string>;

testing::TriedCommand simulate(Lines arguments) {
  arguments.insert(arguments.begin(), "simulate");
  return testing::try_command(simulate_command, arguments);
}

Json simulated(Lines arguments) {
  arguments.push_back("--json");
  const auto tried = simulate(arguments);
  REQUIRE(tried.exit_code == 0);
  return parse_json(tried.out).value();
}

TEST_CASE("the summary shows every figure, within 100 columns") {
  const auto tried =
      simulate({"--requests", "200", "--decoding", "beam:4", "--beam-switch-probability", "0.1",
                "--ttft-limit-ms", "1", "--tpot-limit-ms", "1000", "--preemption", "swap",
                "--host-gib", "4", "--pool-gib", "6"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"used",
                           "reserved",
                           "over-reservation",
                           "placement rounding",
                           "tail of last block",
                           "out of window",
                           "cached",
                           "free",
                           "overhead",
                           "blocked free",
                           "unplaceable free",
                           "largest hole",
                           "saved by sharing",
                           "copied on write",
                           "block tables",
                           "time to first token",
                           "time per output token",
                           "end to end",
                           "end to end / token",
                           "throughput",
                           "goodput",
                           "MISSES the limit of 1.00 ms",
                           "meets the limit of 1.00 s",
                           "batch",
                           "queue",
                           "preemptions",
                           "swapped",
                           "prefix hits",
                           "FLOP",
                           "attention",
                           "cited, not measured",
                           "time-weighted from the first admission to the last arrival",
                           "at most 0.4 % off"}) {
    CHECK_THAT(tried.out, ContainsSubstring(part));
  }
  std::istringstream lines(tried.out);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(display_width(line) <= 100);
  }
}

TEST_CASE("JSON has every gauge, the settings, and numbers that agree") {
  const Json json = simulated({"--requests", "100", "--sharing", "templates:count=2,tokens=256,s=1",
                               "--allocator", "prefix-cached"});
  const Json& report = json["report"];
  for (const sim::GaugeInfo& info : sim::kGauges) {
    CHECK(report["gauges"][info.name].size() == 5);
    CHECK(report["series"][info.name].size() == report["series"]["begin_ns"].size());
  }
  CHECK(json["settings"].size() == to_json(RunConfig()).size());
  CHECK(report["counters"]["requests_finished"] == 100);
  const auto hits = report["counters"]["prefix_hit_tokens"].get<double>();
  const auto pairs = report["counters"]["prefix_hit_pairs"].get<double>();
  CHECK(hits > 0);
  // OPT-13B: 40 layers, each of 4 x 5120 x 5120 weights for attention and 2 x 5120 x 20,480 for the
  // FFN, are 12,582,912,000; and 40 heads of 128.
  CHECK(json["figures"]["prefix_flops_saved"].get<double>() ==
        Catch::Approx(2 * 12'582'912'000.0 * hits + 4.0 * 40 * 40 * 128 * pairs).epsilon(1e-12));
  CHECK(report["counters"]["readmitted_hit_tokens"] == 0);
  CHECK(json["figures"]["first_hit_share"] == json["figures"]["prefix_hit_share"]);
  double shares = 0;
  for (const char* state : {"used", "reserved", "internal", "cached", "free", "overhead"}) {
    shares += json["figures"]["mean_shares"][state].get<double>();
  }
  CHECK(shares == Catch::Approx(1));
}

TEST_CASE("prefix hits of requests that were preempted are counted separately") {
  const Lines crowded{"--requests", "100",          "--allocator", "prefix-cached", "--scale-rate",
                      "10",         "--pool-slots", "5000",        "--max-length",  "2000"};
  const Json json = simulated(crowded);
  const Json& counters = json["report"]["counters"];
  CHECK(counters["preemptions_recompute"].get<double>() > 0);
  // Requests share nothing here, so only readmitted requests have prefix hits.
  CHECK(counters["readmitted_hit_tokens"].get<double>() > 0);
  CHECK(counters["readmitted_hit_tokens"] == counters["prefix_hit_tokens"]);
  CHECK(json["figures"]["prefix_hit_share"].get<double>() > 0);
  CHECK(json["figures"]["first_hit_share"] == 0);
  CHECK_THAT(simulate(crowded).out, ContainsSubstring("after preemptions"));
  Lines seeds = crowded;
  seeds.insert(seeds.end(), {"--seeds", "2"});
  const std::string told = simulate(seeds).out;
  CHECK_THAT(told, Matches("[^]*\nprefix hits +[1-9][0-9.]+ +[0-9.]+  % of tokens\n[^]*"));
  CHECK_THAT(told, Matches("[^]*\n  at first admissions +0 +0  % of prompts\n[^]*"));
}

TEST_CASE("JSON and timelines say that step times are cited") {
  CHECK(simulated({"--requests", "20"})["time_model_provenance"] ==
        "cited, not measured on this card");
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/cited.json";
  REQUIRE(simulate({"--requests", "20", "--timeline", path}).exit_code == 0);
  const Json about = parse_json(read_text_file(path).value()).value()["otherData"];
  CHECK(about["time_model"] == "roofline");
  CHECK(about["time_model_provenance"] == "cited, not measured on this card");
}

TEST_CASE("a remark, on screen and in JSON, says that shared blocks turn a model's window off") {
  const Lines flags{"--model", "Mistral-7B", "--gpu", "H100", "--requests", "20"};
  const Json on = simulated(flags);
  CHECK(on["window_tokens"] == 4096);
  CHECK(on["remarks"].empty());
  Lines shared = flags;
  shared.insert(shared.end(), {"--allocator", "prefix-cached"});
  const Json off = simulated(shared);
  CHECK(off["window_tokens"] == 0);
  CHECK(off["remarks"].size() == 1);
  CHECK_THAT(simulate(shared).out, ContainsSubstring("4,096 tokens, is off for prefix-cached"));
  shared.insert(shared.end(), {"--seeds", "2"});
  CHECK_THAT(simulate(shared).out, ContainsSubstring("4,096 tokens, is off for prefix-cached"));
}

TEST_CASE("a run that serves no request has no latency, no verdict, and a free pool") {
  const auto tried = simulate({"--workload", "agent", "--requests", "20", "--ttft-limit-ms", "1"});
  CHECK(tried.exit_code == 1);
  CHECK_THAT(tried.out, ContainsSubstring("20 requests (20 REJECTED)"));
  CHECK_THAT(tried.out, ContainsSubstring("time to first token       -    -"));
  CHECK_THAT(tried.out, ContainsSubstring("p99 of TTFT           none was seen"));
  CHECK_THAT(tried.out, ContainsSubstring("free                  100.0"));
}

TEST_CASE("an output is never written over an input") {
  const std::string trace =
      std::string(std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR")) +
      "/precious.csv";
  const std::string rows = "arrival_s,prompt_tokens,output_tokens\n0,4,2\n";
  REQUIRE(write_file(trace, rows).is_ok());
  const auto tried = simulate({"--trace", trace, "--timeline", trace});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--timeline: " + trace + ": is an input of this run"));
  CHECK(read_text_file(trace).value() == rows);
}

TEST_CASE("a timeline is written over a timeline, and over nothing else") {
  const std::string path =
      std::string(std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR")) +
      "/replaced.json";
  const Lines flags{"--requests", "5", "--timeline", path};
  REQUIRE(write_file(path, "{}").is_ok());
  const auto tried = simulate(flags);
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--timeline: " + path +
                                          ": is a file already, and not a "
                                          "timeline of recto simulate; expected a new file"));
  CHECK(read_text_file(path).value() == "{}");
  REQUIRE(write_file(path, "").is_ok());
  CHECK(simulate(flags).exit_code == 0);
  CHECK(simulate(flags).exit_code == 0);
}

TEST_CASE("JSON says how many were rejected and that not all of them are listed") {
  const auto report_of = [](const char* requests) {
    const auto tried = simulate({"--allocator", "contiguous-max", "--pool-slots", "1000",
                                 "--requests", requests, "--json"});
    CHECK(tried.exit_code == 1);
    CHECK_THAT(tried.err, ContainsSubstring("no request was served"));
    return parse_json(tried.out).value()["report"];
  };
  const Json many = report_of("250");
  CHECK(many["counters"]["requests_rejected"] == 250);
  CHECK(many["rejected_ids_listed"] == 100);
  CHECK(many["rejected_ids_listed_max"] == 100);
  CHECK(many["rejected_ids"].size() == 100);
  CHECK(report_of("20")["rejected_ids_listed"] == 20);
}

TEST_CASE("the sharing saving is 1 - held blocks / table entries") {
  const Json json = simulated({"--requests", "100", "--decoding", "parallel:4"});
  const Json& gauges = json["report"]["gauges"];
  const auto blocks = gauges["held_blocks"]["mean"].get<double>();
  const auto entries = gauges["table_entries"]["mean"].get<double>();
  const auto saving = json["figures"]["sharing_saving"].get<double>();
  CHECK(saving > 0.05);
  CHECK(saving == Catch::Approx(1 - blocks / entries));
  CHECK(json["figures"]["table_bytes_mean"].get<double>() == Catch::Approx(4 * entries));
  CHECK(simulated({"--requests", "50"})["figures"]["sharing_saving"] == 0.0);
}

TEST_CASE("goodput counts requests within both limits") {
  const Json none = simulated({"--requests", "50", "--ttft-limit-ms", "0.001"});
  CHECK(none["figures"]["goodput_per_s"] == 0.0);
  CHECK(none["figures"]["p99_meets_ttft"] == false);
  CHECK(none["figures"]["p99_meets_tpot"].is_null());
  const Json all = simulated({"--requests", "50", "--ttft-limit-ms", "1e6"});
  CHECK(all["figures"]["goodput_per_s"] == all["figures"]["requests_per_s"]);
  CHECK(all["figures"]["p99_meets_ttft"] == true);
}

TEST_CASE("several seeds count up from --seed, with equal output on any number of threads") {
  const Lines flags{"--requests", "60", "--seed", "7", "--seeds", "4", "--json", "--threads"};
  Lines one = flags;
  one.emplace_back("1");
  Lines eight = flags;
  eight.emplace_back("8");
  const auto tried = simulate(one);
  CHECK(tried.exit_code == 0);
  CHECK(tried.out == simulate(eight).out);
  const Json json = parse_json(tried.out).value();
  CHECK(json["seeds"] == Json({7, 8, 9, 10}));
  const Json second = simulated({"--requests", "60", "--seed", "8"});
  CHECK(json["runs"][1]["report"] == second["report"]);
  CHECK(json["means"]["figures.requests_per_s"]["half_width_95"].get<double>() > 0.0);
  const auto text = simulate({"--requests", "60", "--seeds", "3"});
  CHECK_THAT(text.out, ContainsSubstring("95 % +-"));
}

TEST_CASE("a setting without effect is refused, with one seed and with several") {
  for (const char* seeds : {"1", "2"}) {
    const auto tried = simulate({"--requests", "20", "--preemption", "swap", "--seeds", seeds});
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring("--preemption swap: has no effect here"));
    CHECK_THAT(tried.err, ContainsSubstring("--host-gib 0"));
  }
}

TEST_CASE("seeds of a trace, which draws nothing, are refused; JSON has the file by content") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/small.csv";
  REQUIRE(write_file(path, "arrival_s,prompt_tokens,output_tokens\n0,100,20\n1,50,30\n").is_ok());
  const auto refused = simulate({"--trace", path, "--seeds", "3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--seeds: found 3; expected 1, as a trace has"));
  const Json inputs = simulated({"--trace", path})["inputs"];
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0]["path"] == path);
  CHECK(inputs[0]["bytes"] == 55);
  CHECK(simulate({"--trace", path, "--seeds", "3", "--decoding", "beam:2",
                  "--beam-switch-probability", "0.5"})
            .exit_code == 0);
}

TEST_CASE("static batching finishes all requests") {
  const Json json = simulated({"--requests", "80", "--batching", "static", "--allocator",
                               "contiguous-max", "--scale-rate", "4"});
  CHECK(json["report"]["counters"]["requests_finished"] == 80);
}

TEST_CASE("a timeline of several seeds is refused") {
  const auto tried = simulate({"--seeds", "2", "--timeline", "x.json"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("--timeline"));
}

}  // namespace
}  // namespace recto::experiments
