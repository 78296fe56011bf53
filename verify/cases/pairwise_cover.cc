#include "verify/cases/pairwise_cover.h"

#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::verify {
namespace {

// Two factors, the smaller number first, and their values.
using Pair = std::tuple<int, int, int, int>;
constexpr int kOpen = -1;

Pair pair_of(int factor, int value, int other, int other_value) {
  return factor < other ? Pair{factor, other, value, other_value}
                        : Pair{other, factor, other_value, value};
}

class Cover {
 public:
  Cover(std::span<const int> levels, unsigned seed) : levels_(levels), random_(seed) {
    const int factors = static_cast<int>(levels.size());
    for (int a = 0; a < factors; ++a) {
      for (int b = a + 1; b < factors; ++b) {
        for (int i = 0; i < level_count(a); ++i) {
          for (int j = 0; j < level_count(b); ++j) missing_.insert({a, b, i, j});
        }
      }
    }
  }

  bool is_complete() const { return missing_.empty(); }

  // Begins with an uncovered pair, so that each row covers at least one.
  std::vector<int> next_row() {
    std::vector<int> row(levels_.size(), kOpen);
    const auto [a, b, i, j] = *missing_.begin();
    row[static_cast<std::size_t>(a)] = i;
    row[static_cast<std::size_t>(b)] = j;
    std::vector<int> order(levels_.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random_);
    for (const int factor : order) {
      if (row[static_cast<std::size_t>(factor)] == kOpen) {
        row[static_cast<std::size_t>(factor)] = best_value(row, factor);
      }
    }
    std::erase_if(missing_, [&row](const Pair& pair) {
      const auto [first, second, value, other] = pair;
      return row[static_cast<std::size_t>(first)] == value &&
             row[static_cast<std::size_t>(second)] == other;
    });
    return row;
  }

 private:
  int level_count(int factor) const { return levels_[static_cast<std::size_t>(factor)]; }

  // The number of uncovered pairs that `value` forms with the row so far.
  int pairs_gained(const std::vector<int>& row, int factor, int value) const {
    int gained = 0;
    for (int other = 0; other < static_cast<int>(row.size()); ++other) {
      const int other_value = row[static_cast<std::size_t>(other)];
      if (other == factor || other_value == kOpen) continue;
      gained += missing_.contains(pair_of(factor, value, other, other_value)) ? 1 : 0;
    }
    return gained;
  }

  int best_value(const std::vector<int>& row, int factor) {
    const int count = level_count(factor);
    const int begin = static_cast<int>(random_.next_below(static_cast<std::uint64_t>(count)));
    int best = begin;
    for (int i = 1; i < count; ++i) {
      const int value = (begin + i) % count;
      if (pairs_gained(row, factor, value) > pairs_gained(row, factor, best)) best = value;
    }
    return best;
  }

  std::span<const int> levels_;
  RandomStream random_;
  std::set<Pair> missing_;
};

}  // namespace

std::vector<std::vector<int>> pairwise_cover(std::span<const int> levels, unsigned seed) {
  for (const int count : levels) RECTO_CHECK_GE(count, 1);
  RECTO_CHECK_GE(levels.size(), std::size_t{2});
  Cover cover(levels, seed);
  std::vector<std::vector<int>> rows;
  while (!cover.is_complete()) rows.push_back(cover.next_row());
  return rows;
}

}  // namespace recto::verify
