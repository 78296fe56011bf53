// The production block manager under the simulator: on every public trace and every built-in
// workload, under a cover of settings, `--manager production` gives the same report as the
// simulator's own allocators, byte for byte. RECTO_FULL=1 runs the whole cover over whole traces.

#include <fmt/format.h>

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/report_json.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "sim/traces/real_traces.h"
#include "sim/workloads/builtin_workloads.h"
#include "verify/cases/pairwise_cover.h"

namespace recto::experiments {
namespace {

using Setting = std::pair<std::string, std::string>;
using Settings = std::vector<Setting>;

RunConfig make_config(const Settings& settings) {
  RunConfig config;
  for (const auto& [name, text] : settings) {
    const Status status = set_field(config, *find_run_field(name), text);
    INFO(name << ' ' << status);
    REQUIRE(status.is_ok());
  }
  return config;
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += " --" + name + " " + value;
  return text;
}

// The lines in which two texts differ first.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const std::size_t begin = at < 200 ? 0 : at - 200;
  return a.substr(begin, 400) + "\n--- instead of ---\n" + b.substr(begin, 400);
}

// What happened, over all compared runs.
sim::Counters& seen() {
  static sim::Counters counters;
  return counters;
}

void count(const sim::Report& report) {
  const sim::Counters& counters = report.counters;
  seen().requests_finished += counters.requests_finished;
  seen().requests_rejected += counters.requests_rejected;
  seen().preemptions_recompute += counters.preemptions_recompute;
  seen().preemptions_swap += counters.preemptions_swap;
  seen().prefix_hit_tokens += counters.prefix_hit_tokens;
  seen().copied_slots += counters.copied_slots;
  seen().beam_switches += counters.beam_switches;
  seen().steps += counters.steps;
}

void check_equal_reports(const Settings& settings) {
  RunConfig config = make_config(settings);
  const Result<RunOutcome> expected = run(config);
  INFO(text_of(settings));
  REQUIRE(expected.status() == Status::ok());
  config.manager = "production";
  const Result<RunOutcome> found = run(config);
  REQUIRE(found.status() == Status::ok());
  const std::string wanted = json_text(to_json(expected.value().report), 1);
  const std::string got = json_text(to_json(found.value().report), 1);
  if (got != wanted) FAIL_CHECK(first_difference(got, wanted));
  CHECK(found.value().report == expected.value().report);
  count(found.value().report);
}

// Requests and the card that serves them, with a sufficient pool and a tight one.
struct Source {
  Settings settings;
  std::string tight_pool;  // slots
  bool has_sessions = false;
};

// A setting that takes several values, each of them one setting or several.
struct Factor {
  std::vector<Settings> levels;
};

std::vector<Factor> factors_of(const Source& source) {
  std::vector<Factor> factors = {
      {{{{"allocator", "paged"}}, {{"allocator", "prefix-cached"}}}},
      {{{{"block_size", "16"}},
        {{"block_size", "1"}},
        {{"block_size", "100"}},
        {{"block_size", "256"}}}},
      {{{},
        {{"pool_slots", source.tight_pool}},
        {{"pool_slots", source.tight_pool}, {"preemption", "swap"}, {"host_gib", "8"}}}},
      {{{}, {{"admission", "first-chunk"}}, {{"prefill", "whole"}}}},
      {{{}, {{"watermark", "0.03"}}, {{"null_blocks", "1"}, {"max_sequences", "48"}}}}};
  if (!source.has_sessions) {
    factors.push_back({{{},
                        {{"decoding", "parallel:2"}},
                        {{"decoding", "beam:3"}, {"beam_switch_probability", "0.01"}}}});
  }
  return factors;
}

// Any two values of different factors meet.
std::vector<Settings> cover_of(const Source& source) {
  const std::vector<Factor> factors = factors_of(source);
  std::vector<int> levels;
  for (const Factor& factor : factors) levels.push_back(static_cast<int>(factor.levels.size()));
  std::vector<Settings> cover;
  for (const std::vector<int>& row : verify::pairwise_cover(levels, /*seed=*/1)) {
    Settings settings = source.settings;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const Settings& level = factors[i].levels[static_cast<std::size_t>(row[i])];
      settings.insert(settings.end(), level.begin(), level.end());
    }
    cover.push_back(std::move(settings));
  }
  return cover;
}

