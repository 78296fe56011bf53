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

TEST_CASE("Base64 is RFC 4648's") {
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

TEST_CASE("A results table is read back, and what is none is refused with its line") {
  const auto table = ResultsTable::parse("name,x\n\"a, b\",1.5\nc,\nd,many\n", "t.csv");
  REQUIRE(table.status().is_ok());
  CHECK(table.value().text(0, "name") == "a, b");
  CHECK(table.value().number(0, "x").value() == 1.5);
  CHECK(!table.value().number(1, "x").value().has_value());
  CHECK(!table.value().number(0, "y").value().has_value());
  CHECK(table.value().number(2, "x").status().message() ==
        "t.csv, line 4, x: found 'many'; expected a number");
  for (const char* text : {"nan", "-nan", "inf", "-inf", "0x1p3", "1e999"}) {
    const auto odd = ResultsTable::parse(std::string("x\n") + text + "\n", "t.csv");
    CHECK(odd.value().number(0, "x").status().message() ==
          std::string("t.csv, line 2, x: found '") + text + "'; expected a number");
  }
  CHECK(ResultsTable::parse("name,x\n1\n", "t.csv").status().message() ==
        "t.csv, line 2: found 1 fields; expected 2, as many as the first line has");
  CHECK(ResultsTable::parse("name,x\n", "t.csv").status().message() ==
        "t.csv: found no row; expected one per configuration");
}

TEST_CASE("A table of means has a table under each seed") {
  const auto table =
      ResultsTable::parse("x,x_ci95,x_by_seed,y\n2,1,1;3,7\n,,4;,8\n", "t.csv").value();
  const auto first = table.of_seed(0, 2).value();
  const auto second = table.of_seed(1, 2).value();
  CHECK(first.number(0, "x").value() == 1);
  CHECK(second.number(0, "x").value() == 3);
  CHECK(!second.number(1, "x").value().has_value());
  CHECK(second.number(0, "y").value() == 7);
  CHECK(!first.has("x_ci95"));
  CHECK(table.of_seed(0, 3).status().message() ==
        "t.csv, line 2, x_by_seed: found '1;3'; expected 3 values, one per seed");
  const auto older = ResultsTable::parse("x,x_ci95\n2,1\n", "t.csv").value();
  CHECK(older.of_seed(0, 2).status().message() ==
        "t.csv: found no column x_by_seed; expected one, as recto writes it");
}

// A row of a sweep whose numbers are all 1, except for one field.
Result<Json> metrics_with(std::string_view column, const std::string& value) {
  std::string header;
  std::string row;
  for (const ReportMetric& metric : report_metrics()) {
    const std::string comma = header.empty() ? "" : ",";
    header += comma + std::string(metric.sweep);
    row += comma + (metric.sweep == column ? value : "1");
  }
  const auto table = ResultsTable::parse(header + '\n' + row + '\n', "t.csv");
  return metrics_json(table.value(), &ReportMetric::sweep, 0);
}

TEST_CASE("A figure that cannot be is refused with its line and column") {
  CHECK(metrics_with("used_share", "0").is_ok());
  CHECK(metrics_with("used_share", "-1").status().message() ==
        "t.csv, line 2, used_share: found '-1'; expected a number from 0");
  CHECK(metrics_with("used_share", "").status().message() ==
        "t.csv, line 2, used_share: found ''; expected a number");
  CHECK(metrics_with("used_share", "nan").status().message() ==
        "t.csv, line 2, used_share: found 'nan'; expected a number");
  CHECK(metrics_with("sharing_saving_share", "-1").is_ok());
  CHECK(metrics_with("ttft_p99_s", "").status().message() ==
        "t.csv, line 2, ttft_p99_s: found ''; expected a number, as requests finished");
  const auto table = ResultsTable::parse("x\n1\n", "t.csv");
  CHECK(metrics_json(table.value(), &ReportMetric::sweep, 0).status().message() ==
        "t.csv: found no column used_share; expected one, as recto writes it");
}

}  // namespace
}  // namespace recto::experiments
