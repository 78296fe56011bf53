#pragma once

// Arithmetic and comparisons of __half and __nv_bfloat16, and of pairs of them, as in <cuda_fp16.h>
// and <cuda_bf16.h>. Results are rounded once, to nearest even; subnormals are kept; a result that
// is NaN is the canonical one.

#include <bit>
#include <concepts>
#include <cstdint>

#include "verify/simt/dialect/simt_bfloat16.h"
#include "verify/simt/dialect/simt_half.h"
#include "verify/simt/dialect/simt_narrow.h"

namespace recto::simt::device {

template <typename T>
struct HalfTraits;

template <>
struct HalfTraits<__half> {
  using Raw = __half_raw;
  static constexpr NarrowFormat kFormat = kHalf;
};

template <>
struct HalfTraits<__nv_bfloat16> {
  using Raw = __nv_bfloat16_raw;
  static constexpr NarrowFormat kFormat = kBfloat16;
};

template <typename T>
concept HalfType = std::same_as<T, __half> || std::same_as<T, __nv_bfloat16>;

template <typename T>
concept HalfPair = std::same_as<T, __half2> || std::same_as<T, __nv_bfloat162>;

template <HalfType T>
constexpr NarrowFormat format_of() {
  return HalfTraits<T>::kFormat;
}

template <HalfType T>
std::uint32_t code_of(T value) {
  return typename HalfTraits<T>::Raw(value).x;
}

template <HalfType T>
T with_code(std::uint32_t code) {
  return typename HalfTraits<T>::Raw{static_cast<unsigned short>(code)};
}

// Sums, products and quotients in fp64 have more than twice as many bits, so rounding twice equals
// rounding once (Figueroa 1995, When is double rounding innocuous?).
template <HalfType T>
T rounded(double exact) {
  return with_code<T>(narrowed<format_of<T>()>(exact));
}

template <HalfType T>
bool is_nan(T value) {
  return (code_of(value) & (format_of<T>().sign() - 1)) > format_of<T>().infinity();
}

template <HalfType T>
T canonical(T value) {
  return with_code<T>(is_nan(value) ? format_of<T>().nan() : code_of(value));
}

// Clamped to [+0, 1]; NaN becomes +0.
template <HalfType T>
T saturated(T value) {
  const float x = value;
  const std::uint32_t at_most_one = x > 1.0F ? code_of(T(1.0F)) : code_of(value);
  return with_code<T>(x > 0.0F ? at_most_one : 0);
}

// An integer in the order of the values, with -0 below +0, as max and min need it.
template <HalfType T>
std::int32_t order_of(T value) {
  const std::uint32_t code = code_of(value);
  const auto magnitude = static_cast<std::int32_t>(code & (format_of<T>().sign() - 1));
  const std::int32_t below_zero = -magnitude - 1;
  return (code & format_of<T>().sign()) != 0 ? below_zero : magnitude;
}

template <HalfType T>
T fused_multiply_add(T a, T b, T c) {
  return with_code<T>(fused<format_of<T>()>(a, b, c));
}

template <HalfType T>
T negated(T a) {
  return canonical(with_code<T>(code_of(a) ^ format_of<T>().sign()));
}

template <HalfType T>
T magnitude_of(T a) {
  return canonical(with_code<T>(code_of(a) & (format_of<T>().sign() - 1)));
}

// 1 for +infinity, -1 for -infinity, else 0.
template <HalfType T>
int infinity_sign(T a) {
  const std::uint32_t code = code_of(a);
  const bool is_infinite = (code & (format_of<T>().sign() - 1)) == format_of<T>().infinity();
  return !is_infinite ? 0 : (code & format_of<T>().sign()) != 0 ? -1 : 1;
}

// `chosen` if both are numbers; else the one that is a number, or the canonical NaN if none is.
template <HalfType T>
T choose_number(T a, T b, T chosen) {
  const std::uint32_t other = code_of(canonical(b));
  const std::uint32_t number = is_nan(b) ? code_of(a) : code_of(chosen);
  return with_code<T>(is_nan(a) ? other : number);
}

template <HalfType T>
T choose_nan(T a, T b, T chosen) {
  const std::uint32_t nan = format_of<T>().nan();
  const std::uint32_t number = is_nan(b) ? nan : code_of(chosen);
  return with_code<T>(is_nan(a) ? nan : number);
}

}  // namespace recto::simt::device
