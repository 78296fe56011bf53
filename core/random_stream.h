#pragma once

// Random numbers that are the same on every machine. One seed gives a tree of named streams:
// drawing from one never advances another, so adding a consumer does not change any other
// consumer's numbers.
//
//   RandomStream root(seed);
//   RandomStream arrivals = root.split("arrivals");
//   RandomStream request_17 = root.split("beams").split(17);
//
// The generator is xoshiro256** (Blackman & Vigna, "Scrambled linear pseudorandom number
// generators", 2021), seeded through SplitMix64. Distributions are in
// sim/workloads/distributions.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace recto {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed);

  // Returns a stream that depends on this one's seed path and the name, not on what was drawn so
  // far.
  RandomStream split(std::string_view name) const;
  RandomStream split(std::uint64_t index) const;

  // Uniform over all 64-bit values. O(1).
  std::uint64_t next_u64();

  // Uniform in [0, bound), bound > 0, without modulo bias.
  std::uint64_t next_below(std::uint64_t bound);

  // Uniform in [0, 1), a multiple of 2^-53.
  double next_unit();

 private:
  std::uint64_t path_;  // the stream's identity: the seed mixed with all names on the path
  std::array<std::uint64_t, 4> state_;
};

// The Fisher-Yates shuffle.
template <typename Item>
void shuffle(std::vector<Item>& items, RandomStream& stream) {
  for (std::size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[stream.next_below(left)]);
  }
}

// The finaliser of SplitMix64: a bijection on 64 bits that spreads every input bit.
std::uint64_t mix_bits(std::uint64_t value);

}  // namespace recto
