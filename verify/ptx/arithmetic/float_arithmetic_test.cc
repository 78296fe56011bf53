#include "verify/ptx/arithmetic/float_arithmetic.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/reference_rounding.h"

namespace recto::ptx {
namespace {

constexpr float kMax32 = std::numeric_limits<float>::max();
constexpr float kMin32 = std::numeric_limits<float>::min();
constexpr float kTiny32 = std::numeric_limits<float>::denorm_min();

const std::vector<float> kEdges = {
    0.0F, 1.0F,         kMax32,       kMin32,    kTiny32, kMin32 - kTiny32, INFINITY,
    NAN,  1 + 0x1p-23F, 1 - 0x1p-24F, 0x1p-100F, 3.0F,    0x1.fffffep-64F,  0x1p100F};

// Numbers of all exponents, or near 1; one in eight is an edge.
float drawn(RandomStream& random) {
  const auto bits = static_cast<std::uint32_t>(random.next_u64());
  switch (random.next_below(8)) {
    case 0: {
      const float edge = kEdges[random.next_below(kEdges.size())];
      return (bits & 1) != 0 ? -edge : edge;
    }
    case 1:
      return float_of(bits);
    default:
      return float_of((bits & 0x807fffff) | (120 + (bits >> 23) % 16) << 23);
  }
}

int host_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// The host's own operation in a rounding mode.
template <typename Operation>
float host(Rounding rounding, Operation operation, float x, float y, float z) {
  const volatile float a = x;
  const volatile float b = y;
  const volatile float c = z;
  std::fesetround(host_mode(rounding));
  const volatile float result = operation(a, b, c);
  std::fesetround(FE_TONEAREST);
  return result != result ? float_of(kNan32) : result;
}

// How many of the results differ in a bit.
template <typename Ours, typename Hosts>
int differing(Rounding rounding, Ours ours, Hosts hosts) {
  RandomStream random(static_cast<std::uint64_t>(rounding) + 1);
  int count = 0;
  for (int i = 0; i < 100000; ++i) {
    const float a = drawn(random);
    const float b = drawn(random);
    const float c = drawn(random);
    const float expected = host(rounding, hosts, a, b, c);
    count += bits_of(ours(a, b, c, FloatMode{.rounding = rounding})) != bits_of(expected);
  }
  return count;
}

}  // namespace

TEST_CASE("fp32 arithmetic agrees bit for bit with the host in every rounding mode") {
  for (const Rounding rounding : kIeeeRoundings) {
    INFO("rounding " << static_cast<int>(rounding));
    CHECK(differing(
              rounding, [](float a, float b, float, const FloatMode& m) { return add(a, b, m); },
              [](float a, float b, float) { return a + b; }) == 0);
    CHECK(differing(
              rounding, [](float a, float b, float, const FloatMode& m) { return sub(a, b, m); },
              [](float a, float b, float) { return a - b; }) == 0);
    CHECK(differing(
              rounding, [](float a, float b, float, const FloatMode& m) { return mul(a, b, m); },
              [](float a, float b, float) { return a * b; }) == 0);
    CHECK(differing(
              rounding,
              [](float a, float b, float c, const FloatMode& m) { return fma(a, b, c, m); },
              [](float a, float b, float c) { return std::fma(a, b, c); }) == 0);
    CHECK(differing(
              rounding, [](float a, float b, float, const FloatMode& m) { return div(a, b, m); },
              [](float a, float b, float) { return a / b; }) == 0);
    CHECK(differing(
              rounding, [](float a, float, float, const FloatMode& m) { return rcp(a, m); },
              [](float a, float, float) { return 1 / a; }) == 0);
    CHECK(differing(
              rounding, [](float a, float, float, const FloatMode& m) { return sqrt(a, m); },
              [](float a, float, float) { return std::sqrt(a); }) == 0);
  }
}

TEST_CASE("the comparison notices a sum that is rounded twice, and another mode") {
  const auto twice = [](float a, float b, float c, const FloatMode&) {
    return canonical(static_cast<float>(static_cast<double>(a) * b + c));
  };
  const auto fused = [](float a, float b, float c) { return std::fma(a, b, c); };
  // In double precision, a product and sum of fp32 numbers is rounded once before it is narrowed.
  CHECK(fma(1 + 0x1p-12F, 1 + 0x1p-12F, 0x1p-60F, {}) !=
        twice(1 + 0x1p-12F, 1 + 0x1p-12F, 0x1p-60F, {}));
  CHECK(differing(Rounding::kUp, twice, fused) > 1000);
}

TEST_CASE("with .ftz, subnormal operands and results are zeros of their sign") {
  const FloatMode flush = {.flush = true};
  CHECK(bits_of(add(-kTiny32, 0.0F, flush)) == 0);
  CHECK(bits_of(add(-kTiny32, -0.0F, flush)) == 0x80000000);
  CHECK(bits_of(mul(-kMin32, 0.5F, flush)) == 0x80000000);
  CHECK(mul(-kMin32, 0.5F, {}) == -kMin32 / 2);
  CHECK(fma(kTiny32, 0x1p127F, 1.0F, flush) == 1.0F);
  CHECK(fma(kTiny32, 0x1p127F, 1.0F, {}) > 1.0F);
  CHECK(div(1.0F, kTiny32, flush) == INFINITY);
  CHECK(rcp(kMax32, flush) == 0);
  CHECK(rcp(kMax32, {}) > 0);
  CHECK(bits_of(sqrt(-kTiny32, flush)) == 0x80000000);
  CHECK(std::isnan(sqrt(-kTiny32, {})));
  CHECK(bits_of(neg(kTiny32, flush)) == 0x80000000);
  CHECK(abs(-kTiny32, {}) == kTiny32);
  CHECK(add(kMin32, 0.0F, flush) == kMin32);
}

TEST_CASE(".sat clamps to [0, 1], with NaN as +0") {
  const FloatMode saturate = {.saturate = true};
  CHECK(add(0.75F, 0.75F, saturate) == 1);
  CHECK(add(0.25F, 0.25F, saturate) == 0.5F);
  CHECK(bits_of(add(-3.0F, 1.0F, saturate)) == 0);
  CHECK(bits_of(mul(-1.0F, 0.0F, saturate)) == 0);
  CHECK(bits_of(fma(INFINITY, 0.0F, 1.0F, saturate)) == 0);
}

TEST_CASE("NaN results are the canonical ones, whatever the operands' payloads") {
  const float payload = float_of(0xff801234);
  for (const Rounding rounding : kIeeeRoundings) {
    const FloatMode mode = {.rounding = rounding};
    CHECK(bits_of(add(payload, 1.0F, mode)) == kNan32);
    CHECK(bits_of(add(INFINITY, -INFINITY, mode)) == kNan32);
    CHECK(bits_of(mul(INFINITY, 0.0F, mode)) == kNan32);
    CHECK(bits_of(fma(1.0F, payload, 1.0F, mode)) == kNan32);
    CHECK(bits_of(div(0.0F, 0.0F, mode)) == kNan32);
    CHECK(bits_of(sqrt(-1.0F, mode)) == kNan32);
    CHECK((fma<kF16>(0x7c00, 0, 0x3c00, mode)) == 0x7fff);
    CHECK((add<kBf16>(0x7f80, 0xff80, mode)) == 0x7fff);
  }
  CHECK(bits_of(neg(payload, {})) == 0x7f801234);
}

// The sign of a result's error is that of an exact remainder.
TEST_CASE("fp64 results of directed rounding enclose the exact result") {
  RandomStream random(5);
  const auto units = [](double x, int exponent) {
    return static_cast<__int128>(std::ldexp(x, exponent));
  };
  int wrong = 0;
  int inexact = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto next = [&] {
      const double x = std::ldexp(1 + random.next_unit(), static_cast<int>(random.next_below(8)));
      return random.next_below(2) == 0 ? x : -x;
    };
    const double a = next();
    const double b = next();
    const double c = next();
    const auto check = [&](auto operation, auto error) {
      const double down = operation(FloatMode{.rounding = Rounding::kDown});
      const double up = operation(FloatMode{.rounding = Rounding::kUp});
      const double zero = operation(FloatMode{.rounding = Rounding::kZero});
      const double nearest = operation(FloatMode{});
      const bool is_exact = error(nearest) == 0;
      inexact += !is_exact;
      wrong += up != (is_exact ? down : std::nextafter(down, INFINITY));
      wrong += error(down) < 0 || error(up) > 0;
      wrong += zero != (nearest < 0 ? up : down);
      wrong += nearest != down && nearest != up;
    };
    // The exact result less the rounded one.
    check([&](const FloatMode& m) { return mul(a, b, m); },
          [&](double r) { return std::fma(a, b, -r); });
    check([&](const FloatMode& m) { return div(a, b, m); },
          [&](double r) { return std::fma(-r, b, a) * (b < 0 ? -1 : 1); });
    check([&](const FloatMode& m) { return sqrt(std::abs(a), m); },
          [&](double r) { return std::fma(-r, r, std::abs(a)); });
    check([&](const FloatMode& m) { return add(a, b, m); },
          [&](double r) { return units(a, 104) + units(b, 104) - units(r, 104); });
    check([&](const FloatMode& m) { return fma(a, b, c, m); },
          [&](double r) { return units(a, 52) * units(b, 52) + units(c, 104) - units(r, 104); });
  }
  CHECK(wrong == 0);
  CHECK(inexact > 50000);
  CHECK(std::fegetround() == FE_TONEAREST);
  CHECK(rcp(3.0, {.rounding = Rounding::kUp}) > rcp(3.0, {.rounding = Rounding::kDown}));
  CHECK(sub(1.0, 0x1p-60, {.rounding = Rounding::kZero}) < 1);
  CHECK(neg(2.0, {}) == -2);
  CHECK(abs(-2.0, {}) == 2);
}

}  // namespace recto::ptx
