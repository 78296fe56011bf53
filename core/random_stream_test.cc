#include "core/random_stream.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

// Pearson's statistic against equal shares.
double chi_square(const std::vector<int>& observed, double expected_each) {
  double sum = 0;
  for (const int count : observed) {
    sum += (count - expected_each) * (count - expected_each) / expected_each;
  }
  return sum;
}

// A bound that is exceeded with probability at most 1e-9: Laurent & Massart, "Adaptive estimation
// of a quadratic functional by model selection", Annals of Statistics 28(5), 2000, lemma 1.
double chi_square_bound(double degrees_of_freedom) {
  const double t = std::log(1e9);
  return degrees_of_freedom + 2 * std::sqrt(degrees_of_freedom * t) + 2 * t;
}

TEST_CASE("mix_bits is the finaliser of SplitMix64") {
  // Outputs of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
  constexpr std::array<std::uint64_t, 3> kPublished = {6457827717110365317u, 3203168211198807973u,
                                                       9817491932198370423u};
  for (std::size_t i = 0; i < kPublished.size(); ++i) {
    CHECK(mix_bits(1234567 + (i + 1) * kGoldenGamma) == kPublished[i]);
  }
}

TEST_CASE("a stream is xoshiro256** seeded through SplitMix64") {
  // A second implementation of the generator, following xoshiro256starstar.c.
  std::array<std::uint64_t, 4> s;
  for (std::size_t i = 0; i < 4; ++i) s[i] = mix_bits(2026 + (i + 1) * kGoldenGamma);
  RandomStream stream(2026);
  for (int draw = 0; draw < 1000; ++draw) {
    const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    REQUIRE(stream.next_u64() == result);
  }
}

