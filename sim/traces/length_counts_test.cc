#include "sim/traces/trace_summary.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

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

}  // namespace
}  // namespace recto::sim