void check_cover(const Source& source, const Setting& size) {
  std::size_t runs = 0;
  for (Settings& settings : cover_of(source)) {
    if (!is_full_run()) settings.push_back(size);
    check_equal_reports(settings);
    ++runs;
  }
  std::cout << fmt::format("{}: {} settings", text_of(source.settings), runs) << std::endl;
}

void check_with(const Source& source, const Settings& more) {
  Settings settings = source.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  check_equal_reports(settings);
}

// The whole trace with and without a cache, and the cover over its beginning.
void check_trace(Source source, const char* file, const char* limit) {
  const auto path = recto::testing::find_real_trace(file);
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  source.settings.insert(source.settings.begin(), {"trace", *path});
  for (const char* allocator : {"paged", "prefix-cached"}) {
    check_with(source, {{"allocator", allocator}});
  }
  check_cover(source, {"limit", limit});
}

const Settings kLargeCard = {{"model", "Llama-3.1-8B"}, {"gpu", "H100"}};

TEST_CASE("both managers give equal reports on the Azure conversation trace") {
  check_trace({.settings = kLargeCard, .tight_pool = "30000"}, "azure-llm-2023-conv.csv", "1500");
}

TEST_CASE("both managers give equal reports on the Mooncake conversation trace") {
  check_trace({.settings = kLargeCard, .tight_pool = "150000"},
              "mooncake-fast25-conversation.jsonl", "200");
}

TEST_CASE("both managers give equal reports on the ShareGPT workload with token ids") {
  const Source source{.settings = kLargeCard, .tight_pool = "20000"};
  check_trace(source, "sharegpt-llama31-8b-300.jsonl", "300");
  // As the engine of docs/validation.md served it.
  const auto path = recto::testing::find_real_trace("sharegpt-llama31-8b-300.jsonl");
  if (!path) return;
  check_with(source, {{"trace", *path},
                      {"allocator", "prefix-cached"},
                      {"pool_blocks", "2588"},
                      {"null_blocks", "1"},
                      {"max_length", "32768"}});
}

TEST_CASE("both managers give equal reports on each format of traces") {
  for (const char* file : {"azure_2023.csv", "azure_2024.csv", "bailian.jsonl", "burstgpt.csv",
                           "llmservingsim.jsonl", "mooncake.jsonl", "plain.csv", "vidur.csv"}) {
    Source source{.settings = kLargeCard, .tight_pool = "20000"};
    source.settings.emplace_back("trace", std::string("sim/traces/testdata/") + file);
    for (const char* allocator : {"paged", "prefix-cached"}) {
      check_with(source, {{"allocator", allocator}});
    }
  }
}

TEST_CASE("both managers give equal reports on every built-in workload") {
  for (const sim::BuiltinWorkload& workload : sim::builtin_workloads()) {
    Source source{.settings = {{"workload", std::string(workload.name)}}, .tight_pool = "5000"};
    source.has_sessions = sim::builtin_workload(workload.name).value().sharing.has_sessions();
    for (const char* allocator : {"paged", "prefix-cached"}) {
      check_with(source, {{"allocator", allocator}});
      check_with(source, {{"allocator", allocator}, {"batching", "static"}});
    }
    check_with(source, {{"window", "128"}, {"pool_slots", source.tight_pool}});
    check_cover(source, {"requests", "150"});
  }
}

TEST_CASE("the compared runs cover every kind of event") {
  if (seen().requests_finished == 0) RECTO_SKIP("the cases before were filtered out");
  const std::pair<const char*, std::int64_t> counts[] = {
      {"requests finished", seen().requests_finished},
      {"requests rejected", seen().requests_rejected},
      {"preemptions by recompute", seen().preemptions_recompute},
      {"preemptions by swap", seen().preemptions_swap},
      {"tokens found cached", seen().prefix_hit_tokens},
      {"slots copied", seen().copied_slots},
      {"beams replaced", seen().beam_switches},
      {"steps", seen().steps},
  };
  for (const auto& [what, number] : counts) {
    std::cout << what << ": " << number << std::endl;
    INFO(what);
    CHECK(number > 0);
  }
}

}  // namespace
}  // namespace recto::experiments
