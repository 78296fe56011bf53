#include "verify/cases/float_family.h"

#include <cmath>

#include "core/contract.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

double draw_sign(RandomStream& stream) { return stream.next_below(2) == 0 ? 1.0 : -1.0; }

double draw_uniform(RandomStream& stream) { return 2.0 * stream.next_unit() - 1.0; }

// True with probability exp(-x), x in [0, 1]: if draws continue while each is below the one before,
// the first below x, their number is even with this probability (von Neumann 1951).
bool draw_exp_minus(double x, RandomStream& stream) {
  bool is_even = true;
  double last = x;
  for (double next = stream.next_unit(); next < last; next = stream.next_unit()) {
    last = next;
    is_even = !is_even;
  }
  return is_even;
}

// True with probability exp(-count * x).
bool draw_exp_minus(int count, double x, RandomStream& stream) {
  for (int i = 0; i < count; ++i) {
    if (!draw_exp_minus(x, stream)) return false;
  }
  return true;
}

double draw_limited_normal(RandomStream& stream) {
  double x = draw_normal(stream);
  while (std::abs(x) > kNormalLimit) x = draw_normal(stream);
  return x;
}

// The ratio of two normals.
double draw_limited_cauchy(double largest, RandomStream& stream) {
  for (;;) {
    const double numerator = draw_normal(stream);
    const double denominator = draw_normal(stream);
    if (std::abs(numerator) <= largest * std::abs(denominator) && denominator != 0.0) {
      return numerator / denominator;
    }
  }
}

// A multiple of the spacing of the type's subnormals, up to the smallest normal.
double draw_around_subnormals(ElementType type, RandomStream& stream) {
  const double spacing = 2.0 * reference::underflow_error(type);
  const double smallest_normal = [&] {
    switch (type) {
      case ElementType::kFp32:
      case ElementType::kBf16:
        return 0x1p-126;
      case ElementType::kFp16:
      case ElementType::kE5m2:
        return 0x1p-14;
      case ElementType::kE4m3:
        return 0x1p-6;
    }
    RECTO_UNREACHABLE("all element types are listed");
  }();
  const auto steps = static_cast<std::uint64_t>(smallest_normal / spacing);
  const auto step = static_cast<double>(stream.next_below(steps + 1));
  return draw_sign(stream) * step * spacing;
}

double draw_value(const FloatSource& source, std::int64_t parity, RandomStream& stream) {
  switch (source.family) {
    case FloatFamily::kOnes:
      return 1.0;
    case FloatFamily::kSmallIntegers:
      return static_cast<double>(stream.next_below(9)) - 4.0;
    case FloatFamily::kUniform:
    case FloatFamily::kDominatingKey:
    case FloatFamily::kOutlierDim:
    case FloatFamily::kPeakedEnds:
      return draw_uniform(stream);
    case FloatFamily::kNormal:
      return draw_limited_normal(stream);
    case FloatFamily::kHeavyTail:
      return draw_limited_cauchy(source.largest, stream);
    case FloatFamily::kLargeOffset:
      return source.largest / 2.0 * (1.0 + draw_uniform(stream) / 8.0);
    case FloatFamily::kAlternatingSigns:
      return (parity % 2 == 0 ? 0.5 : -0.5) * (1.0 + stream.next_unit());
    case FloatFamily::kDenormals:
      return stream.next_below(2) == 0 ? draw_around_subnormals(source.type, stream)
                                       : draw_uniform(stream);
    case FloatFamily::kExactTies:
      return draw_sign(stream) * (stream.next_below(2) == 0 ? 0.5 : 1.0);
    case FloatFamily::kHugeValues:
      return draw_sign(stream) * huge_magnitude(source.type) / 2 * (1.0 + stream.next_unit());
  }
  RECTO_UNREACHABLE("all families are listed");
}

}  // namespace

double huge_magnitude(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
    case ElementType::kBf16:
      return 0x1p100;
    case ElementType::kFp16:
      return 0x1p15;
    case ElementType::kE4m3:
      return 0x1p8;
    case ElementType::kE5m2:
      return 0x1p14;
  }
  RECTO_UNREACHABLE("all element types are listed");
}

double largest_magnitude(const FloatSource& source) {
  switch (source.family) {
    case FloatFamily::kSmallIntegers:
      return 4.0;
    case FloatFamily::kNormal:
      return kNormalLimit;
    case FloatFamily::kHeavyTail:
    case FloatFamily::kDominatingKey:
    case FloatFamily::kPeakedEnds:
      return source.largest;
    case FloatFamily::kLargeOffset:
      return source.largest / 2.0 * 1.125;
    case FloatFamily::kHugeValues:
      return huge_magnitude(source.type);
    case FloatFamily::kOutlierDim:
      return kOutlier;
    default:
      return 1.0;
  }
}

double largest_behind_first(const FloatSource& source) {
  return source.family == FloatFamily::kOutlierDim ? 1.0 : largest_magnitude(source);
}

void fill_row(const FloatSource& source, std::int64_t token, RandomStream& stream,
              std::span<float> row) {
  std::int64_t parity = token;
  for (float& value : row) {
    const double drawn = draw_value(source, parity++, stream);
    value = static_cast<float>(reference::round_to(drawn, source.type));
  }
  if (source.family == FloatFamily::kOutlierDim && !row.empty()) row.front() = kOutlier;
}

double draw_normal(RandomStream& stream) {
  for (;;) {
    // k has probability exp(-k / 2) (1 - exp(-1 / 2)) and is kept with exp(-k (k - 1) / 2); then
    // the fraction x is kept with exp(-x (2 k + x) / 2).
    int k = 0;
    while (draw_exp_minus(0.5, stream)) ++k;
    if (!draw_exp_minus(k * (k - 1), 0.5, stream)) continue;
    const double x = stream.next_unit();
    if (draw_exp_minus(k + 1, x * (2 * k + x) / (2 * k + 2), stream)) {
      return draw_sign(stream) * (k + x);
    }
  }
}

}  // namespace recto::verify
