// Rotary embedding: laws of rotation, and tests of its bound with right and wrong fp32 kernels that
// are emulated on the host.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bazel/testing/property.h"
#include "core/random_stream.h"
#include "reference/rotary.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

RotaryOptions draw_options(Draw& draw, std::int64_t least_dim) {
  return {.pairing = draw.element({RotaryPairing::kHalves, RotaryPairing::kInterleaved}),
          .rotary_dim = 2 * draw.uniform(least_dim / 2, 16),
          .base = draw.element({100.0, 10000.0, 500000.0})};
}

// The dims of a pair, computed independently.
struct Pair {
  std::int64_t x = 0;
  std::int64_t y = 0;
};
Pair pair_of(const RotaryOptions& options, std::int64_t pair) {
  const bool halves = options.pairing == RotaryPairing::kHalves;
  return halves ? Pair{pair, options.rotary_dim / 2 + pair} : Pair{pair * 2, pair * 2 + 1};
}

// Draws a value of `type` in [-1, 1].
double draw_unit(RandomStream& stream, ElementType type) {
  return round_to(2 * stream.next_unit() - 1, type);
}

Matrix draw_rows(Draw& draw, std::int64_t count, std::int64_t dims, ElementType type) {
  RandomStream stream(draw.seed());
  Matrix rows(count, dims);
  for (double& value : rows.reshaped()) value = draw_unit(stream, type);
  return rows;
}

TEST_CASE("rotation preserves the norm of each pair") {
  property("to some last places", [](Draw& draw) {
    const RotaryOptions options = draw_options(draw, 2);
    const Matrix rows = draw_rows(draw, 3, options.rotary_dim, ElementType::kFp32);
    const Matrix rotated = rotate(rows, draw.uniform(0, 1'000'000), options);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
        const auto [x, y] = pair_of(options, pair);
        const double before = std::hypot(rows(row, x), rows(row, y));
        const double after = std::hypot(rotated(row, x), rotated(row, y));
        RECTO_REQUIRE(std::abs(after - before) <= 8 * 0x1p-53 * before);
      }
    }
  });
}

