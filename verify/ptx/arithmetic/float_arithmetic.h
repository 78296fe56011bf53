#pragma once

// Exact floating-point arithmetic: PTX ISA, "Floating Point Instructions" and "Half Precision
// Floating Point Instructions". NaN results are the canonical ones; only f64 keeps the payload of
// an operand.

#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {

// --- f32 ----------------------------------------------------------------------------------------

RECTO_PTX_INLINE float operand(float x, const FloatMode& mode) {
  return mode.flush ? flushed(x) : x;
}

RECTO_PTX_INLINE float result(float x, const FloatMode& mode) {
  const float number = canonical(x);
  return limited(mode.flush ? flushed(number) : number, mode);
}

RECTO_PTX_INLINE float add(float x, float y, const FloatMode& mode) {
  const float a = operand(x, mode);
  const float b = operand(y, mode);
  return result(mode.rounding == Rounding::kNearestEven
                    ? a + b
                    : rounded_to_f32(odd_sum(a, b, mode.rounding), mode.rounding),
                mode);
}

RECTO_PTX_INLINE float sub(float x, float y, const FloatMode& mode) { return add(x, -y, mode); }

RECTO_PTX_INLINE float mul(float x, float y, const FloatMode& mode) {
  const float a = operand(x, mode);
  const float b = operand(y, mode);
  return result(
      mode.rounding == Rounding::kNearestEven
          ? a * b
          : rounded_to_f32(static_cast<double>(a) * static_cast<double>(b), mode.rounding),
      mode);
}

RECTO_PTX_INLINE float fma(float x, float y, float z, const FloatMode& mode) {
  const float a = operand(x, mode);
  const float b = operand(y, mode);
  const float c = operand(z, mode);
  if (mode.rounding == Rounding::kNearestEven) return result(__builtin_fmaf(a, b, c), mode);
  const double product = static_cast<double>(a) * static_cast<double>(b);
  return result(rounded_to_f32(odd_sum(product, c, mode.rounding), mode.rounding), mode);
}

RECTO_PTX_INLINE float div(float x, float y, const FloatMode& mode) {
  const float a = operand(x, mode);
  const float b = operand(y, mode);
  if (mode.rounding == Rounding::kNearestEven) return result(a / b, mode);
  const double quotient = static_cast<double>(a) / static_cast<double>(b);
  // Exact; NaN, and so never used, for infinite quotients.
  const double remainder = __builtin_fma(-quotient, static_cast<double>(b), static_cast<double>(a));
  return result(rounded_to_f32(odd(quotient, b < 0 ? -remainder : remainder), mode.rounding), mode);
}

RECTO_PTX_INLINE float rcp(float x, const FloatMode& mode) { return div(1.0F, x, mode); }

RECTO_PTX_INLINE float sqrt(float x, const FloatMode& mode) {
  const float a = operand(x, mode);
  if (mode.rounding == Rounding::kNearestEven) return result(__builtin_sqrtf(a), mode);
  const double root = __builtin_sqrt(static_cast<double>(a));
  const double remainder = __builtin_fma(-root, root, static_cast<double>(a));
  return result(rounded_to_f32(odd(root, remainder), mode.rounding), mode);
}

// The ISA leaves the NaN of a NaN open: as ptxas folds it, only the sign changes.
RECTO_PTX_INLINE float neg(float x, const FloatMode& mode) {
  return operand(float_of(bits_of(x) ^ 0x80000000), mode);
}
RECTO_PTX_INLINE float abs(float x, const FloatMode& mode) {
  return operand(float_of(bits_of(x) & 0x7fffffff), mode);
}

// --- f64 ----------------------------------------------------------------------------------------

enum class DoubleOperation : std::uint8_t { kAdd, kMul, kFma, kDiv, kSqrt };

// One operation of the host in another rounding mode; what it does not use is ignored.
double directed(DoubleOperation operation, double a, double b, double c, Rounding rounding);

