#include "verify/simt/hardware/probe_inputs.h"

#include <bit>
#include <cstdint>

#include "core/random_stream.h"

namespace recto::simt {
namespace {

constexpr int kSums = 128;

// A binary floating-point format.
struct Format {
  int mantissa_bits = 0;
  int bias = 0;
};
constexpr Format kHalf = {10, 15};
constexpr Format kBfloat16 = {7, 127};
constexpr Format kSingle = {23, 127};

// The range of the exponents of numbers, and of the accumulators.
struct Range {
  int low = 0;
  int high = 0;
  int sum_low = 0;
  int sum_high = 0;
};
constexpr Range kRanges[] = {{0, 0, 0, 2}, {-6, 6, -6, 6}, {-15, 7, -30, 10}, {-3, 0, 6, 14}};

// An exponent of -bias gives a subnormal or a zero.
unsigned random_code(RandomStream& random, Format format, int low, int high) {
  const auto exponents = static_cast<std::uint64_t>(high - low + 1);
  const int exponent = low + static_cast<int>(random.next_below(exponents));
  const auto sign = static_cast<unsigned>(random.next_below(2));
  const auto mantissa =
      static_cast<unsigned>(random.next_below(std::uint64_t{1} << format.mantissa_bits));
  const int field_bits = format.bias == 15 ? 5 : 8;
  const auto field = static_cast<unsigned>(exponent + format.bias);
  const bool is_zero = exponent == low && low <= -15 && mantissa % 2 == 0;
  return (sign << (format.mantissa_bits + field_bits)) |
         (is_zero ? 0 : (field << format.mantissa_bits) | mantissa);
}

unsigned random_pair(RandomStream& random, Format format, const Range& range) {
  const unsigned low = random_code(random, format, range.low, range.high);
  return low | random_code(random, format, range.low, range.high) << 16;
}

// An integer from -limit to limit, as a code of the format.
unsigned small_code(RandomStream& random, Format format, unsigned limit) {
  const auto number = static_cast<int>(random.next_below(2 * limit + 1)) - static_cast<int>(limit);
  const unsigned word = std::bit_cast<unsigned>(static_cast<float>(number));
  if (number == 0) return 0;
  const int dropped = kSingle.mantissa_bits - format.mantissa_bits;
  const unsigned field =
      (word >> kSingle.mantissa_bits & 0xff) + static_cast<unsigned>(format.bias - kSingle.bias);
  const unsigned mantissa = (word & ((1U << kSingle.mantissa_bits) - 1)) >> dropped;
  const int field_bits = format.bias == kHalf.bias ? 5 : 8;
  return (word >> 31) << (format.mantissa_bits + field_bits) | field << format.mantissa_bits |
         mantissa;
}

// A pair of numbers, or an accumulator.
unsigned small_word(RandomStream& random, Format format, bool is_sum) {
  if (is_sum) return small_code(random, kSingle, 1000);
  const unsigned low = small_code(random, format, 15);
  return low | small_code(random, format, 15) << 16;
}

Format format_of(ProbeInput input) {
  const bool is_half = input == ProbeInput::kHalves || input == ProbeInput::kSmallHalves;
  return is_half ? kHalf : kBfloat16;
}

}  // namespace

std::vector<unsigned> probe_inputs(ProbeInput input, int trials, int words) {
  RandomStream random = RandomStream(2026).split("probes").split(static_cast<std::uint64_t>(input));
  std::vector<unsigned> values;
  for (int trial = 0; trial < trials; ++trial) {
    const Range& range = kRanges[trial % 4];
    const bool is_product = input == ProbeInput::kHalves || input == ProbeInput::kBfloat16s;
    const bool is_small = input == ProbeInput::kSmallHalves || input == ProbeInput::kSmallBfloat16s;
    const Format format = format_of(input);
    for (int i = 0; i < words; ++i) {
      if (input == ProbeInput::kBits) {
        values.push_back(static_cast<unsigned>(random.next_u64()));
      } else if (input == ProbeInput::kFloats) {
        values.push_back(random_code(random, kSingle, -12, 6));
      } else if (is_small) {
        values.push_back(small_word(random, format, i >= words - kSums));
      } else if (is_product && i < words - kSums) {
        values.push_back(random_pair(random, format, range));
      } else {
        values.push_back(random_code(random, kSingle, range.sum_low, range.sum_high));
      }
    }
  }
  return values;
}

}  // namespace recto::simt
