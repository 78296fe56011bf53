#include "cuda/bench/sample_statistics.h"

#include "bazel/testing/catch.h"

namespace recto::bench {
namespace {

TEST_CASE("the median is the middle sample, or the mean of the middle two") {
  CHECK(statistics_of({3, 1, 2}).median == 2);
  CHECK(statistics_of({4, 1, 3, 2}).median == 2.5);
}

TEST_CASE("an outlier moves neither the median nor the spread of many") {
  const SampleStatistics calm = statistics_of({10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  CHECK(calm.median == 15);
  CHECK(calm.low == 11);
  CHECK(calm.high == 19);
  CHECK(calm.spread() == 8.0 / 15);
  const SampleStatistics wild = statistics_of({10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 2000});
  CHECK(wild.spread() == calm.spread());
}

TEST_CASE("one sample has no spread") {
  const SampleStatistics one = statistics_of({7});
  CHECK(one.median == 7);
  CHECK(one.spread() == 0);
}

TEST_CASE("statistics of no samples break the contract") { CHECK_THROWS(statistics_of({})); }

}  // namespace
}  // namespace recto::bench
