#include "reference/rescalings.h"

#include <algorithm>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::reference {
namespace {

Vector scores(std::initializer_list<double> values) {
  Vector vector(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), vector.data());
  return vector;
}

TEST_CASE("a climb continues at the next larger score, a rise at any larger score") {
  CHECK(longest_climb(scores({5})) == 1);
  CHECK(longest_climb(scores({3, 3, 3})) == 1);
  CHECK(longest_climb(scores({1, 2, 3})) == 3);
  CHECK(longest_climb(scores({3, 2, 1})) == 1);
  CHECK(longest_climb(scores({1, 9, 2, 3, 4})) == 3);  // from 2 on: a split may begin there
  CHECK(longest_climb(scores({1, 9, 2, 3})) == 2);
  CHECK(longest_rise(scores({1, 9, 2, 3})) == 3);  // 1, 2, 3: a lane may skip 9
}

// Counts how often the maximum grows in a pass over keys begin, begin + step, ... in tiles.
std::int64_t growths(const Vector& scores, std::int64_t begin, std::int64_t step,
                     std::int64_t tile) {
  double maximum = -std::numeric_limits<double>::infinity();
  std::int64_t growths = -1;  // the first tile does not rescale
  std::int64_t taken = 0;
  double tile_maximum = maximum;
  for (std::int64_t key = begin; key < scores.size(); key += step) {
    tile_maximum = std::max(tile_maximum, scores[key]);
    if (++taken % tile == 0 || key + step >= scores.size()) {
      if (tile_maximum > maximum) ++growths;
      maximum = std::max(maximum, tile_maximum);
    }
  }
  return growths;
}

TEST_CASE("no pass rescales more often than the bound allows, from any start, in any lane") {
  RandomStream stream(11);
  for (int trial = 0; trial < 300; ++trial) {
    Vector drawn(static_cast<std::int64_t>(1 + stream.next_below(60)));
    for (double& score : drawn) score = static_cast<double>(stream.next_below(40));
    const std::int64_t tile = static_cast<std::int64_t>(1 + stream.next_below(8));
    const auto consecutive = rescalings(drawn, {.tile_size = tile});
    const auto unknown = rescalings(drawn, {.tile_size = tile, .tile_order = TileOrder::kUnknown});
    for (std::int64_t begin = 0; begin < std::min<std::int64_t>(drawn.size(), 20); ++begin) {
      CHECK(growths(drawn, begin, 1, tile) <= consecutive);
      for (const std::int64_t lanes : {1, 2, 3, 7}) {
        CHECK(growths(drawn, begin, lanes, tile) <= unknown);
      }
    }
  }
}

TEST_CASE("merges of lanes and of splits count as rescalings") {
  const Vector rising = scores({1, 2, 3, 4});
  CHECK(rescalings(rising, {.tile_size = 1}) == 3);
  CHECK(rescalings(rising, {.tile_size = 4}) == 1);  // a tile may begin before the first key
  CHECK(rescalings(rising, {.tile_size = 1, .state_merges = 5}) == 8);
  CHECK(rescalings(rising, {.tile_size = 1, .split_size = 2}) == 4);
  CHECK(rescalings(rising, {.tile_size = 1, .split_size = 4}) == 3);
  CHECK(rescalings(rising, {.tile_size = 1, .split_size = 1, .max_splits = 2}) == 4);
  CHECK(rescalings(rising, {.tile_size = 1, .split_size = 1, .max_splits = 1}) == 3);
}

TEST_CASE("the split size is the least multiple that keeps the number of splits within its limit") {
  CHECK(KernelNumerics{}.keys_per_split(100) == 100);
  CHECK(KernelNumerics{.split_size = 16}.keys_per_split(100) == 16);
  const KernelNumerics shares = {.split_size = 16, .max_splits = 3};
  CHECK(shares.keys_per_split(0) == 16);
  CHECK(shares.keys_per_split(48) == 16);
  CHECK(shares.keys_per_split(49) == 32);
  CHECK(shares.keys_per_split(96) == 32);
  CHECK(shares.keys_per_split(97) == 48);
}

}  // namespace
}  // namespace recto::reference
