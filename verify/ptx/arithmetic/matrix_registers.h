#pragma once

// Matrices in the registers of warps, read and written as rows of numbers: what mma and wgmma
// share.

#include <cstdint>

#include "verify/ptx/arithmetic/matrix_fragment.h"

namespace recto::ptx {

enum class FactorType : std::uint8_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kS8, kU8 };
enum class SumType : std::uint8_t { kF32, kF16, kS32 };

constexpr int element_bits(FactorType type) {
  return type == FactorType::kTf32                               ? 32
         : type == FactorType::kF16 || type == FactorType::kBf16 ? 16
                                                                 : 8;
}
constexpr bool is_integer(FactorType type) {
  return type == FactorType::kS8 || type == FactorType::kU8;
}
constexpr bool is_fp8(FactorType type) {
  return type == FactorType::kE4m3 || type == FactorType::kE5m2;
}

// mma computes a matrix of 16 rows and 8 columns; wgmma, for each warp, one of 16 rows.
inline constexpr int kWarpRows = 16;
inline constexpr int kFactorDepthMax = 32;

// Registers of a matrix of sums with 16 rows.
constexpr int sum_registers(SumType type, int columns) {
  return type == SumType::kF16 ? columns / 4 : columns / 2;
}

// Elements in memory order become numbers of fp32, or of std::int32_t for integers. A tf32 loses
// its lower 13 bits.
void widen_factors(FactorType type, const void* elements, int count, float* numbers);
void widen_factors(FactorType type, const void* elements, int count, std::int32_t* numbers);

// The factor A of 16 rows: depth * element_bits / 64 registers to [16, depth].
template <typename Number>
void read_a(FactorType type, int depth, const RegisterRow* registers, Number* a);

// The factor B of 8 columns: depth * element_bits / 128 registers to [depth, 8].
template <typename Number>
void read_b(FactorType type, int depth, const RegisterRow* registers, Number* b);

// Sums of f32 or f16, [16, columns]. f16 are rounded to nearest even.
void read_sums(SumType type, int columns, const RegisterRow* registers, float* sums);
void write_sums(SumType type, int columns, const float* sums, RegisterRow* registers);

}  // namespace recto::ptx
