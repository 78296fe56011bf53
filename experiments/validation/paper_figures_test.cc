#include "experiments/validation/paper_figures.h"

#include <limits>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

void check_all(const std::vector<PublishedFigure>& rows) {
  REQUIRE(!rows.empty());
  for (const PublishedFigure& row : rows) {
    CAPTURE(row.quantity, row.expected, row.measured, row.tolerance);
    CHECK(row.holds());
  }
}

TEST_CASE("the states of the paper's Fig. 2 come out within 2.5 points") {
  check_all(compare_memory_states());
}

TEST_CASE("the contiguous batch sizes of the paper's Fig. 13 come out within 5 %") {
  check_all(compare_batch_sizes());
}

TEST_CASE("one step time gives the paged batch sizes of the paper's Fig. 13 within 15 %") {
  check_all(compare_paged_batch());
}

TEST_CASE("the savings of parallel sampling in the paper's Fig. 15 come out within 10 %") {
  check_all(compare_parallel_sharing());
}

TEST_CASE("a beam model fitted at width 2 predicts the paper's widths 4 and 6 within 10 %") {
  check_all(compare_beam_sharing());
}

TEST_CASE("a comparison fails on a figure out of tolerance, and on NaN") {
  PublishedFigure row{"made up", 10, 10.4, Tolerance::kRelative, 0.05};
  CHECK(row.holds());
  row.measured = 10.6;
  CHECK(!row.holds());
  row.measured = std::numeric_limits<double>::quiet_NaN();
  CHECK(!row.holds());
  row = {"made up", 96, 95.9, Tolerance::kAtLeast, 0};
  CHECK(!row.holds());
  row = {"made up", 0, 2.6, Tolerance::kPoints, 2.5};
  CHECK(!row.holds());
}

}  // namespace
}  // namespace recto::experiments