TEST_CASE("a product of rotated q and k depends on the distance of their positions alone") {
  property("within the angles' errors; another distance gives another product", [](Draw& draw) {
    const RotaryOptions options = draw_options(draw, 8);
    const Matrix q = draw_rows(draw, 1, options.rotary_dim, ElementType::kFp32);
    const Matrix k = draw_rows(draw, 1, options.rotary_dim, ElementType::kFp32);
    const std::int64_t i = draw.uniform(0, 5000);
    const std::int64_t j = draw.uniform(0, 5000);
    const std::int64_t shift = draw.uniform(1, 5000);
    const auto product = [&](std::int64_t q_position, std::int64_t k_position) {
      return rotate(q, q_position, options).row(0).dot(rotate(k, k_position, options).row(0));
    };
    // In both products both vectors turn by angles that are off by a few units at most; each
    // product sums up to 32 terms.
    const double angle_error = ((std::log(options.base) + 4) * 10'000 + 5 + 32) * 0x1p-53;
    const double tolerance = 4 * angle_error * q.norm() * k.norm();
    RECTO_REQUIRE(std::abs(product(i, j) - product(i + shift, j + shift)) <= tolerance);
    // One step further, the distance differs; a step of one or of two must change the product.
    const double one = std::abs(product(i, j) - product(i + 1, j));
    const double two = std::abs(product(i, j) - product(i + 2, j));
    RECTO_REQUIRE(std::max(one, two) > tolerance);
  });
}

TEST_CASE("interleaved pairing equals halves with the dims in another order") {
  property("bit for bit", [](Draw& draw) {
    RotaryOptions options = draw_options(draw, 2);
    const Matrix rows = draw_rows(draw, 3, options.rotary_dim + 3, ElementType::kFp32);
    const std::int64_t position = draw.uniform(0, 100'000);
    options.pairing = RotaryPairing::kInterleaved;
    const Matrix interleaved = rotate(rows, position, options);

    const auto half = options.rotary_dim / 2;
    Matrix permuted = rows;
    for (std::int64_t pair = 0; pair < half; ++pair) {
      permuted.col(pair) = rows.col(2 * pair);
      permuted.col(half + pair) = rows.col(2 * pair + 1);
    }
    options.pairing = RotaryPairing::kHalves;
    const Matrix halves = rotate(permuted, position, options);
    for (std::int64_t pair = 0; pair < half; ++pair) {
      RECTO_REQUIRE(halves.col(pair) == interleaved.col(2 * pair));
      RECTO_REQUIRE(halves.col(half + pair) == interleaved.col(2 * pair + 1));
    }
    RECTO_REQUIRE(halves.rightCols(3) == rows.rightCols(3));
  });
}

enum class Tables { kRoundedOnce, kFp32Angle };
enum class Products { kRounded, kFused };
enum class Subnormals { kKept, kFlushed };
enum class Fault { kNone, kOtherPairing, kOtherDirection, kNextPosition };

struct Kernel {
  Tables tables = Tables::kRoundedOnce;
  Products products = Products::kRounded;
  Subnormals subnormals = Subnormals::kKept;
  ElementType output = ElementType::kFp32;
  Fault fault = Fault::kNone;
};

Kernel draw_kernel(Draw& draw) {
  return {.tables = draw.element({Tables::kRoundedOnce, Tables::kFp32Angle}),
          .products = draw.element({Products::kRounded, Products::kFused}),
          .subnormals = draw.element({Subnormals::kKept, Subnormals::kFlushed}),
          .output = draw.element({ElementType::kFp32, ElementType::kFp16, ElementType::kBf16})};
}

float flush(float value, const Kernel& kernel) {
  const bool gone = kernel.subnormals == Subnormals::kFlushed &&
                    std::abs(value) < std::numeric_limits<float>::min();
  return gone ? std::copysign(0.0F, value) : value;
}

// x cos - y sin, in fp32.
float combine(float x, float cosine, float y, float sine, const Kernel& kernel) {
  x = flush(x, kernel);
  y = flush(y, kernel);
  const float second = flush(y * sine, kernel);
  if (kernel.products == Products::kFused) return flush(std::fma(x, cosine, -second), kernel);
  return flush(flush(x * cosine, kernel) - second, kernel);
}

struct Tabled {
  float cosine = 1.0F;
  float sine = 0.0F;
};

Tabled table_entry(const RotaryOptions& options, std::int64_t position, std::int64_t pair,
                   Tables tables) {
  if (tables == Tables::kFp32Angle) {
    const float exponent =
        -2.0F * static_cast<float>(pair) / static_cast<float>(options.rotary_dim);
    const float angle =
        static_cast<float>(position) * std::pow(static_cast<float>(options.base), exponent);
    return {std::cos(angle), std::sin(angle)};
  }
  const double angle = static_cast<double>(position) *
                       std::pow(options.base, -2.0 * static_cast<double>(pair) /
                                                  static_cast<double>(options.rotary_dim));
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

Matrix run_kernel(const Kernel& kernel, const Matrix& rows, std::int64_t position,
                  RotaryOptions options) {
  if (kernel.fault == Fault::kNextPosition) ++position;
  if (kernel.fault == Fault::kOtherPairing) {
    options.pairing = options.pairing == RotaryPairing::kHalves ? RotaryPairing::kInterleaved
                                                                : RotaryPairing::kHalves;
  }
  Matrix result = rows;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
      auto [cosine, sine] = table_entry(options, position + row, pair, kernel.tables);
      if (kernel.fault == Fault::kOtherDirection) sine = -sine;
      const auto [first, second] = pair_of(options, pair);
      const auto x = static_cast<float>(rows(row, first));
      const auto y = static_cast<float>(rows(row, second));
      result(row, first) = combine(x, cosine, y, sine, kernel);
      result(row, second) = combine(y, cosine, x, -sine, kernel);
    }
  }
  return result.unaryExpr([&kernel](double value) { return round_to(value, kernel.output); });
}

RotaryNumerics numerics_of(const Kernel& kernel, const RotaryOptions& options,
                           std::int64_t last_position) {
  RotaryNumerics numerics;
  numerics.table_error = 0x1p-25 * 1.001;  // half a last place below 1, plus the error of fp64
  if (kernel.tables == Tables::kFp32Angle) {
    // The exponent, the power, the product and the cosine each round.
    numerics.table_error =
        (std::log(options.base) + 4) * 0x1p-24 * static_cast<double>(last_position) + 0x1p-23;
  }
  if (kernel.subnormals == Subnormals::kFlushed) numerics.underflow = 0x1p-126;
  if (kernel.output != ElementType::kFp32) {
    numerics.output_roundoff = unit_roundoff(kernel.output);
    numerics.output_underflow = underflow_error(kernel.output);
  }
  return numerics;
}

// The largest |kernel - rotate()| / bound; 0 / 0 counts as 0, NaN as a violation.
double worst_ratio(const Kernel& kernel, const Matrix& rows, std::int64_t position,
                   const RotaryOptions& options) {
  const Matrix exact = rotate(rows, position, options);
  const Matrix computed = run_kernel(kernel, rows, position, options);
  const Matrix bound = rotary_bound(rows, position, options,
                                    numerics_of(kernel, options, position + rows.rows() - 1));
  double worst = 0.0;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const double error = std::abs(computed.data()[i] - exact.data()[i]);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    if (error > 0) worst = std::max(worst, error / bound.data()[i]);
  }
  return worst;
}

