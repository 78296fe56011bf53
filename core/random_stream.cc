#include "core/random_stream.h"

#include <bit>

#include "core/contract.h"

namespace recto {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

// FNV-1a over the bytes. It suffices because names are short and the result is mixed again below.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

RandomStream::RandomStream(std::uint64_t seed) : path_(seed), state_() {
  std::uint64_t counter = seed;
  for (std::uint64_t& word : state_) {
    counter += kGoldenGamma;
    word = mix_bits(counter);
  }
}

// The two kinds of split use different constants, so that split(7) and a name that hashes to 7
// are different streams.
RandomStream RandomStream::split(std::string_view name) const {
  return RandomStream(mix_bits(mix_bits(path_ + kGoldenGamma) ^ hash_name(name)));
}

RandomStream RandomStream::split(std::uint64_t index) const {
  return RandomStream(mix_bits(mix_bits(path_ ^ kGoldenGamma) + index * kGoldenGamma));
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Redraws the first 2^64 mod `bound` numbers, so that all remainders are equally likely.
std::uint64_t RandomStream::next_below(std::uint64_t bound) {
  RECTO_CHECK_GT(bound, 0u);
  std::uint64_t draw = next_u64();
  // Too many draws remain for fewer than `bound` of the lowest values; a division computes how
  // many.
  if (draw < bound) {
    const std::uint64_t incomplete = (0 - bound) % bound;
    while (draw < incomplete) draw = next_u64();
  }
  return draw % bound;
}

double RandomStream::next_unit() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

}  // namespace recto
