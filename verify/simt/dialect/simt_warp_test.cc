// Votes, matches and reductions of the lanes of a warp, value by value, as the CUDA C++ Programming
// Guide defines them. (Shuffles: simt_warp_shuffle_test.cc.)

#include "verify/simt/dialect/simt_warp.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/lane_values.h"

namespace recto::simt {
namespace {

// Patterns of predicates: none, all, one lane, random; any nonzero value is true.
std::vector<std::vector<int>> predicate_patterns() {
  std::vector<std::vector<int>> patterns = {std::vector<int>(kThreads, 0),
                                            std::vector<int>(kThreads, 1)};
  for (const std::size_t lane : {0U, 15U, 31U, 32U, 63U}) {
    patterns.emplace_back(kThreads, 0)[lane] = 1 << 30;
    patterns.emplace_back(kThreads, -1)[lane] = 0;
  }
  RandomStream random(8);
  for (int number = 0; number < 8; ++number) {
    std::vector<int>& drawn = patterns.emplace_back();
    for (int i = 0; i < kThreads; ++i) drawn.push_back(static_cast<int>(random.next_below(2)) * -2);
  }
  return patterns;
}

// Lanes of `mask` in the warp of thread i for which `is_member(thread)`.
template <typename Member>
unsigned lanes_where(unsigned mask, int i, const Member& is_member) {
  unsigned lanes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (is_in(mask, lane) && is_member(static_cast<std::size_t>(i / 32 * 32 + lane))) {
      lanes += 1U << lane;
    }
  }
  return lanes;
}

template <typename T>
void check_matches(const std::vector<T>& values) {
  for (const unsigned mask : kMasks) {
    std::vector<unsigned> out(kThreads, 12345);
    REQUIRE(run_block(match_values<T>, mask, values.data(), out.data()).text().empty());
    for (int i = 0; i < kThreads; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CAPTURE(mask, i, sizeof(T));
      const unsigned expected =
          lanes_where(mask, i, [&](auto other) { return is_same(values[other], values[at]); });
      CHECK(out[at] == (is_in(mask, i % 32) ? expected : 12345));
    }
  }
}

// The values of the lanes of `mask` in the warp of thread i.
std::vector<unsigned> taking_part(unsigned mask, int i, const std::vector<unsigned>& values) {
  std::vector<unsigned> parts;
  for (int lane = 0; lane < 32; ++lane) {
    if (is_in(mask, lane)) parts.push_back(values[static_cast<std::size_t>(i / 32 * 32 + lane)]);
  }
  return parts;
}

void check_reductions(const Reductions& out, const std::vector<unsigned>& parts) {
  std::uint64_t sum = 0;
  std::array<std::size_t, 32> ones = {};
  std::vector<std::int64_t> numbers;
  for (const unsigned part : parts) {
    sum += part;
    numbers.push_back(part < 0x80000000U ? std::int64_t{part} : std::int64_t{part} - (1LL << 32));
    for (unsigned bit = 0; bit < 32; ++bit) ones[bit] += part >> bit & 1;
  }
  unsigned all_bits = 0;
  unsigned any_bits = 0;
  unsigned odd_bits = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    if (ones[bit] == parts.size()) all_bits |= 1U << bit;
    if (ones[bit] > 0) any_bits |= 1U << bit;
    if (ones[bit] % 2 == 1) odd_bits |= 1U << bit;
  }
  CHECK(out.add == sum % (1ULL << 32));
  CHECK(static_cast<unsigned>(out.signed_add) == sum % (1ULL << 32));
  CHECK(out.min == *std::ranges::min_element(parts));
  CHECK(out.max == *std::ranges::max_element(parts));
  CHECK(out.signed_min == *std::ranges::min_element(numbers));
  CHECK(out.signed_max == *std::ranges::max_element(numbers));
  CHECK(out.all_bits == all_bits);
  CHECK(out.any_bits == any_bits);
  CHECK(out.odd_bits == odd_bits);
}

}  // namespace

TEST_CASE("votes count the lanes that take part, and no others") {
  for (const unsigned mask : kMasks) {
    for (const std::vector<int>& predicate : predicate_patterns()) {
      std::vector<Votes> out(kThreads);
      for (Votes& votes : out) votes.any = 77;
      REQUIRE(run_block(vote_on, mask, predicate.data(), out.data()).text().empty());
      for (int i = 0; i < kThreads; ++i) {
        const Votes& votes = out[static_cast<std::size_t>(i)];
        CAPTURE(mask, i);
        if (!is_in(mask, i % 32)) {
          CHECK(votes.any == 77);
          continue;
        }
        const unsigned ballot =
            lanes_where(mask, i, [&](auto thread) { return predicate[thread] != 0; });
        CHECK(votes.ballot == ballot);
        CHECK((votes.any != 0) == (ballot != 0));
        CHECK((votes.all != 0) == (ballot == mask));
        // CUDA guarantees no more.
        CHECK(is_in(votes.active, i % 32));
        CHECK((votes.active & ~mask) == 0);
      }
    }
  }
}

TEST_CASE("__match_any_sync gives the lanes with all the same bits") {
  RandomStream random(9);
  std::vector<unsigned> few;
  std::vector<long long> apart_above;
  for (int i = 0; i < kThreads; ++i) {
    few.push_back(static_cast<unsigned>(random.next_below(4)) * 0x40000001U);
    apart_above.push_back((static_cast<long long>(random.next_below(3)) << 40) + 5);
  }
  check_matches(few);
  check_matches(apart_above);
  // Zeros of both signs are two different values, and a NaN matches itself.
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int i = 0; i < kThreads; ++i) {
    floats.push_back(value_of<float>(std::array{0U, 0x80000000U, 0x7fc00000U}[few[i] % 3]));
    doubles.push_back(static_cast<double>(few[static_cast<std::size_t>(i)]) + 0.5);
  }
  check_matches(floats);
  check_matches(doubles);
}

TEST_CASE("reductions are those of the lanes that take part") {
  RandomStream random(10);
  for (int number = 0; number < 6; ++number) {
    std::vector<unsigned> values;
    for (int i = 0; i < kThreads; ++i) {
      values.push_back(static_cast<unsigned>(random.next_u64()) >> (number % 3 * 10));
    }
    // One bit is set in all values, another one in all but one.
    for (unsigned& value : values) value |= 0x00010100;
    values[3] &= ~0x100U;
    for (const unsigned mask : kMasks) {
      std::vector<Reductions> out(kThreads);
      REQUIRE(run_block(reduce_values, mask, values.data(), out.data()).text().empty());
      for (int i = 0; i < kThreads; ++i) {
        CAPTURE(mask, i);
        if (is_in(mask, i % 32)) {
          check_reductions(out[static_cast<std::size_t>(i)], taking_part(mask, i, values));
        } else {
          CHECK(out[static_cast<std::size_t>(i)].max == 0);
        }
      }
    }
  }
}

}  // namespace recto::simt