TEST_CASE("golden draws: seeds, names and indexes give these numbers on every machine") {
  // Other libraries publish the same first line for seed 0.
  RandomStream zero(0);
  CHECK(zero.next_u64() == 0x99ec5f36cb75f2b4u);
  CHECK(zero.next_u64() == 0xbf6e1f784956452au);
  CHECK(zero.next_u64() == 0x1a5f849d4933e6e0u);
  CHECK(RandomStream(7).split("arrivals").next_u64() == 0x4cda8c55147bf009u);
  CHECK(RandomStream(7).split(17).next_u64() == 0x38bd2777a80ccb6fu);
  CHECK(RandomStream(7).split("beams").split(17).next_u64() == 0xb0bade491d620b3au);
  CHECK(RandomStream(7).split("").next_u64() == 0xe9a184e20a71a359u);
  RandomStream below(7);
  CHECK(below.next_below(1000) == 0x3e2u);
  CHECK(below.next_below(1'000'000'007) == 0x144a514cu);
  CHECK(std::bit_cast<std::uint64_t>(RandomStream(7).next_unit()) == 0x3fe66b1f5ee9df2eu);
}

TEST_CASE("a split depends on the names on its path, not on what was drawn") {
  RandomStream drawn(1);
  for (int i = 0; i < 100; ++i) drawn.next_u64();
  CHECK(drawn.split("x").next_u64() == RandomStream(1).split("x").next_u64());
  CHECK(drawn.split(3).next_u64() == RandomStream(1).split(3).next_u64());
}

TEST_CASE("splitting and drawing from a split do not move the parent") {
  RandomStream parent(1);
  RandomStream child = parent.split("child");
  child.next_u64();
  CHECK(parent.next_u64() == RandomStream(1).next_u64());
}

TEST_CASE("splits of different name, index, order or seed are different streams") {
  std::set<std::uint64_t> first_draws;
  const RandomStream root(1);
  int streams = 0;
  const auto add = [&](RandomStream stream) {
    first_draws.insert(stream.next_u64());
    ++streams;
  };
  add(root);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    add(root.split(i));
    add(root.split(std::to_string(i)));
    add(RandomStream(i + 2));
  }
  add(root.split("a").split("b"));
  add(root.split("b").split("a"));
  add(root.split("ab"));
  CHECK(first_draws.size() == static_cast<std::size_t>(streams));
}

TEST_CASE("the first draws of neighbouring splits are uniform") {
  // The property that per-request streams rely on: many streams, few draws from each.
  constexpr int kStreams = 1 << 16;
  constexpr int kBins = 256;
  std::vector<int> high(kBins), low(kBins), second(kBins);
  std::vector<int> pairs(kBins);  // top nibbles of the first draws of streams 2i and 2i + 1
  const RandomStream root(99);
  unsigned previous = 0;
  for (std::uint64_t i = 0; i < kStreams; ++i) {
    RandomStream stream = root.split(i);
    const std::uint64_t draw = stream.next_u64();
    ++high[draw >> 56];
    ++low[draw & 255];
    ++second[stream.next_u64() >> 56];
    const auto nibble = static_cast<unsigned>(draw >> 60);
    if (i % 2 == 1) ++pairs[previous * 16 + nibble];
    previous = nibble;
  }
  const double each = double{kStreams} / kBins;
  CHECK(chi_square(high, each) < chi_square_bound(kBins - 1));
  CHECK(chi_square(low, each) < chi_square_bound(kBins - 1));
  CHECK(chi_square(second, each) < chi_square_bound(kBins - 1));
  CHECK(chi_square(pairs, each / 2) < chi_square_bound(kBins - 1));
}

TEST_CASE("sibling streams are uncorrelated") {
  // Under independence the mean product of n centred uniforms is normal with deviation
  // 1 / (12 sqrt(n)); 6.1 deviations are passed with probability 1e-9.
  constexpr int kDraws = 100'000;
  RandomStream a = RandomStream(5).split("a");
  RandomStream b = RandomStream(5).split("b");
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += (a.next_unit() - 0.5) * (b.next_unit() - 0.5);
  CHECK(std::abs(sum / kDraws) < 6.1 / (12 * std::sqrt(double{kDraws})));
}

TEST_CASE("next_below stays below its bound and reaches every value equally often") {
  RandomStream stream(11);
  constexpr int kDraws = 100'000;
  for (const int bound : {1, 2, 3, 10, 1000}) {
    std::vector<int> seen(static_cast<std::size_t>(bound));
    for (int i = 0; i < kDraws; ++i) {
      const std::uint64_t draw = stream.next_below(static_cast<std::uint64_t>(bound));
      REQUIRE(draw < static_cast<std::uint64_t>(bound));
      ++seen[draw];
    }
    CHECK(chi_square(seen, double{kDraws} / bound) < chi_square_bound(bound - 1));
  }
}

TEST_CASE("next_below has no modulo bias where it would be largest") {
  // 2^64 mod (3 * 2^62) = 2^62: a plain remainder would hit the lowest third half of the time.
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  constexpr int kDraws = 60'000;
  RandomStream stream(12);
  std::vector<int> thirds(3);
  for (int i = 0; i < kDraws; ++i) ++thirds[stream.next_below(3 * kThird) / kThird];
  CHECK(chi_square(thirds, kDraws / 3.0) < chi_square_bound(2));
}

TEST_CASE("next_below of zero is a broken contract") {
  RandomStream stream(1);
  CHECK_THROWS_AS(stream.next_below(0), ContractFailure);
}

TEST_CASE("next_unit is a multiple of 2^-53 in [0, 1) and uniform") {
  constexpr int kDraws = 100'000;
  constexpr int kBins = 100;
  RandomStream stream(13);
  std::vector<int> bins(kBins);
  for (int i = 0; i < kDraws; ++i) {
    const double draw = stream.next_unit();
    REQUIRE(draw >= 0);
    REQUIRE(draw < 1);
    REQUIRE(std::ldexp(draw, 53) == std::floor(std::ldexp(draw, 53)));
    ++bins[static_cast<std::size_t>(draw * kBins)];
  }
  CHECK(chi_square(bins, double{kDraws} / kBins) < chi_square_bound(kBins - 1));
}

}  // namespace
}  // namespace recto
