#include "reference/rounding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/contract.h"

namespace recto::reference {
namespace {

constexpr int kDoubleMantissaBits = 52;
constexpr int kDoubleBias = 1023;
constexpr std::uint64_t kDoubleSign = std::uint64_t{1} << 63;
constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleMantissaBits;

// A format, described by its fields. Without the sign, codes are ordered like their values, and
// adding one gives the next value, also in the next binade.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // if not, exponents of all ones are numbers, except the last code, NaN

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint64_t sign() const {
    return std::uint64_t{1} << (exponent_bits + mantissa_bits);
  }
  constexpr std::uint64_t infinity() const { return sign() - (std::uint64_t{1} << mantissa_bits); }
  constexpr std::uint64_t largest() const { return (has_infinity ? infinity() : sign() - 1) - 1; }
  constexpr std::uint64_t quiet_nan() const {
    return has_infinity ? infinity() | std::uint64_t{1} << (mantissa_bits - 1) : sign() - 1;
  }
  constexpr std::uint64_t beyond_largest() const { return has_infinity ? infinity() : quiet_nan(); }
};

constexpr Format format_of(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return {.exponent_bits = 8, .mantissa_bits = 23, .has_infinity = true};
    case ElementType::kFp16:
      return {.exponent_bits = 5, .mantissa_bits = 10, .has_infinity = true};
    case ElementType::kBf16:
      return {.exponent_bits = 8, .mantissa_bits = 7, .has_infinity = true};
    case ElementType::kE4m3:
      return {.exponent_bits = 4, .mantissa_bits = 3, .has_infinity = false};
    case ElementType::kE5m2:
      return {.exponent_bits = 5, .mantissa_bits = 2, .has_infinity = true};
  }
  RECTO_UNREACHABLE("all element types are listed");
}

// The code nearest to the magnitude whose double has these bits, as if exponents were unbounded:
// infinity and values that are too large give codes above format.largest().
std::uint64_t round_magnitude(std::uint64_t bits, const Format& format) {
  const auto field = static_cast<int>(bits >> kDoubleMantissaBits);
  std::uint64_t significand = bits & ((std::uint64_t{1} << kDoubleMantissaBits) - 1);
  if (field != 0) significand |= std::uint64_t{1} << kDoubleMantissaBits;

  const int exponent = std::max(field, 1) - kDoubleBias + format.bias();
  // Below the format's normal range, each binade drops one more bit. Dropping 54 bits drops all 53;
  // half a unit in the last place then exceeds any significand.
  const int dropped =
      std::min(kDoubleMantissaBits - format.mantissa_bits + std::max(1 - exponent, 0), 54);
  const std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand - (kept << dropped);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t up = rest > half || (rest == half && kept % 2 == 1) ? 1 : 0;
  // `kept` includes the leading one of a normal number, which adds one to the exponent.
  const auto binades = static_cast<std::uint64_t>(std::max(exponent, 1) - 1);
  return (binades << format.mantissa_bits) + kept + up;
}

// Exact, and branch-free for bulk reads: the fields of the code, moved to those of a double, give
// its value except for the bias, for subnormal numbers too.
template <ElementType kType>
constexpr double decode_code(std::uint64_t code) {
  constexpr Format kFormat = format_of(kType);
  constexpr double kRebias = std::bit_cast<double>(
      static_cast<std::uint64_t>(2 * kDoubleBias - kFormat.bias()) << kDoubleMantissaBits);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  const std::uint64_t magnitude = code & (kFormat.sign() - 1);
  const std::uint64_t sign = (code & kFormat.sign()) != 0 ? kDoubleSign : 0;
  double value =
      std::bit_cast<double>(magnitude << (kDoubleMantissaBits - kFormat.mantissa_bits)) * kRebias;
  if (magnitude > kFormat.largest()) {
    value = kFormat.has_infinity && magnitude == kFormat.infinity() ? kInfinity : kNan;
  }
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign);
}

