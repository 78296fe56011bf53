#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/report/map_json.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/results_table.h"
#include "experiments/report/series_data.h"

namespace recto::experiments {
namespace {

TEST_CASE("Base64 text matches the examples of RFC 4648") {
  const auto text = [](const std::string& bytes) {
    return base64(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  };
  CHECK(text("").empty());
  CHECK(text("f") == "Zg==");
  CHECK(text("fo") == "Zm8=");
  CHECK(text("foo") == "Zm9v");
  CHECK(text("foobar") == "Zm9vYmFy");
}

TEST_CASE("Packed numbers are differences of neighbours, small ones in a byte") {
  // 3, then -3, then 200: zigzag 6, 11 for -6, and 406 = 0x16 | 0x80, 0x03 for +203.
  const std::vector<std::int64_t> numbers{3, -3, 200};
  const std::vector<std::uint8_t> bytes{6, 11, 0x96, 0x03};
  CHECK(packed(numbers) == base64(bytes));
  const std::vector<std::int64_t> extremes{std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min()};
  CHECK(!packed(extremes).empty());
}

TEST_CASE("Joined windows keep integrals") {
  std::vector<sim::SeriesWindow> windows;
  double integral = 0;
  SimTime begin;
  for (std::int64_t i = 0; i < 11; ++i) {
    sim::SeriesWindow window{.begin = begin, .length = SimDuration(i == 10 ? 3 : 10), .mean = {}};
    window.mean[0] = static_cast<double>(i * i);
    integral += window.mean[0] * static_cast<double>(window.length.value());
    begin += window.length;
    windows.push_back(window);
  }
  for (const std::size_t most : {1u, 3u, 4u, 11u, 50u}) {
    const auto joined = joined_windows(windows, most);
    CHECK(joined.size() <= most);
    double sum = 0;
    for (const sim::SeriesWindow& window : joined) {
      sum += window.mean[0] * static_cast<double>(window.length.value());
    }
    CHECK(std::abs(sum - integral) < 1e-9 * integral);
  }
  CHECK(joined_windows(windows, 11) == windows);
  CHECK(joined_windows({}, 5).empty());
}

TEST_CASE("A results table is read, and a malformed one is refused with the reason") {
  const auto table = ResultsTable::parse("name,x\n\"a, b\",1.5\nc,\nd,many\n", "t.csv");
  REQUIRE(table.status().is_ok());
  CHECK(table.value().text(0, "name") == "a, b");
  CHECK(table.value().number(0, "x") == 1.5);
  CHECK(!table.value().number(1, "x").has_value());
  CHECK(!table.value().number(0, "y").has_value());
  CHECK(!table.value().number(2, "x").has_value());
  for (const char* text : {"nan", "-nan", "inf", "-inf", "0x1p3", "1e999"}) {
    const auto odd = ResultsTable::parse(std::string("x\n") + text + "\n", "t.csv");
    CHECK(!odd.value().number(0, "x").has_value());
  }
  CHECK(ResultsTable::parse("name,x\n1\n", "t.csv").status().message() ==
        "t.csv, line 2: found 1 fields; expected 2, as many as the first line has");
  CHECK(ResultsTable::parse("name,x\n", "t.csv").status().message() ==
        "t.csv: found no row; expected one per configuration");
}

TEST_CASE("A table of means has the values under each seed") {
  const auto table =
      ResultsTable::parse("x,x_ci95,x_by_seed,y\n2,1,1;3,7\n,,4;,8\n", "t.csv").value();
  CHECK(table.seeds().value() == 2);
  CHECK(table.number(0, "x") == 2);
  CHECK(table.number(0, "x", 0) == 1);
  CHECK(table.number(0, "x", 1) == 3);
  CHECK(table.number(1, "x", 0) == 4);
  CHECK(!table.number(1, "x", 1).has_value());
  CHECK(table.number(0, "y", 1) == 7);
  CHECK(table.text_of_seed(0, "x", 1) == "3");
  const auto older = ResultsTable::parse("x,x_ci95\n2,1\n", "t.csv").value();
  CHECK(older.seeds().status().message() ==
        "t.csv: found no column x_by_seed; expected one, as recto writes it");
  CHECK(ResultsTable::parse("x\n2\n", "t.csv").value().seeds().value() == 1);
}

// The table of a sweep with one row whose numbers are all 1, except for one field.
ResultsTable sweep_with(std::string_view column, const std::string& value) {
  std::string header;
  std::string row;
  for (const ReportMetric& metric : report_metrics()) {
    const std::string comma = header.empty() ? "" : ",";
    header += comma + std::string(metric.sweep);
    row += comma + (metric.sweep == column ? value : "1");
  }
  return ResultsTable::parse(header + '\n' + row + '\n', "t.csv").value();
}

TEST_CASE("Figures come from their columns, and are null without a number") {
  const auto metrics = [](std::string_view column, const std::string& value) {
    return metrics_json(sweep_with(column, value), &ReportMetric::sweep, 0);
  };
  CHECK(metrics("used_share", "0")["used"] == 0);
  CHECK(metrics("sharing_saving_share", "-1")["sharing_saving"] == -1);
  CHECK(metrics("ttft_p99_s", "123.4567")["ttft_p99_s"] == 123.46);
  CHECK(metrics("ttft_p99_s", "")["ttft_p99_s"].is_null());
  CHECK(metrics("ttft_p99_s", "")["ttft_p50_s"] == 1);
}

TEST_CASE("A table without a figure's column is refused") {
  CHECK(expect_metrics(sweep_with("", ""), &ReportMetric::sweep).is_ok());
  const ResultsTable table = ResultsTable::parse("x\n1\n", "t.csv").value();
  CHECK(expect_metrics(table, &ReportMetric::sweep).message() ==
        "t.csv: found no column used_share; expected one, as recto writes it");
  CHECK(expect_metrics(table, &ReportMetric::study).message() ==
        "t.csv: found no column figures.mean_shares.used; expected one, as recto writes it");
}

TEST_CASE("A study's times are in seconds and its slots are shares of the pool") {
  std::string header = "report.pool_slots";
  std::string row = "200";
  for (const ReportMetric& metric : report_metrics()) {
    header += "," + std::string(metric.study);
    row += ",50";
  }
  for (const char* kind : {"queueing", "ttft", "tpot", "end_to_end", "normalized"}) {
    header += std::string(",report.") + kind + ".count";
    row += kind == std::string("tpot") ? ",0" : ",3";
  }
  header += ",report.counters.preemptions_swap\n";
  row += ",7\n";
  const ResultsTable table = ResultsTable::parse(header + row, "t.csv").value();
  CHECK(expect_metrics(table, &ReportMetric::study).is_ok());
  const Json metrics = metrics_json(table, &ReportMetric::study, 0);
  CHECK(metrics["blocked_free"] == 0.25);
  CHECK(metrics["preemptions"] == 57);
  CHECK(metrics["ttft_p99_s"] == 5e-8);
  CHECK(metrics["tpot_p99_s"].is_null());  // of no request
}

}  // namespace
}  // namespace recto::experiments
