#pragma once

// mma.sync.aligned.m16n8k*.row.col: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions:
// mma". Volta's m8n8k4, fp64, 4-bit and 1-bit types, block scaling and sparse factors are not
// supported.

#include <cstdint>

#include "verify/ptx/arithmetic/integer_arithmetic.h"
#include "verify/ptx/arithmetic/matrix_fragment.h"
#include "verify/ptx/arithmetic/matrix_product.h"

namespace recto::ptx {

enum class FactorType : std::uint8_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kS8, kU8 };
enum class SumType : std::uint8_t { kF32, kF16, kS32 };

constexpr int element_bits(FactorType type) {
  return type == FactorType::kTf32                               ? 32
         : type == FactorType::kF16 || type == FactorType::kBf16 ? 16
                                                                 : 8;
}

struct MmaShape {
  int depth = 16;
  FactorType a = FactorType::kF16;
  FactorType b = FactorType::kF16;
  SumType sum = SumType::kF32;
  bool satfinite = false;  // of integers

  int a_registers() const { return depth * element_bits(a) / 64; }
  int b_registers() const { return depth * element_bits(b) / 128; }
  int sum_registers() const { return sum == SumType::kF16 ? 2 : 4; }
};

// Whether the ISA has this shape with these types.
bool is_supported(const MmaShape& shape);

// The registers of a warp; d may be c.
struct MmaRegisters {
  const RegisterRow* a = nullptr;  // [a_registers()]
  const RegisterRow* b = nullptr;  // [b_registers()]
  const RegisterRow* c = nullptr;  // [sum_registers()]
  RegisterRow* d = nullptr;        // [sum_registers()]
};

// d = a b + c. Sums of f16 are those of fp32, rounded at the end to nearest even. The shape must be
// supported.
void mma(const MmaShape& shape, const MmaRegisters& registers, const SumModel& model);

// The numbers of `count` elements in memory order, as mma and wgmma take them: a tf32 without its
// lower 13 bits. The type must be a floating-point one.
void widen_factors(FactorType type, const void* elements, int count, float* numbers);

}  // namespace recto::ptx
