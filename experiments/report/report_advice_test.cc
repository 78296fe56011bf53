#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/report/block_size_advice.h"

namespace recto::experiments {
namespace {

BlockSizeFigures size_of(std::int64_t block_size) {
  BlockSizeFigures figures;
  figures.block_size = block_size;
  figures.requests_finished.mean = 300;
  figures.used.mean = 0.5;
  figures.waste.mean = 0.02;
  figures.prefix_hit.mean = 0.4;
  figures.table_bytes.mean = 4096.0 / static_cast<double>(block_size);
  figures.output_per_s.mean = 1000;
  figures.s_per_token = SeedMean{.mean = 0.03};
  figures.ttft_p50_s = SeedMean{.mean = 0.05};
  figures.ttft_p99_s = SeedMean{.mean = 0.75};
  figures.tpot_p99_s = SeedMean{.mean = 0.04};
  figures.latency_p99_s = SeedMean{.mean = 40};
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

TEST_CASE("A larger block is advised if it wastes at most a percentage point more of the pool") {
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
  worse[2].s_per_token->mean *= 1.011;
  worse[3].requests_rejected.mean = 1;
  for (const BlockSizeFigures& large : worse) {
    const auto advice = advise({size_of(16), large});
    CHECK(advice->recommended == 16);
    CHECK(advice->verdicts[1].drawbacks.size() == 1);
  }
}

TEST_CASE("If no size is good in every respect, the quickest is advised, with that reason") {
  BlockSizeFigures small = size_of(8);
  small.s_per_token->mean = 0.04;
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
  middle.s_per_token->mean = 0.04;
  middle.requests_finished.mean = 200;
  BlockSizeFigures large = size_of(1000);
  large.waste.mean = 0.01;
  large.s_per_token->mean = 0.001;
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

TEST_CASE("If every size rejects requests, the reason has their number") {
  BlockSizeFigures small = size_of(16);
  small.requests_finished.mean = 288.5;
  small.requests_rejected = {.mean = 11.5, .by_seed = {2, 21}};
  BlockSizeFigures large = small;
  large.block_size = 32;
  const auto advice = advise({small, large}, 2);
  CHECK(advice->recommended == 32);
  CHECK(
      advice->reason.ends_with(" Every size rejects 11.50 of 300 requests, which can never fit."));
  CHECK(advice->trade_offs[0].find("instead: as many requests rejected, 11.50, held") !=
        std::string::npos);
  // One more request under one seed is not chance, because the requests are the same.
  large.requests_rejected = {.mean = 12, .by_seed = {2, 22}};
  CHECK(advise({small, large}, 2)->recommended == 16);
}

TEST_CASE("A trade-off lists every criterion by which sizes are compared") {
  BlockSizeFigures figures = size_of(16);
  figures.copied_bytes.mean = 100;
  figures.kernel_s = SeedMean{.mean = 0.01};
  const std::string text = trade_off(figures, figures);
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    if (criterion.difference == Difference::kCount) continue;
    CHECK(text.find(std::string(criterion.name) + " the same") != std::string::npos);
  }
  BlockSizeFigures slower = figures;
  slower.tpot_p99_s->mean *= 1.2;
  slower.latency_p99_s->mean *= 2;
  CHECK(trade_off(figures, slower).find("TPOT p99 20.0 % up, end to end p99 x 2") !=
        std::string::npos);
}

TEST_CASE("A percentile of a single run is listed against a size and does not decide") {
  BlockSizeFigures large = size_of(32);
  large.ttft_p99_s->mean *= 1.28;
  const auto advice = advise({size_of(16), large});
  CHECK(advice->recommended == 32);
  CHECK(advice->verdicts[1].drawbacks ==
        std::vector<std::string>{
            "28.0 % longer to the first token, p99 (does not decide: from a single run)"});
  CHECK(advice->reason.ends_with(
      "Against it: 28.0 % longer to the first token, p99 (does not decide: from a single run)."));
  CHECK(advice->trade_offs[0].find("TTFT median the same, TTFT p99 21.9 % down") !=
        std::string::npos);
  large.ttft_p99_s->mean = 0.75 * 1.099;
  CHECK(advise({size_of(16), large})->verdicts[1].drawbacks.empty());
}

TEST_CASE("A percentile over several seeds decides") {
  std::vector<BlockSizeFigures> worse(4, size_of(32));
  worse[0].ttft_p50_s->mean *= 1.11;
  worse[1].ttft_p99_s->mean *= 1.11;
  worse[2].tpot_p99_s->mean *= 1.11;
  worse[3].latency_p99_s->mean *= 1.11;
  for (const BlockSizeFigures& large : worse) {
    CHECK(advise({size_of(16), large}, 1)->recommended == 32);
    CHECK(advise({size_of(16), large}, 4)->recommended == 16);
  }
}

TEST_CASE("Copied bytes and measured kernel time are listed, and do not decide beside the times") {
  BlockSizeFigures small = size_of(16);
  small.copied_bytes.mean = 1000;
  small.kernel_s = SeedMean{.mean = 0.010};
  BlockSizeFigures large = size_of(32);
  large.copied_bytes.mean = 1500;
  large.kernel_s = SeedMean{.mean = 0.012};
  const auto advice = advise({small, large});
  CHECK(advice->recommended == 32);
  CHECK(advice->verdicts[1].drawbacks ==
        std::vector<std::string>{
            "50.0 % more bytes copied on write (does not decide: the times include it)",
            "20.0 % longer in attention kernels (does not decide: the times include it)"});
  CHECK(advice->trade_offs[0].find("attention kernels 16.7 % down") != std::string::npos);
}

SeedMean of_seeds(double first, double second) {
  return {.mean = (first + second) / 2, .by_seed = {first, second}};
}

TEST_CASE("A size that is worse under every seed counts as worse, however far seeds are apart") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(256);
  small.output_per_s = of_seeds(680, 832);
  large.output_per_s = of_seeds(348, 379);
  const auto apart = advise({small, large}, 2);
  CHECK(apart->recommended == 16);
  CHECK(apart->verdicts[1].is_worse);
  CHECK(apart->verdicts[1].drawbacks == std::vector<std::string>{"51.9 % less served per second"});
  CHECK(apart->trade_offs[0].find("throughput x 0.48") != std::string::npos);
}

TEST_CASE("No size is recommended if seeds differ in which size is better") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  small.output_per_s = of_seeds(1000, 1000);
  large.output_per_s = of_seeds(700, 1001);
  const auto open = advise({small, large}, 2);
  CHECK(!open->recommended.has_value());
  CHECK(open->trade_offs.empty());
  CHECK(open->reason.find("2 seeds do not distinguish blocks 16, 32") == 0);
  CHECK(open->verdicts[1].drawbacks.empty());
  CHECK(open->verdicts[1].not_told_apart ==
        std::vector<std::string>{"14.9 % less served per second"});
  CHECK(to_json(*open)["recommended"].is_null());
  // If the seeds separate another size, the rest is advised, with a note on undecided differences.
  BlockSizeFigures huge = size_of(64);
  huge.output_per_s = of_seeds(500, 600);
  const auto told = advise({small, large, huge}, 2);
  CHECK(told->recommended == 16);
  CHECK(told->reason.find("2 seeds do not show whether block 32 may be as good.") !=
        std::string::npos);
  CHECK(told->trade_offs[0].find("throughput not distinguished") != std::string::npos);
  // Within a hundredth they are equally good.
  large.output_per_s = of_seeds(990, 1001);
  CHECK(advise({small, large}, 2)->recommended == 32);
}

TEST_CASE("A percentile that seeds do not tell apart does not decide") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  small.ttft_p99_s = of_seeds(1, 1);
  large.ttft_p99_s = of_seeds(2, 0.9);
  const auto advice = advise({small, large}, 2);
  CHECK(advice->recommended == 32);
  CHECK(advice->reason.ends_with(
      "Not distinguished from the best by 2 seeds: 45.0 % longer to the first token, p99."));
}