template <ElementType kType>
constexpr std::array<double, 256> table_of_values() {
  std::array<double, 256> values{};
  for (std::uint64_t code = 0; code < values.size(); ++code) {
    values[code] = decode_code<kType>(code);
  }
  return values;
}

template <ElementType kType>
using CodeOf =
    std::conditional_t<element_bytes(kType) == 4, std::uint32_t,
                       std::conditional_t<element_bytes(kType) == 2, std::uint16_t, std::uint8_t>>;

template <ElementType kType>
void decode_row_of(const void* codes, std::span<double> values) {
  const auto* bytes = static_cast<const std::byte*>(codes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CodeOf<kType> code = 0;
    std::memcpy(&code, bytes + i * sizeof(code), sizeof(code));
    if constexpr (is_fp8(kType)) {
      static constexpr std::array<double, 256> kValues = table_of_values<kType>();
      values[i] = kValues[code];
    } else {
      values[i] = decode_code<kType>(code);
    }
  }
}

}  // namespace

std::uint32_t encode(double value, ElementType type, Overflow overflow) {
  const Format format = format_of(type);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits & kDoubleSign) != 0 ? format.sign() : 0;
  const std::uint64_t magnitude = bits & ~kDoubleSign;

  std::uint64_t code = format.quiet_nan();
  if (magnitude <= kDoubleInfinity) {
    code = round_magnitude(magnitude, format);
    if (code > format.largest()) {
      code = overflow == Overflow::kSaturate ? format.largest() : format.beyond_largest();
    }
  }
  return static_cast<std::uint32_t>(sign | code);
}

double decode(std::uint32_t code, ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return decode_code<ElementType::kFp32>(code);
    case ElementType::kFp16:
      return decode_code<ElementType::kFp16>(code);
    case ElementType::kBf16:
      return decode_code<ElementType::kBf16>(code);
    case ElementType::kE4m3:
      return decode_code<ElementType::kE4m3>(code);
    case ElementType::kE5m2:
      return decode_code<ElementType::kE5m2>(code);
  }
  RECTO_UNREACHABLE("all element types are listed");
}

void decode_row(const void* codes, ElementType type, std::span<double> values) {
  switch (type) {
    case ElementType::kFp32:
      return decode_row_of<ElementType::kFp32>(codes, values);
    case ElementType::kFp16:
      return decode_row_of<ElementType::kFp16>(codes, values);
    case ElementType::kBf16:
      return decode_row_of<ElementType::kBf16>(codes, values);
    case ElementType::kE4m3:
      return decode_row_of<ElementType::kE4m3>(codes, values);
    case ElementType::kE5m2:
      return decode_row_of<ElementType::kE5m2>(codes, values);
  }
  RECTO_UNREACHABLE("all element types are listed");
}

double round_to(double value, ElementType type, Overflow overflow) {
  return decode(encode(value, type, overflow), type);
}

std::uint32_t encode_fp8(float x, float scale, ElementType type) {
  RECTO_CHECK(is_fp8(type));
  RECTO_CHECK(scale > 0.0F && std::isfinite(scale));
  const float quotient = x / scale;
  return encode(quotient, type, Overflow::kSaturate);
}

double unit_roundoff(ElementType type) {
  return std::ldexp(1.0, -format_of(type).mantissa_bits - 1);
}

double underflow_error(ElementType type) {
  const Format format = format_of(type);
  return std::ldexp(1.0, -format.bias() - format.mantissa_bits);
}

double largest_finite(ElementType type) {
  return decode(static_cast<std::uint32_t>(format_of(type).largest()), type);
}

double overflow_threshold(ElementType type) {
  // Half a unit in the last place above the largest number: 2^e (1 - u / 2) after 2^e (1 - u).
  const double unit = unit_roundoff(type);
  return largest_finite(type) / (1 - unit) * (1 - unit / 2);
}

}  // namespace recto::reference
