#pragma once

// mma.sync.aligned.m16n8k*.row.col: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions:
// mma". Volta's m8n8k4, fp64, 4-bit and 1-bit types, block scaling and sparse factors are not
// supported.

#include <cstdint>

#include "verify/ptx/arithmetic/matrix_product.h"
#include "verify/ptx/arithmetic/matrix_registers.h"

namespace recto::ptx {

struct MmaShape {
  int depth = 16;
  FactorType a = FactorType::kF16;
  FactorType b = FactorType::kF16;
  SumType sum = SumType::kF32;
  bool satfinite = false;  // of integers

  int a_registers() const { return depth * element_bits(a) / 64; }
  int b_registers() const { return depth * element_bits(b) / 128; }
  int c_registers() const { return sum_registers(sum, 8); }
};

// Whether the ISA has this shape with these types.
bool is_supported(const MmaShape& shape);

// The registers of a warp; d may be c.
struct MmaRegisters {
  const RegisterRow* a = nullptr;  // [a_registers()]
  const RegisterRow* b = nullptr;  // [b_registers()]
  const RegisterRow* c = nullptr;  // [c_registers()]
  RegisterRow* d = nullptr;        // [c_registers()]
};

// d = a b + c. Sums of f16 are those of fp32, rounded at the end to nearest even. The shape must be
// supported.
void mma(const MmaShape& shape, const MmaRegisters& registers, const SumModel& model);

}  // namespace recto::ptx
