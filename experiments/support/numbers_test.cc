// Tests of terminal output: tables, bars, numbers and remarks.

#include <limits>
#include <string>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/report_json.h"
#include "experiments/support/state_bar.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

TEST_CASE("tables align by display width") {
  Table table({{"name", Align::kLeft}, {"n"}});
  table.add_row({"\x1b[32m██\x1b[0m", "1"});
  table.add_row({"abc", "1,234"});
  CHECK(table.text() == "name      n\n----  -----\n\x1b[32m██\x1b[0m        1\nabc   1,234\n");
  CHECK(display_width("\x1b[32m██\x1b[0m") == 2);
  CHECK_THROWS_AS(table.add_row({"too few"}), ContractFailure);
}

TEST_CASE("a counted noun is singular for one, and plural otherwise") {
  CHECK(counted(0, "point") == "0 points");
  CHECK(counted(1, "point") == "1 point");
  CHECK(counted(1234, "request") == "1,234 requests");
}

TEST_CASE("words that a shell would split or expand are quoted") {
  CHECK(shell_word("failing-cases/a_b@gpu.json") == "failing-cases/a_b@gpu.json");
  CHECK(shell_word("two words/x.json") == "'two words/x.json'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$HOME;ls") == "'$HOME;ls'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("a bar has the requested width, whatever the shares") {
  const Terminal ascii;
  const PoolShares even{.used = 0.25, .reserved = 0.25, .tail = 0.25, .free = 0.25};
  CHECK(state_bar(even, 8, ascii) == "##==--..");
  // Thirds: the remainder goes to the first.
  const PoolShares thirds{.used = 1.0 / 3, .cached = 1.0 / 3, .overhead = 1.0 / 3};
  CHECK(state_bar(thirds, 10, ascii) == "####:::xxx");
  CHECK(state_bar(PoolShares(), 5, ascii) == "     ");
  CHECK(state_bar(PoolShares{.used = 1}, 3, {.charset = Charset::kUtf8}) == "███");
  const std::string coloured =
      state_bar(even, 8, {.charset = Charset::kUtf8, .colour = Colour::kAnsi});
  CHECK(display_width(coloured) == 8);
  CHECK(coloured.find("\x1b[32m") != std::string::npos);
  CHECK(state_bar(PaperShares{.token_states = 0.5, .external_and_others = 0.5}, 4, ascii) ==
        "##..");
}

TEST_CASE("numbers keep to their width") {
  CHECK(count_text(64) == "64");
  CHECK(count_text(123'456) == "123,456");
  CHECK(count_text(1.0 / 3) == "0.333");
  CHECK(grouped(0) == "0");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(-123456) == "-123,456");
  CHECK(percent(0.1234) == "12.3");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1536) == "1.50 KiB");
  CHECK(duration_text(1.5e9) == "1.50 s");
  CHECK(duration_text(45.6e6) == "45.60 ms");
  for (double value = 1e-6; value < 1e15; value *= 1.37) {
    INFO(value);
    CHECK(compact_number(value).size() <= 5);
    CHECK(short_number(value).size() <= 16);
  }
  CHECK(compact_number(99'999.4) == "99999");
  CHECK(compact_number(99'999.6) == "100k");
  CHECK(compact_number(999.96) == "1000");
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  CHECK(short_number(kNone) == "-");
  CHECK(compact_number(kNone) == "-");
  CHECK(short_number(0) == "0");
  CHECK(compact_number(0) == "0.000");
}

TEST_CASE("CSV fields are quoted where they must be") {
  CHECK(csv_row({"a", "b,c", "say \"x\"", ""}) == "a,\"b,c\",\"say \"\"x\"\"\",\n");
  CHECK(csv_number(0.1) == "0.1");
  CHECK(csv_number(3) == "3");
}

TEST_CASE("lists with empty items are refused") {
  CHECK(split_list("a,b").value() == std::vector<std::string>{"a", "b"});
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
    INFO(text);
    CHECK_FALSE(split_list(text).is_ok());
  }
}

TEST_CASE("remarks fit the page and say what was rejected") {
  sim::Report report;
  CHECK(rejected_remark(report, "x").empty());
  report.counters.requests_arrived = 20;
  report.counters.requests_rejected = 12;
  for (int id = 0; id < 12; ++id) report.rejected_ids.push_back(id);
  CHECK(rejected_remark(report, "paged 16") ==
        "paged 16: 12 of 20 requests rejected, because they can never fit; ids 0, 1, 2, 3, 4, 5, "
        "6, 7, 8, 9,\n  ...\n");
  report.counters.requests_rejected = 20;
  CHECK(rejected_remark(report, "").find("nothing was simulated") != std::string::npos);
}

}  // namespace
}  // namespace recto::experiments
