#include "experiments/report/headline.h"

#include <cstddef>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/report/block_size_panel.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

Json row_of(const std::string& allocator, int block_size, double per_s, double s_per_token) {
  return {{"label", allocator + " " + std::to_string(block_size)},
          {"block_size", block_size},
          {"metrics",
           {{"used", 0.8},
            {"requests_finished", 200},
            {"requests_rejected", 0},
            {"output_tokens_per_s", per_s},
            {"goodput_per_s", 1 / per_s},
            {"normalized_mean_s", s_per_token}}}};
}

Json panel_of(const std::vector<std::size_t>& rows, int recommended) {
  return {{"rows", rows}, {"advice", {{"recommended", recommended}}}};
}

Json headline(const Json& rows, const std::vector<std::size_t>& mapped, const Json& panels) {
  return headline_json(rows, mapped, panels, Throughput::kTokens);
}

// As in a study: the allocator that shares blocks uses less of the pool, and is faster.
Json two_allocators() {
  Json rows = {row_of("paged", 16, 340, 0.4), row_of("paged", 64, 348, 0.4),
               row_of("prefix-cached", 16, 680.1, 0.1), row_of("prefix-cached", 64, 600, 0.1)};
  rows[2]["metrics"]["used"] = 0.79;
  return rows;
}

Json panels() { return Json::array({panel_of({0, 1}, 64), panel_of({2, 3}, 16)}); }

TEST_CASE("The quickest of the panels' recommended rows is recommended, not the first") {
  const Json made = headline(two_allocators(), {1, 2}, panels());
  CHECK(made["recommended"] == 2);
  CHECK(made["compared"] == Json::array({1, 2}));
  CHECK(made["not_told_apart"].empty());
}

TEST_CASE("With latency limits, goodput takes the place of throughput") {
  CHECK(headline_json(two_allocators(), {1, 2}, panels(), Throughput::kGoodput)["recommended"] ==
        1);
}

TEST_CASE("Time per token decides between rows whose throughput is within one percent") {
  Json rows = two_allocators();
  rows[1]["metrics"]["output_tokens_per_s"] = 686;
  CHECK(headline(rows, {1, 2}, panels())["recommended"] == 2);
  rows[1]["metrics"]["output_tokens_per_s"] = 688;
  CHECK(headline(rows, {1, 2}, panels())["recommended"] == 1);
}

TEST_CASE("A row that rejects more requests is not recommended, however quick") {
  Json rows = two_allocators();
  rows[2]["metrics"]["requests_rejected"] = 1;
  const Json made = headline(rows, {1, 2}, panels());
  CHECK(made["recommended"] == 1);
  CHECK(made["compared"] == Json::array({2, 1}));
}

TEST_CASE("Rows that seeds do not distinguish from the recommended one are named") {
  Json rows = two_allocators();
  rows[1]["metrics"] = rows[2]["metrics"];
  rows[1]["metrics"]["output_tokens_per_s"] = 670;
  CHECK(headline(rows, {1, 2}, panels())["not_told_apart"].empty());
  const auto set = [&](std::size_t row, double first, double second) {
    rows[row]["metrics"]["by_seed"] = {{{"output_tokens_per_s", first}},
                                       {{"output_tokens_per_s", second}}};
  };
  set(2, 600, 760.2);
  set(1, 590, 750);
  CHECK(headline(rows, {1, 2}, panels())["not_told_apart"].empty());
  set(1, 610, 730);
  const Json made = headline(rows, {1, 2}, panels());
  CHECK(made["recommended"] == 2);
  CHECK(made["not_told_apart"] == Json::array({1}));
}

TEST_CASE("No row is recommended if the best row's panel recommends none") {
  Json open = panels();
  open[1]["advice"]["recommended"] = nullptr;
  const Json made = headline(two_allocators(), {1, 2}, open);
  CHECK(made["recommended"].is_null());
  CHECK(made["compared"] == Json::array({1, 2}));
  open = panels();
  open[0]["advice"]["recommended"] = nullptr;
  CHECK(headline(two_allocators(), {1, 2}, open)["recommended"] == 2);
}

TEST_CASE("Rows that served no request are compared only if there are no others") {
  Json rows = two_allocators();
  rows.push_back({{"label", "contiguous-max"},
                  {"block_size", nullptr},
                  {"metrics", {{"requests_finished", 0}, {"requests_rejected", 200}}}});
  CHECK(headline(rows, {4, 1, 2}, panels())["compared"] == Json::array({1, 2}));
  CHECK(headline(rows, {4, 2}, panels())["compared"] == Json::array({4, 2}));
  CHECK(headline(rows, {4}, panels())["compared"] == Json::array({4, 4}));
  // Without a map the recommended row is not compared.
  CHECK(headline(rows, {0, 1}, panels())["compared"] == Json::array({0, 1}));
  CHECK(headline(rows, {0}, Json::array())["recommended"].is_null());
}

TEST_CASE("A note counts what each row rejects") {
  Json rows = two_allocators();
  CHECK(notes_on(rows, 1).empty());
  rows[0]["metrics"]["requests_rejected"] = 64;
  rows[0]["metrics"]["requests_finished"] = 136;
  rows[2]["metrics"]["requests_rejected"] = 0.5;
  CHECK(notes_on(rows, 2) ==
        std::vector<std::string>{
            "Requests were rejected, because they can never fit, and are in no other figure: paged "
            "16 (64 of 200), prefix-cached 16 (0.5 of 200.5), means over 2 seeds."});
  Json many = Json::array();
  for (int i = 0; i < 10; ++i) many.push_back(rows[0]);
  CHECK(notes_on(many, 1)[0].ends_with("paged 16 (64 of 200) and 2 more rows."));
}

}  // namespace
}  // namespace recto::experiments
