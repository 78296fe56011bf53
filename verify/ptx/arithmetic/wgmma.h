#pragma once

// wgmma.mma_async.sync.aligned.m64n*k*: PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions". Integers, single bits and sparse factors are not supported.

#include <cstddef>
#include <cstdint>

#include "verify/ptx/arithmetic/matrix_product.h"
#include "verify/ptx/arithmetic/matrix_registers.h"
#include "verify/ptx/arithmetic/shared_matrix.h"

namespace recto::ptx {

// A factor's lines are 32 bytes.
inline constexpr int kWgmmaLineBytes = 32;
inline constexpr int kWarpgroupWarps = 4;
inline constexpr int kWgmmaColumnsMax = 256;

// imm-scale-a and imm-scale-b; imm-trans is Major::kMn.
enum class FactorSign : std::uint8_t { kPlus, kMinus };

struct WgmmaShape {
  int columns = 8;
  FactorType a = FactorType::kF16;
  FactorType b = FactorType::kF16;
  SumType sum = SumType::kF32;
  FactorSign sign_a = FactorSign::kPlus;
  FactorSign sign_b = FactorSign::kPlus;
  bool adds = true;  // scale-d: else the sums begin with 0

  int depth() const { return 8 * kWgmmaLineBytes / element_bits(a); }
  int d_registers() const { return sum_registers(sum, columns); }
};

// Whether the ISA has this shape with these types.
bool is_supported(const WgmmaShape& shape);

// A factor from shared memory, its pieces of 16 bytes in the order of lines.
struct CollectedFactor {
  const std::byte* bytes = nullptr;  // kK: [64 or columns, 32]; kMn: [depth, 64 or columns, 2]
  Major major = Major::kK;
};

// The numbers of B, [depth, columns], which the four warps share.
using WgmmaNumbers = float[kFactorDepthMax * kWgmmaColumnsMax];
void widen_b(const WgmmaShape& shape, const CollectedFactor& factor, WgmmaNumbers& b);

// The operands of one of the four warps.
struct WgmmaOperands {
  // A is in the registers of the warp, or in shared memory, with the rows of the whole warpgroup.
  const RegisterRow* a_registers = nullptr;  // [4]
  CollectedFactor a;
  const float* b = nullptr;  // from widen_b()
  RegisterRow* d = nullptr;  // [d_registers()]
};

// d = a b + d for the 16 rows of `warp`, 0 to 3. The shape must be supported.
void wgmma(const WgmmaShape& shape, const WgmmaOperands& operands, int warp, const SumModel& model);

}  // namespace recto::ptx
