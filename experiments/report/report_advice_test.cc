#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/report/block_size_advice.h"
#include "experiments/report/packed_numbers.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/results_table.h"
#include "experiments/report/series_data.h"

namespace recto::experiments {
namespace {

BlockSizeFigures size_of(std::int64_t block_size) {
  BlockSizeFigures figures;
  figures.block_size = block_size;
  figures.waste.mean = 0.02;
  figures.prefix_hit.mean = 0.4;
  figures.table_bytes.mean = 4096.0 / static_cast<double>(block_size);
  figures.output_per_s.mean = 1000;
  figures.s_per_token.mean = 0.03;
  figures.ttft_p50_s.mean = 0.05;
  figures.ttft_p99_s.mean = 0.75;
  figures.tpot_p99_s.mean = 0.04;
  figures.latency_p99_s.mean = 40;
  return figures;
}

TEST_CASE("Of equally good block sizes the largest is advised") {
  const auto advice = advise({size_of(8), size_of(16), size_of(32)});
  REQUIRE(advice.has_value());
  CHECK(advice->recommended == 32);
  CHECK(advice->reason.find("largest of 3 sizes") != std::string::npos);
  CHECK(advice->trade_offs.size() == 1);
  // The same in everything but longer tables.
  CHECK(advice->verdicts[0].beaten_by == 16);
  CHECK(!advice->verdicts[2].beaten_by.has_value());
}

TEST_CASE("A percentage point of the pool is given away for a larger block, more is not") {
  BlockSizeFigures large = size_of(32);
  large.waste.mean = 0.02 + kGoodShare - 1e-9;
  CHECK(advise({size_of(16), large})->recommended == 32);
  large.waste.mean = 0.02 + kGoodShare + 1e-9;
  const auto advice = advise({size_of(16), large});
  CHECK(advice->recommended == 16);
  CHECK(advice->verdicts[1].drawbacks ==
        std::vector<std::string>{"1.0 points of the pool more held empty"});
}

TEST_CASE("Prefix hits, throughput, time and rejected requests each decide alone") {
  std::vector<BlockSizeFigures> worse(4, size_of(32));
  worse[0].prefix_hit.mean -= 0.011;
  worse[1].output_per_s.mean *= 0.989;
  worse[2].s_per_token.mean *= 1.011;
  worse[3].requests_rejected.mean = 1;
  for (const BlockSizeFigures& large : worse) {
    const auto advice = advise({size_of(16), large});
    CHECK(advice->recommended == 16);
    CHECK(advice->verdicts[1].drawbacks.size() == 1);
  }
}

TEST_CASE("Where no size is good in everything, the quickest is advised and that is said") {
  BlockSizeFigures small = size_of(8);
  small.s_per_token.mean = 0.04;
  BlockSizeFigures large = size_of(128);
  large.waste.mean = 0.2;
  const auto advice = advise({small, large});
  CHECK(advice->recommended == 128);
  CHECK(advice->reason.find("No size") == 0);
}

TEST_CASE("A size that rejects more requests is neither advised nor a measure for others") {
  BlockSizeFigures small = size_of(16);
  small.waste.mean = 0.05;  // so that no size is good in everything
  small.requests_finished.mean = 200;
  BlockSizeFigures middle = size_of(64);
  middle.s_per_token.mean = 0.04;
  middle.requests_finished.mean = 200;
  BlockSizeFigures large = size_of(1000);
  large.waste.mean = 0.01;
  large.s_per_token.mean = 0.001;
  large.requests_finished.mean = 136;
  large.requests_rejected.mean = 64;
  const auto advice = advise({small, middle, large});
  CHECK(advice->recommended == 16);
  CHECK(advice->reason.find("No size") == 0);
  CHECK(advice->reason.ends_with(
      " It rejects 0 of 200 requests; left out, as they reject more: block 1000 (64)."));
  CHECK(advice->verdicts[0].drawbacks ==
        std::vector<std::string>{"3.0 points of the pool more held empty"});
  CHECK(advice->verdicts[2].drawbacks == std::vector<std::string>{"64 more requests rejected"});
  const auto of_two = advise({small, large});
  CHECK(of_two->recommended == 16);
  CHECK(of_two->reason.find("Block 16 is the size that rejects the fewest requests. It") == 0);
  CHECK(of_two->trade_offs[0].find("Block 1000 instead: 64 requests rejected instead of 0, held") ==
        0);
  // As quick, and serving all, it is advised.
  large.requests_rejected.mean = 0;
  CHECK(advise({small, large})->recommended == 1000);
}

TEST_CASE("Where every size rejects requests the reason has their count") {
  BlockSizeFigures small = size_of(16);
  small.requests_finished.mean = 288.5;
  small.requests_rejected = {.mean = 11.5, .half_width = 19};
  BlockSizeFigures large = small;
  large.block_size = 32;
  const auto advice = advise({small, large}, 2);
  CHECK(advice->recommended == 32);
  CHECK(
      advice->reason.ends_with(" Every size rejects 11.50 of 300 requests, which can never fit."));
  CHECK(advice->trade_offs[0].find("instead: as many requests rejected, 11.50, held") !=
        std::string::npos);
  // One request more under one seed is no chance: the requests are the same.
  large.requests_rejected.mean = 12;
  CHECK(advise({small, large}, 2)->recommended == 16);
}

TEST_CASE("A percentile of one run is told against a size and does not decide") {
  BlockSizeFigures large = size_of(32);
  large.ttft_p99_s.mean *= 1.28;
  const auto advice = advise({size_of(16), large});
  CHECK(advice->recommended == 32);
  CHECK(advice->verdicts[1].drawbacks ==
        std::vector<std::string>{
            "28.0 % longer to the first token, p99 (does not decide: of one run)"});
  CHECK(advice->reason.ends_with(
      "Against it: 28.0 % longer to the first token, p99 (does not decide: of one run)."));
  CHECK(advice->trade_offs[0].find("TTFT median the same, TTFT p99 21.9 % down") !=
        std::string::npos);
  large.ttft_p99_s.mean = 0.75 * 1.099;
  CHECK(advise({size_of(16), large})->verdicts[1].drawbacks.empty());
}

TEST_CASE("A percentile over several seeds decides") {
  std::vector<BlockSizeFigures> worse(4, size_of(32));
  worse[0].ttft_p50_s.mean *= 1.11;
  worse[1].ttft_p99_s.mean *= 1.11;
  worse[2].tpot_p99_s.mean *= 1.11;
  worse[3].latency_p99_s.mean *= 1.11;
  for (const BlockSizeFigures& large : worse) {
    CHECK(advise({size_of(16), large}, 1)->recommended == 32);
    CHECK(advise({size_of(16), large}, 4)->recommended == 16);
  }
}

TEST_CASE("Copied bytes and measured kernel time are told, and the times have them in them") {
  BlockSizeFigures small = size_of(16);
  small.copied_bytes.mean = 1000;
  small.kernel_s = {.mean = 0.010};
  BlockSizeFigures large = size_of(32);
  large.copied_bytes.mean = 1500;
  large.kernel_s = {.mean = 0.012};
  const auto advice = advise({small, large});
  CHECK(advice->recommended == 32);
  CHECK(advice->verdicts[1].drawbacks ==
        std::vector<std::string>{
            "50.0 % more bytes copied on write (does not decide: the times have it in them)",
            "20.0 % longer in attention kernels (does not decide: the times have it in them)"});
  CHECK(advice->trade_offs[0].find("attention kernels 16.7 % down") != std::string::npos);
}

TEST_CASE("Where intervals overlap no verdict is drawn") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  large.waste.mean = 0.05;
  small.waste.half_width = 0.012;
  large.waste.half_width = 0.017;
  const auto apart = advise({small, large}, 4);
  CHECK(apart->recommended == 16);
  CHECK(apart->verdicts[1].drawbacks ==
        std::vector<std::string>{"3.0 points of the pool more held empty"});
  large.waste.half_width = 0.019;
  const auto overlapping = advise({small, large}, 4);
  CHECK(overlapping->recommended == 32);
  CHECK(overlapping->verdicts[1].drawbacks.empty());
  CHECK(overlapping->reason.ends_with(
      "Not told apart from the best by 4 seeds: 3.0 points of the pool more held empty."));
  CHECK(overlapping->trade_offs[0].find("held empty not told apart") != std::string::npos);
}

TEST_CASE("No size beats another by what may be chance") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  large.table_bytes = small.table_bytes;
  large.s_per_token.mean *= 0.999;
  CHECK(advise({small, large}, 4)->verdicts[0].beaten_by == 32);
  large.s_per_token.half_width = 0.001;
  CHECK(!advise({small, large}, 4)->verdicts[0].beaten_by.has_value());
}

TEST_CASE("One block size is no choice") {
  CHECK(!advise({}).has_value());
  CHECK(!advise({size_of(16)}).has_value());
}

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

// A row of a sweep whose numbers are all 1, except for one field.
Result<Json> metrics_with(std::string_view column, const std::string& value) {
  std::string header;
  std::string row;
  for (const ReportMetric& metric : sweep_metrics()) {
    const std::string comma = header.empty() ? "" : ",";
    header += comma + std::string(metric.column);
    row += comma + (metric.column == column ? value : "1");
  }
  const auto table = ResultsTable::parse(header + '\n' + row + '\n', "t.csv");
  return metrics_json(table.value(), 0, sweep_metrics());
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
  CHECK(metrics_json(table.value(), 0, sweep_metrics()).status().message() ==
        "t.csv: found no column used_share; expected one, as recto writes it");
}

}  // namespace
}  // namespace recto::experiments
