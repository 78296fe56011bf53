// Compares our rounding with independent conversions: Eigen's for 16-bit types, the compiler's for
// fp32.

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iostream>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

// Equal, or both NaN.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

std::uint32_t half_code(float value) {
  return Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value));
}
std::uint32_t bfloat16_code(float value) {
  return Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value));
}

TEST_CASE("all 65536 codes of fp16 and of bf16 decode as in Eigen") {
  std::uint32_t failures = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const auto half = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
    const auto bfloat16 = static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
    failures += same(decode(code, ElementType::kFp16), half) ? 0 : 1;
    failures += same(decode(code, ElementType::kBf16), bfloat16) ? 0 : 1;
  }
  CHECK(failures == 0);
}

TEST_CASE(
    "fp32 values become the 16-bit codes that Eigen makes of them, and keep their own codes") {
  // The odd stride covers all patterns of the low bits. --config=full runs all 2^32 codes.
  const std::uint64_t stride = is_full_run() ? 1 : 251;
  std::uint64_t values = 0;
  std::uint64_t failures = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride) {
    const auto code = static_cast<std::uint32_t>(bits);
    const auto value = std::bit_cast<float>(code);
    ++values;
    failures += same(decode(code, ElementType::kFp32), value) ? 0 : 1;
    if (std::isnan(value)) continue;
    failures += encode(value, ElementType::kFp16) == half_code(value) ? 0 : 1;
    failures += encode(value, ElementType::kBf16) == bfloat16_code(value) ? 0 : 1;
    failures += encode(value, ElementType::kFp32) == code ? 0 : 1;
  }
  std::cout << "compared with Eigen: " << values << " fp32 values, stride " << stride << "\n";
  CHECK(values >= 17'000'000);
  CHECK(failures == 0);
}

TEST_CASE("fp64 values round to fp32 as the compiler rounds them") {
  RandomStream stream(20);
  std::uint64_t failures = 0;
  const auto compare = [&failures](double value) {
    const std::uint32_t code = encode(value, ElementType::kFp32);
    failures += code == std::bit_cast<std::uint32_t>(static_cast<float>(value)) ? 0 : 1;
  };
  for (int i = 0; i < 2'000'000; ++i) {
    const auto below = std::bit_cast<float>(
        static_cast<std::uint32_t>(stream.next_below(std::uint64_t{0x7f7fffff})));
    const double middle = (static_cast<double>(below) + std::nextafter(below, INFINITY)) / 2;
    compare(middle);
    compare(std::nextafter(middle, 0.0));
    compare(-std::nextafter(middle, INFINITY));
    // Any exponent of fp32, and some beyond it on either side.
    compare(std::ldexp(1.0 + stream.next_unit(), static_cast<int>(stream.next_below(300)) - 160));
  }
  for (const double value : {0.0, -0.0, 5e-324, 0x1p-150, 0x1.0000000000001p-150, 0x1.fffffep127,
                             0x1.fffffefffffffp127, 0x1.ffffffp127, 1e308, HUGE_VAL, -HUGE_VAL}) {
    compare(value);
  }
  CHECK(failures == 0);
}

}  // namespace
}  // namespace recto::reference
