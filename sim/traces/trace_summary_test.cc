#include "sim/traces/trace_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "sim/traces/real_traces.h"

namespace recto::sim {
namespace {

ArrivalFigures figures_of(std::initializer_list<double> arrivals_s) {
  ArrivalStatistics statistics;
  for (const double s : arrivals_s) {
    statistics.add(SimTime(static_cast<std::int64_t>(std::llround(s * 1e9))));
  }
  return statistics.figures();
}

TEST_CASE("a small example has the duration, mean rate and peaks counted by hand") {
  const ArrivalFigures figures = figures_of({10, 10.5, 10.9, 11, 12.5, 75});
  CHECK(figures.duration == SimDuration(65'000'000'000));
  CHECK(figures.mean_per_second.value() == Catch::Approx(5.0 / 65));
  CHECK(figures.peak_per_second == 3);
  CHECK(figures.peak_per_minute == 5);
}

TEST_CASE("even gaps do not vary, Poisson gaps vary by 1") {
  CHECK(figures_of({0, 1, 2, 3}).gap_variation.value() == 0.0);
  CHECK(figures_of({0, 1, 4}).gap_variation.value() == Catch::Approx(0.5));
  RandomStream random(3);
  ArrivalStatistics statistics;
  double s = 0;
  for (int i = 0; i < 100'000; ++i) {
    s -= std::log(1 - random.next_unit());
    statistics.add(SimTime(static_cast<std::int64_t>(s * 1e9)));
  }
  CHECK(statistics.figures().gap_variation.value() == Catch::Approx(1).margin(0.02));
}

TEST_CASE("arrivals without a gap have no rate and no variation") {
  for (const auto& figures : {figures_of({}), figures_of({5}), figures_of({5, 5})}) {
    CHECK_FALSE(figures.mean_per_second.has_value());
    CHECK_FALSE(figures.gap_variation.has_value());
    CHECK(figures.duration == SimDuration(0));
  }
  CHECK(figures_of({5, 5}).peak_per_second == 2);
}

TEST_CASE("arrivals out of order are a defect of the caller") {
  CHECK_THROWS_AS(figures_of({5, 4}), ContractFailure);
}

TEST_CASE("percentiles are nearest ranks, without interpolation") {
  LengthCounts lengths;
  for (const std::int64_t length : {15, 20, 35, 40, 50}) lengths.add(TokenCount(length));
  CHECK(lengths.percentile(1) == TokenCount(15));
  CHECK(lengths.percentile(20) == TokenCount(15));
  CHECK(lengths.percentile(21) == TokenCount(20));
  CHECK(lengths.percentile(50) == TokenCount(35));
  CHECK(lengths.percentile(99) == TokenCount(50));
  CHECK(lengths.percentile(100) == TokenCount(50));
}

TEST_CASE("figures count every length as often as it occurs") {
  LengthCounts lengths;
  for (int i = 0; i < 98; ++i) lengths.add(TokenCount(1));
  lengths.add(TokenCount(4));
  lengths.add(TokenCount(98));
  const LengthFigures figures = lengths.figures();
  CHECK(figures.count == 100);
  CHECK(figures.sum == TokenCount(200));
  CHECK(figures.mean == 2.0);
  CHECK(figures.p50 == TokenCount(1));
  CHECK(figures.p99 == TokenCount(4));
  CHECK(figures.max == TokenCount(98));
}

TEST_CASE("no lengths give zeros") {
  const LengthFigures figures = LengthCounts().figures();
  CHECK(figures.count == 0);
  CHECK(figures.mean == 0.0);
  CHECK(figures.p99 == TokenCount(0));
}

// `share` in percent with two digits, as tables print it.
std::string percent(double share) { return fmt::format("{:.2f}", 100 * share); }
std::string percent_1(double share) { return fmt::format("{:.1f}", 100 * share); }

TraceSummary summarize_file(const std::string& path) {
  auto trace = open_trace(path);
  REQUIRE(trace.is_ok());
  Result<TraceSummary> summary = summarize_trace(*trace.value());
  REQUIRE(summary.is_ok());
  CHECK(trace.value()->exhausted());
  CHECK(trace.value()->counters().skipped_rows == 0);
  return std::move(summary).value();
}

TEST_CASE("the Azure conversation trace has the published lengths and tail waste") {
  const auto path = recto::testing::find_real_trace("azure-llm-2023-conv.csv");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  const TraceSummary summary = summarize_file(*path);
  CHECK(summary.prompt.count == 19'366);
  CHECK(fmt::format("{:.1f}", summary.prompt.mean) == "1154.7");
  CHECK(summary.prompt.p50 == TokenCount(1020));
  CHECK(summary.prompt.p90 == TokenCount(2735));
  CHECK(summary.prompt.max == TokenCount(14'050));
  CHECK(fmt::format("{:.1f}", summary.output.mean) == "211.1");
  CHECK(summary.output.p50 == TokenCount(129));
  CHECK(summary.output.p90 == TokenCount(424));
  CHECK(summary.output.max == TokenCount(1000));
  // 18:15:46.6805900 to 19:14:08.4025270.
  CHECK(summary.arrivals.duration == SimDuration(3'501'721'937'000));
  CHECK(fmt::format("{:.3f}", summary.arrivals.mean_per_second.value()) == "5.530");
  CHECK_FALSE(summary.prefix_reuse.has_value());

  REQUIRE(summary.tail_waste.size() == 10);
  CHECK(summary.tail_waste[0].padding == TokenCount(0));
  const std::string expected[] = {"0.26", "0.54", "1.12", "2.21", "4.38", "8.02"};
  for (std::size_t i = 0; i < 6; ++i) {
    const TailWaste& waste = summary.tail_waste[i + 3];
    CHECK(waste.block_size == TokenCount(std::int64_t{8} << i));
    CHECK(percent(waste.share()) == expected[i]);
  }
}

TEST_CASE("the Mooncake conversation trace has the published lengths and prefix reuse") {
  const auto path = recto::testing::find_real_trace("mooncake-fast25-conversation.jsonl");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  const TraceSummary summary = summarize_file(*path);
  CHECK(summary.prompt.count == 12'031);
  CHECK(fmt::format("{:.0f}", summary.prompt.mean) == "12035");
  CHECK(summary.prompt.p50 == TokenCount(6'909));
  CHECK(summary.prompt.p99 == TokenCount(85'401));
  CHECK(summary.prompt.max == TokenCount(126'195));
  CHECK(fmt::format("{:.0f}", summary.output.mean) == "343");
  CHECK(fmt::format("{:.0f}", seconds(summary.arrivals.duration)) == "3537");

  REQUIRE(summary.prefix_reuse.has_value());
  const PrefixReuseFigures& reuse = *summary.prefix_reuse;
  CHECK(reuse.distinct_blocks == 182'790);
  CHECK(reuse.blocks == 288'500);
  CHECK(percent(reuse.hit_block_share()) == "36.64");
  CHECK(percent(reuse.hit_token_share()) == "37.36");
  CHECK(percent(reuse.full_hit_block_share()) == "36.60");
  CHECK(percent(reuse.full_hit_token_share()) == "37.34");
  const std::string expected[] = {"5.3", "13.6", "28.5", "36.4"};
  REQUIRE(reuse.lru.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(reuse.lru[i].capacity);
    CHECK(percent_1(reuse.lru_hit_block_share(i)) == expected[i]);
    CHECK(reuse.lru[i].hit_tokens <= reuse.hit_tokens);
  }
}

TEST_CASE("the ShareGPT workload with token ids has the published lengths and prefix reuse") {
  const auto path = recto::testing::find_real_trace("sharegpt-llama31-8b-300.jsonl");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  const TraceSummary summary = summarize_file(*path);
  CHECK(summary.prompt.count == 300);
  CHECK(summary.prompt.sum == TokenCount(257'239));
  CHECK(fmt::format("{:.1f}", summary.prompt.mean) == "857.5");
  CHECK(summary.prompt.max == TokenCount(3998));
  CHECK(fmt::format("{:.1f}", summary.output.mean) == "652.5");
  CHECK(summary.output.max == TokenCount(1021));
  // The file's time zero is 46,926,808 ns before its first arrival and 29.2 s before its last.
  CHECK(summary.arrivals.duration == SimDuration(29'136'836'395));
  REQUIRE(summary.prefix_reuse.has_value());
  CHECK(percent(summary.prefix_reuse->full_hit_block_share()) == "7.65");
  CHECK(summary.prefix_reuse->blocks == summary.prefix_reuse->full_blocks);
}

TEST_CASE("the summary of a small trace has the figures calculated by hand") {
  const TraceSummary summary = summarize_file("sim/traces/testdata/mooncake.jsonl");
  CHECK(summary.prompt.sum == TokenCount(1124 + 1024 + 12));
  CHECK(summary.output.p50 == TokenCount(490));
  CHECK(summary.arrivals.peak_per_second == 2);
  REQUIRE(summary.prefix_reuse.has_value());
  CHECK(summary.prefix_reuse->hit_blocks == 2);
  CHECK(summary.prefix_reuse->hit_tokens == TokenCount(1024));
  const TailWaste& at_512 = summary.tail_waste.back();
  CHECK(at_512.block_size == TokenCount(kTailBlockSizeMax));
  CHECK(at_512.allocated == TokenCount((4 + 3 + 1) * 512));
  CHECK(at_512.padding == TokenCount(2048 - 1624 + 1536 - 1514 + 512 - 13));
}

TEST_CASE("a summary ends with the trace's error") {
  auto trace = open_trace("sim/traces/testdata/corpus/backwards.csv");
  REQUIRE(trace.is_ok());
  CHECK(summarize_trace(*trace.value()).status().code() == StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace recto::sim