// Draws difficult values of `type`: huge, subnormal, or such that the two products cancel.
Matrix draw_adversarial_rows(Draw& draw, std::int64_t position, const RotaryOptions& options,
                             ElementType type) {
  RandomStream stream(draw.seed());
  const double huge = type == ElementType::kFp16 ? 3e4 : 1e38;
  Matrix rows(4, options.rotary_dim + 3);
  for (double& value : rows.reshaped()) {
    const double magnitudes[] = {0.0, 64 * underflow_error(type), 0x1p-126, 1.0, huge};
    value = round_to(draw_unit(stream, type) * magnitudes[stream.next_below(5)], type);
  }
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
      if (stream.next_below(2) == 0) continue;
      const Tabled entry = table_entry(options, position + row, pair, Tables::kRoundedOnce);
      const auto [x, y] = pair_of(options, pair);
      // Chooses y so that x cos - y sin nearly cancels, limited to |y| <= |x|.
      rows(row, y) = round_to(rows(row, x) * std::clamp(entry.cosine / entry.sine, -1.0F, 1.0F),
                              type, Overflow::kSaturate);
    }
  }
  return rows;
}

TEST_CASE("a right kernel stays within the bound") {
  property("on random rows", [](Draw& draw) {
    const Kernel kernel = draw_kernel(draw);
    const RotaryOptions options = draw_options(draw, 2);
    const Matrix rows = draw_rows(draw, 4, options.rotary_dim + 3, kernel.output);
    RECTO_REQUIRE(worst_ratio(kernel, rows, draw.uniform(0, 100'000), options) <= 1.0);
  });
  property("on cancellation, huge values and subnormals", [](Draw& draw) {
    const Kernel kernel = draw_kernel(draw);
    const RotaryOptions options = draw_options(draw, 2);
    const std::int64_t position = draw.uniform(1, 100'000);
    const Matrix rows = draw_adversarial_rows(draw, position, options, kernel.output);
    RECTO_REQUIRE(worst_ratio(kernel, rows, position, options) <= 1.0);
  });
}

TEST_CASE("each fault of a kernel exceeds the bound that the right kernel keeps") {
  property("for each fault", [](Draw& draw) {
    Kernel kernel = draw_kernel(draw);
    const RotaryOptions options = draw_options(draw, 8);
    const Matrix rows = draw_rows(draw, 4, options.rotary_dim, kernel.output);
    const std::int64_t position = draw.uniform(1, 1000);
    RECTO_REQUIRE(worst_ratio(kernel, rows, position, options) <= 1.0);
    for (const Fault fault : {Fault::kOtherPairing, Fault::kOtherDirection, Fault::kNextPosition}) {
      kernel.fault = fault;
      RECTO_REQUIRE(worst_ratio(kernel, rows, position, options) > 1.0);
    }
  });
}

TEST_CASE("a kernel reaches more than half of the bound") {
  for (const ElementType output : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16}) {
    RandomStream stream(3);
    Matrix rows(256, 128);
    for (double& value : rows.reshaped()) value = draw_unit(stream, output);
    const Kernel kernel = {.output = output};
    const double worst = worst_ratio(kernel, rows, 0, {.rotary_dim = 128});
    CAPTURE(output, worst);
    CHECK(worst <= 1.0);
    CHECK(worst > 0.5);
  }
}

}  // namespace
}  // namespace recto::reference
