#pragma once

// The common properties of CUDA's 16-bit types, of this dialect and of NVIDIA: each is a code of a
// format. Also fused multiply-adds, which NVIDIA's headers provide only to nvcc.

#include <bit>
#include <cstdint>

#include "verify/simt/dialect/simt_narrow.h"

namespace recto::simt::device {

// The format of a 16-bit type; other types have none.
template <typename T>
inline constexpr NarrowFormat kFormatOf = {};

template <typename T>
concept HalfType = kFormatOf<T>
.exponent_bits > 0;

template <typename T>
concept HalfPair = requires(T pair) {
  requires HalfType<decltype(pair.x)>;
};

template <HalfType T>
std::uint32_t code_of(T half) {
  return std::bit_cast<std::uint16_t>(half);
}

template <HalfType T>
T with_code(std::uint32_t code) {
  return std::bit_cast<T>(static_cast<std::uint16_t>(code));
}

// Without branches, unlike conversions of NVIDIA's own types.
template <HalfType T>
float number_of(T half) {
  return converted<kFormatOf<T>>(code_of(half));
}

template <HalfType T>
T rounded(double exact) {
  return with_code<T>(narrowed<kFormatOf<T>>(exact));
}

// The code without its sign.
template <HalfType T>
std::uint32_t magnitude_of(T half) {
  return code_of(half) & (kFormatOf<T>.sign() - 1);
}

template <HalfType T>
bool is_nan(T half) {
  return magnitude_of(half) > kFormatOf<T>.infinity();
}

template <HalfType T>
T canonical(std::uint32_t code) {
  return with_code<T>(is_nan(with_code<T>(code)) ? kFormatOf<T>.nan() : code);
}

// Clamped to [+0, 1]; NaN becomes +0.
template <HalfType T>
T saturated(T half) {
  const float x = number_of(half);
  const std::uint32_t at_most_one = x > 1.0F ? narrowed<kFormatOf<T>>(1.0) : code_of(half);
  return with_code<T>(x > 0.0F ? at_most_one : 0);
}

}  // namespace recto::simt::device

// a * b + c, rounded once
template <recto::simt::device::HalfType T>
T __hfma(T a, T b, T c) {
  namespace simt = recto::simt::device;
  return simt::with_code<T>(
      simt::fused<simt::kFormatOf<T>>(simt::number_of(a), simt::number_of(b), simt::number_of(c)));
}
template <recto::simt::device::HalfType T>
T __hfma_sat(T a, T b, T c) {
  return recto::simt::device::saturated(__hfma(a, b, c));
}
// Negative results become 0, NaN stays.
template <recto::simt::device::HalfType T>
T __hfma_relu(T a, T b, T c) {
  const T result = __hfma(a, b, c);
  const bool is_negative = recto::simt::device::number_of(result) < 0.0F;
  return is_negative ? recto::simt::device::with_code<T>(0) : result;
}
template <recto::simt::device::HalfPair T>
T __hfma2(T a, T b, T c) {
  return T(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
template <recto::simt::device::HalfPair T>
T __hfma2_sat(T a, T b, T c) {
  return T(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
template <recto::simt::device::HalfPair T>
T __hfma2_relu(T a, T b, T c) {
  return T(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
