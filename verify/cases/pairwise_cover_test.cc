#include "verify/cases/pairwise_cover.h"

#include <set>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

// How many pairs of values of two factors occur in some row.
std::size_t pairs_in(const std::vector<std::vector<int>>& rows, std::size_t a, std::size_t b) {
  std::set<std::pair<int, int>> pairs;
  for (const std::vector<int>& row : rows) pairs.insert({row[a], row[b]});
  return pairs.size();
}

TEST_CASE("every pair of values of any two factors occurs in a cover") {
  const std::vector<std::vector<int>> shapes = {
      {2, 2}, {1, 5}, {3, 3, 3, 3}, {7, 3, 6, 11, 5, 2, 2}, {1, 1, 1}, {2, 2, 2, 2, 2, 2, 2, 2}};
  for (const std::vector<int>& levels : shapes) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      const std::vector<std::vector<int>> rows = pairwise_cover(levels, seed);
      for (const std::vector<int>& row : rows) {
        REQUIRE(row.size() == levels.size());
        for (std::size_t i = 0; i < levels.size(); ++i) CHECK((row[i] >= 0 && row[i] < levels[i]));
      }
      for (std::size_t a = 0; a < levels.size(); ++a) {
        for (std::size_t b = a + 1; b < levels.size(); ++b) {
          CHECK(pairs_in(rows, a, b) == static_cast<std::size_t>(levels[a] * levels[b]));
        }
      }
    }
  }
}

TEST_CASE("a cover has far fewer rows than there are combinations") {
  const std::vector<int> levels = {7, 3, 6, 11, 5, 2, 2};  // 27720 combinations
  const std::size_t rows = pairwise_cover(levels, 1).size();
  CHECK(rows >= 7 * 11);
  CHECK(rows <= 7 * 11 * 3 / 2);
}

TEST_CASE("one seed gives one cover") {
  const std::vector<int> levels = {4, 5, 6};
  CHECK(pairwise_cover(levels, 3) == pairwise_cover(levels, 3));
  CHECK(pairwise_cover(levels, 3) != pairwise_cover(levels, 4));
}

}  // namespace
}  // namespace recto::verify