RECTO_PTX_INLINE double add(double a, double b, const FloatMode& mode) {
  return mode.rounding == Rounding::kNearestEven
             ? a + b
             : directed(DoubleOperation::kAdd, a, b, 0, mode.rounding);
}
RECTO_PTX_INLINE double sub(double a, double b, const FloatMode& mode) { return add(a, -b, mode); }
RECTO_PTX_INLINE double mul(double a, double b, const FloatMode& mode) {
  return mode.rounding == Rounding::kNearestEven
             ? a * b
             : directed(DoubleOperation::kMul, a, b, 0, mode.rounding);
}
RECTO_PTX_INLINE double fma(double a, double b, double c, const FloatMode& mode) {
  return mode.rounding == Rounding::kNearestEven
             ? __builtin_fma(a, b, c)
             : directed(DoubleOperation::kFma, a, b, c, mode.rounding);
}
RECTO_PTX_INLINE double div(double a, double b, const FloatMode& mode) {
  return mode.rounding == Rounding::kNearestEven
             ? a / b
             : directed(DoubleOperation::kDiv, a, b, 0, mode.rounding);
}
RECTO_PTX_INLINE double rcp(double a, const FloatMode& mode) { return div(1.0, a, mode); }
RECTO_PTX_INLINE double sqrt(double a, const FloatMode& mode) {
  return mode.rounding == Rounding::kNearestEven
             ? __builtin_sqrt(a)
             : directed(DoubleOperation::kSqrt, a, 0, 0, mode.rounding);
}
RECTO_PTX_INLINE double neg(double x, const FloatMode&) { return double_of(bits_of(x) ^ kSign64); }
RECTO_PTX_INLINE double abs(double x, const FloatMode&) { return double_of(bits_of(x) & ~kSign64); }

// --- f16 and bf16, as codes ---------------------------------------------------------------------

template <FloatFormat kFormat>
RECTO_PTX_INLINE float operand(std::uint32_t code, const FloatMode& mode) {
  return widened<kFormat>(mode.flush ? flushed<kFormat>(code) : code);
}

template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t result(double exact, const FloatMode& mode) {
  const std::uint32_t code = narrowed<kFormat>(exact, mode);
  return mode.flush ? flushed<kFormat>(code) : code;
}

// a b + c, rounded once.
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                   const FloatMode& mode) {
  const double product = static_cast<double>(operand<kFormat>(a, mode)) *
                         static_cast<double>(operand<kFormat>(b, mode));
  return result<kFormat>(odd_sum(product, operand<kFormat>(c, mode), mode.rounding), mode);
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t add(std::uint32_t a, std::uint32_t b, const FloatMode& mode) {
  return result<kFormat>(
      odd_sum(operand<kFormat>(a, mode), operand<kFormat>(b, mode), mode.rounding), mode);
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t sub(std::uint32_t a, std::uint32_t b, const FloatMode& mode) {
  return add<kFormat>(a, b ^ kFormat.sign(), mode);
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t mul(std::uint32_t a, std::uint32_t b, const FloatMode& mode) {
  return result<kFormat>(static_cast<double>(operand<kFormat>(a, mode)) *
                             static_cast<double>(operand<kFormat>(b, mode)),
                         mode);
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t neg(std::uint32_t a, const FloatMode& mode) {
  return (mode.flush ? flushed<kFormat>(a) : a) ^ kFormat.sign();
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t abs(std::uint32_t a, const FloatMode& mode) {
  return (mode.flush ? flushed<kFormat>(a) : a) & (kFormat.sign() - 1);
}

// --- two halves of a 32-bit register ------------------------------------------------------------

// The operation of each half, as in .f16x2, .bf16x2, .s16x2 and .u16x2.
template <typename Operation, typename... Operands>
RECTO_PTX_INLINE std::uint32_t each_half(Operation operation, Operands... operands) {
  const std::uint32_t low = operation((operands & 0xffff)...) & 0xffff;
  return low | operation((operands >> 16)...) << 16;
}

}  // namespace recto::ptx