TEST_CASE("A size beats another only by a difference that every seed shows") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  large.table_bytes = small.table_bytes;
  small.s_per_token = of_seeds(0.030, 0.040);
  large.s_per_token = of_seeds(0.0299, 0.0399);
  CHECK(advise({small, large}, 2)->verdicts[0].beaten_by == 32);
  large.s_per_token = of_seeds(0.0297, 0.0401);
  CHECK(!advise({small, large}, 2)->verdicts[0].beaten_by.has_value());
}

TEST_CASE("A good size that another good size beats is not recommended") {
  BlockSizeFigures middle = size_of(128);
  BlockSizeFigures large = size_of(256);
  large.table_bytes = middle.table_bytes;
  middle.waste.mean = large.waste.mean - 0.002;
  const auto advice = advise({size_of(16), middle, large});
  CHECK(advice->recommended == 128);
  CHECK(advice->reason ==
        "Block 128 is one of 3 sizes within a percentage point of the best in slots held empty and "
        "in prefix hits of first admissions, and within one percent in throughput and time per "
        "token; block 128 is no worse than block 256 in anything.");
}

TEST_CASE("A size that serves no request is compared by its rejections") {
  BlockSizeFigures small = size_of(16);
  small.requests_rejected.mean = 27;
  small.requests_finished.mean = 73;
  BlockSizeFigures huge;
  huge.block_size = 1000;
  huge.requests_rejected.mean = 100;
  const auto advice = advise({small, huge});
  CHECK(advice->recommended == 16);
  CHECK(advice->reason ==
        "Block 16 is the size that rejects the fewest requests. It rejects 27 of 100 requests; "
        "left out, as they reject more: block 1000 (100).");
  CHECK(advice->trade_offs ==
        std::vector<std::string>{"Block 1000 instead: all 100 requests rejected."});
  BlockSizeFigures larger = huge;
  larger.block_size = 2000;
  const auto none = advise({huge, larger});
  CHECK(!none->recommended.has_value());
  CHECK(none->reason == "No request is served with blocks 1000, 2000: none is recommended.");
}

TEST_CASE("No size is recommended if no request meets the limits") {
  BlockSizeFigures small = size_of(16);
  BlockSizeFigures large = size_of(32);
  small.output_per_s.mean = 0;
  large.output_per_s.mean = 0;
  const auto none = advise({small, large});
  CHECK(!none->recommended.has_value());
  CHECK(none->reason ==
        "No request meets the latency limits with blocks 16, 32: none is recommended.");
  small.output_per_s.mean = 0.1;
  CHECK(advise({small, large})->recommended == 16);
}

TEST_CASE("No size is advised among fewer than two") {
  CHECK(!advise({}).has_value());
  CHECK(!advise({size_of(16)}).has_value());
}

}  // namespace
}  // namespace recto::experiments
